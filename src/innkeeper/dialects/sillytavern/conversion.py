"""ChatConversion: messages being converted for a provider, with speakers, texts to insert, and the report of changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.messages import Speakers, bad_message, read_chat_messages
from innkeeper.dialects.sillytavern.post_processing import MODES, PLACEHOLDER, post_process

RawMessage = dict[str, Any]
"""A message in the shape of Chat Completions, being rewritten."""


class Texts(msgspec.Struct, frozen=True, kw_only=True):
    """The inserted texts: ``placeholder`` for a missing user turn, ``tool_call`` before the names of called tools."""

    placeholder: str = PLACEHOLDER
    tool_call: str = "Calling: "


class ChatConversion(msgspec.Struct, frozen=True, kw_only=True):
    """Checked copies of the messages, the speakers, the texts, and the report of changes."""

    messages: list[RawMessage]
    speakers: Speakers
    texts: Texts
    report: Report

    @classmethod
    def of(
        cls, messages: Any, speakers: Speakers | None = None, texts: Texts | None = None, report: Report | None = None
    ) -> ChatConversion:
        """Raises `FormatError` for anything but a list of messages."""
        return cls(
            messages=read_chat_messages(messages),
            speakers=speakers or Speakers(),
            texts=texts or Texts(),
            report=report or Report("silly"),
        )

    def by_mode(self, mode: str) -> list[RawMessage]:
        """The messages by a mode of `MODES`; as they are for a name that is none, as SillyTavern leaves them."""
        if mode not in MODES:
            return self.messages
        placeholder = self.texts.placeholder
        return post_process(self.messages, MODES[mode], self.speakers, placeholder=placeholder, report=self.report)

    def placeholder(self) -> RawMessage:
        """The user's message that is inserted, and reported, where only others speak."""
        self.report.repair("a placeholder was put in where the user has to speak")
        return {"role": "user", "content": self.texts.placeholder}

    def named(self, prefix: str, text: str, index: int) -> str:
        """``text`` after ``prefix``, reported when there is one."""
        if prefix:
            self.report.repair("the speaker's name was put in front of the text", index)
        return prefix + text

    def example_text(self, message: RawMessage, index: int) -> str:
        """The text of a message, after the speaker's name if it is an example. Raises `FormatError`."""
        text = text_of(message, index)
        return self.named(self.speakers.lead_example(message.get("name"), text), text, index)


def leading_system(messages: list[RawMessage]) -> int:
    """The number of system messages before all others."""
    return next((index for index, message in enumerate(messages) if message["role"] != "system"), len(messages))


def text_of(message: RawMessage, index: int) -> str:
    """The content of a message that must be text, as where a name is put in front of it. Raises `FormatError`."""
    content = message["content"]
    if not isinstance(content, str):
        why = "a message with a name needs text as its content" if "name" in message else "a message needs text"
        raise bad_message(index, ".content", why, "give the text as one string, or leave the name out")
    return content


def unnamed(message: RawMessage) -> RawMessage:
    """The message without its name."""
    return {key: value for key, value in message.items() if key != "name"}


def call_name(call: Mapping[str, Any], index: int) -> str:
    """The name of the function called. Raises `FormatError`."""
    function = call.get("function")
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str):
        raise bad_message(index, ".tool_calls", "a tool call needs the name of its function")
    return name


def arguments_of(call: Mapping[str, Any], index: int, *, strict: bool) -> Any:
    """The arguments as data. Invalid JSON is a `FormatError` if ``strict``, else it stays text."""
    arguments = call["function"].get("arguments")
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        if strict:
            where = ".tool_calls"
            hint = "arguments are an object as JSON, '{}' where there are none"
            raise bad_message(index, where, f"the arguments of a tool call are no JSON: {error}", hint) from error
        return arguments


def _refuse(word: str) -> Any:
    msg = f"{word} is no JSON"
    raise ValueError(msg)


_COMPACT: Final = (",", ":")


def js_json(value: Any) -> str:
    """Data as JavaScript writes it: no spaces, no escapes beyond the needed, whole numbers without a point."""
    return json.dumps(_whole(value), ensure_ascii=False, separators=_COMPACT)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
