"""Text completion: ``{prompt, stop_sequences}``, in one of three modes.

One of them is `Instruct`: how a model was trained to tell roles apart, as text before and after each message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from innkeeper.dialects.base import BaseDialect
from innkeeper.dialects.conversation import Rules, TurnSequence, converse, merged, with_system
from innkeeper.dialects.options import Table, as_is, neutral, stop_list
from innkeeper.dialects.report import Report, jsonable, option_error
from innkeeper.dialects.tools import definition
from innkeeper.dialects.turn import ASSISTANT, SYSTEM, USER, Turn
from innkeeper.prompt.errors import ConfigError, UnknownNameError
from innkeeper.prompt.message import Message
from innkeeper.prompt.payload.dialect import Tool
from innkeeper.prompt.text import scalar_text
from innkeeper.prompt.typed.once import convert, decode


class Instruct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Each role's ``(prefix, suffix)``. ``{{name}}`` in them becomes the speaker's name.

    ``start`` comes once at the very beginning. ``reply`` opens the answer (the assistant's prefix where it is ``None``).
    ``first_assistant`` and ``last_user`` replace the prefix of the first answer and of the last user message. A role
    without a pair of its own takes the user's. ``stop`` are stop strings that belong to the format.
    """

    user: tuple[str, str]
    assistant: tuple[str, str]
    system: tuple[str, str] | None = None
    tool: tuple[str, str] | None = None
    start: str = ""
    reply: str | None = None
    first_assistant: str | None = None
    last_user: str | None = None
    stop: tuple[str, ...] = ()
    user_name: str = "User"
    assistant_name: str = "Assistant"

    @classmethod
    def of(cls, value: Any) -> Instruct:
        """A format from itself, its name in `INSTRUCTS`, or a mapping. Raises `UnknownNameError`, `ConfigError`."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            if value not in INSTRUCTS:
                what = "instruct format"
                raise UnknownNameError(what, value, INSTRUCTS)
            return INSTRUCTS[value]
        try:
            return convert(dict(value), cls)
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise ConfigError(
                f"not an instruct format: {error}", hint="give user and assistant, a pair each"
            ) from error

    def affixes(self, role: str, name: str | None) -> tuple[str, str]:
        """The texts before and after a message."""
        pair = {"assistant": self.assistant, "system": self.system, "tool": self.tool}.get(role) or self.user
        return self.filled(pair[0], role, name), self.filled(pair[1], role, name)

    def filled(self, text: str, role: str, name: str | None) -> str:
        """``text`` with the speaker's name in it."""
        if "{{name}}" not in text:
            return text
        known = name or (self.assistant_name if role == "assistant" else self.user_name)
        return text.replace("{{name}}", known)


INSTRUCTS: Final = decode(Path(__file__).with_name("instructs.json").read_bytes(), dict[str, Instruct])
"""Formats by name. The marks are those the models' makers published."""


_REPLIES: Final = (ASSISTANT, USER, "none")
_NOBODY: Final[frozenset[str]] = frozenset()
_NO_CALLS: Final = Rules(prefill=True, calls=False, merge=True, media=_NOBODY)
_INSTRUCT: Final = Rules(prefill=True, calls=False, merge=True, media=_NOBODY, names=True)
_TEMPLATE: Final = Rules(prefill=True, merge=True, media=_NOBODY, names=True, reasoning=True)


class Text(BaseDialect):
    """The prompt as one text, and a request body as text-completion servers take it."""

    provider: ClassVar[str] = "text"
    rules: ClassVar[Rules] = _NO_CALLS
    table: ClassVar[Table] = {
        **as_is("max_tokens", "temperature", "top_p", "top_k", "min_p", "top_a", "typical_p", "tfs", "seed"),
        **as_is("guidance_scale", "negative_prompt"),
        **as_is("frequency_penalty", "presence_penalty", "repetition_penalty", "repetition_penalty_range"),
        **as_is("mirostat", "mirostat_tau", "mirostat_eta", "dynatemp_range", "dynatemp_exponent", "smoothing_factor"),
        **as_is("xtc_threshold", "xtc_probability", "dry_multiplier", "dry_base", "dry_allowed_length"),
        **as_is("dry_sequence_breakers", "grammar", "json_schema", "logit_bias", "n", "logprobs", "echo", "best_of"),
        **as_is("min_tokens", "ignore_eos", "stream", "user", "cache_prompt", "id_slot"),
        **as_is("sampler_order", "banned_strings"),
    }
    own_options: ClassVar[tuple[str, ...]] = (
        "instruct", "chat_template", "trusted_template", "template_vars", "bos_token", "eos_token", "reply", "now", "stop",
        "stop_sequences", "tools",
    )  # fmt: skip

    def request(
        self, messages: Sequence[Message], *, model: str | None, options: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Any:
        """The body of a text-completion request. Tools reach a chat template only."""
        shown = {**options, "tools": tuple(tools)} if tools else options
        return super().request(messages, model=model, options=shown, tools=tools)

    def _conversation(self, messages: Sequence[Message], options: Mapping[str, Any], report: Report) -> TurnSequence:
        plain = _INSTRUCT if options.get("instruct") else self.rules
        return converse(messages, options, _TEMPLATE if options.get("chat_template") else plain, report)

    def _messages(self, talk: TurnSequence, options: Mapping[str, Any], report: Report) -> dict[str, Any]:
        turns = with_system(talk, report)
        if talk.style.repair:
            turns = merged(turns, talk.style, report)
        prompt, stop = self._prompt(turns, options, report)
        return {
            "prompt": prompt,
            "stop_sequences": list(dict.fromkeys((*stop_list(neutral(options).get("stop")), *stop))),
        }

    def _prompt(self, turns: list[Turn], options: Mapping[str, Any], report: Report) -> tuple[str, tuple[str, ...]]:
        reply = options.get("reply") or ASSISTANT
        if reply not in _REPLIES:
            raise option_error(self.name, "reply", reply, _REPLIES)
        if options.get("chat_template"):
            return _templated(turns, options, reply), ()
        if options.get("instruct"):
            form = Instruct.of(options["instruct"])
            stop = tuple(form.filled(text, USER, None) for text in form.stop)
            return _instructed(turns, form, reply, report), stop
        return scalar_text(str(options.get("separator", "\n"))).join(turn.text for turn in turns if turn.text), ()

    def _body(
        self, model: str | None, talk: TurnSequence, options: Mapping[str, Any], report: Report
    ) -> dict[str, Any]:
        body = super()._body(model, talk, options, report)
        stop = body.pop("stop_sequences")
        if _tools(options) and not options.get("chat_template"):
            report.loss("tools are not sent", hint="a chat template can show them to the model")
        return {**body, "stop": stop} if stop else body

    def _add_tools(self, body: dict[str, Any], tools: Sequence[Tool], report: Report) -> None:
        """Tools have no field; a chat template has already read them."""


def _tools(options: Mapping[str, Any]) -> list[Tool]:
    return [tool for tool in options.get("tools") or () if isinstance(tool, Tool)]


def _instructed(turns: list[Turn], form: Instruct, reply: str, report: Report) -> str:
    parts = [form.start]
    answers = [index for index, turn in enumerate(turns) if turn.role == ASSISTANT]
    asked = [index for index, turn in enumerate(turns) if turn.role == USER]
    open_end = bool(turns) and turns[-1].role == ASSISTANT and reply == ASSISTANT
    for index, turn in enumerate(turns):
        prefix, suffix = form.affixes(turn.role, turn.name)
        if form.first_assistant is not None and answers and index == answers[0]:
            prefix = form.filled(form.first_assistant, ASSISTANT, turn.name)
        if form.last_user is not None and asked and index == asked[-1]:
            prefix = form.filled(form.last_user, USER, turn.name)
        if turn.role not in (SYSTEM, USER, ASSISTANT) and not form.tool:
            report.repair("a tool result was written like a user's message", turn.index)
        parts += (prefix, turn.text, "" if open_end and index == len(turns) - 1 else suffix)
    if reply != "none" and not open_end:
        opening = form.reply if form.reply is not None and reply == ASSISTANT else form.affixes(reply, None)[0]
        parts.append(form.filled(opening, reply, None))
    return "".join(parts)


def _templated(turns: list[Turn], options: Mapping[str, Any], reply: str) -> str:
    from innkeeper.dialects.chat_template import render_chat_template

    goes_on = bool(turns) and turns[-1].role == ASSISTANT and reply == ASSISTANT and not turns[-1].calls
    shown, tools = options.get("template_vars"), _tools(options)
    variables = {
        "messages": [_for_template(turn) for turn in turns],
        "bos_token": scalar_text(str(options.get("bos_token") or "")),
        "eos_token": scalar_text(str(options.get("eos_token") or "")),
        "add_generation_prompt": reply == ASSISTANT and not goes_on,
        **({"tools": [definition(tool) for tool in tools]} if tools else {}),
        **(jsonable(shown) if isinstance(shown, Mapping) else {}),
    }
    now = options.get("now")
    text = render_chat_template(
        str(options["chat_template"]),
        variables,
        messages=len(turns),
        now=None if now is None else str(now),
        trusted=bool(options.get("trusted_template")),
    )
    last = turns[-1].text.strip() if goes_on else ""
    # cut behind the last answer, so that the model goes on with it
    return text[: text.rfind(last) + len(last)] if last in text and last else text


def _for_template(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if turn.name:
        message["name"] = turn.name
    if turn.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.parsed()}}
            for call in turn.calls
        ]
    if turn.call_id is not None:
        message |= {"tool_call_id": turn.call_id, **({"name": turn.tool} if turn.tool else {})}
    if turn.reasoning:
        message["reasoning_content"] = turn.thoughts
    return message
