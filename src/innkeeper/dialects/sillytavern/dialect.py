"""SillyTavern's own requests as a dialect, and the conversions of its server by their names in the vectors.

What is known of a source is one function. Sources that nobody has recorded get the body of Chat Completions, with their own
message rules where those are known, and a note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from innkeeper.dialects.conversation import STYLE_OPTIONS
from innkeeper.dialects.options import Table, apply, as_is, neutral
from innkeeper.dialects.providers.openai import OpenAI, definition, response_format, tool_choice
from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.ai21 import ai21_body, convert_ai21
from innkeeper.dialects.sillytavern.claude import claude_body, convert_claude
from innkeeper.dialects.sillytavern.cohere import cohere_body, convert_cohere
from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage, Texts
from innkeeper.dialects.sillytavern.google import convert_google, google_body
from innkeeper.dialects.sillytavern.messages import Speakers, speakers_of
from innkeeper.dialects.sillytavern.mistral import convert_mistral, mistral_body
from innkeeper.dialects.sillytavern.openai import (
    convert_text,
    convert_xai,
    deepseek_body,
    mark_prefix,
    openai_body,
    xai_body,
)
from innkeeper.dialects.sillytavern.request import SAMPLING, ProviderRequest
from innkeeper.prompt.dialect import Payload, Tool
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.text import scalar_text

__all__ = ["CONVERSIONS", "SOURCES", "SillyTavern", "convert"]

SOURCES: Final[Mapping[str, Callable[[ProviderRequest], dict[str, Any]]]] = MappingProxyType(
    {
        "custom": openai_body,
        "openai": openai_body,
        "claude": claude_body,
        "makersuite": google_body,
        "vertexai": google_body,
        "mistralai": mistral_body,
        "deepseek": deepseek_body,
        "cohere": cohere_body,
        "ai21": ai21_body,
        "xai": xai_body,
    }
)
"""The bodies by SillyTavern's names of their sources."""

_UNRECORDED: Final = ("cohere", "ai21", "xai")
_OPENAI: Final = OpenAI("sillytavern")
_OWN: Final = (
    "source", "model", "speakers", "post_processing", "placeholder", "tool_call_text", "calls_tools", "use_sysprompt",
    "show_thoughts",
)  # fmt: skip
_SETTINGS: Final = (
    *SAMPLING, "top_a", "min_p", "repetition_penalty", "seed", "n", "stop", "stream", "reasoning_effort", "verbosity",
    "assistant_prefill",
)  # fmt: skip
"""What SillyTavern has settings for: each source is sent what it takes of them."""
_MORE: Final[Table] = {
    "response_format": response_format,
    "tool_choice": tool_choice,
    **as_is("parallel_tool_calls", "logprobs", "top_logprobs", "logit_bias", "user", "stream_options"),
}
"""What a caller may ask of Chat Completions besides."""
_MESSAGES: Final = ("messages", "system", "contents", "systemInstruction")


class SillyTavern:
    """The request that SillyTavern's server sends, by the source that a preset names.

    Options, which a plan of the silly tavern brings along: ``source`` (``custom``), ``model`` (instead of the plan's),
    ``speakers`` (``{char, user, group}``), ``post_processing`` (a mode of `innkeeper.dialects.sillytavern.post_processing`),
    ``placeholder`` and ``tool_call_text`` (what is put in where nobody speaks), ``calls_tools``, ``use_sysprompt``,
    ``show_thoughts``, ``assistant_prefill``. Every merge, change of role and placeholder is a note of kind ``repair``, what is
    not sent one of kind ``loss``.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The registry name."""
        return "sillytavern"

    def __repr__(self) -> str:
        return "SillyTavern('sillytavern')"

    def messages(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Payload:
        """The messages as the source gets them: a list, or a dict with the system text apart. Raises as `request` does."""
        payload = self.request(messages, model=None, options=options)
        found = {key: payload.body[key] for key in _MESSAGES if key in payload.body}
        return Payload(found["messages"] if found.keys() == {"messages"} else found, payload.notes)

    def request(
        self, messages: Sequence[Message], *, model: str | None, options: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Payload:
        """The whole body.

        Raises `FormatError` for messages that the source's rules cannot carry, `ConfigError` for ``speakers``.
        """
        report, given = Report(self.name), {**SAMPLING, **neutral(options)}
        chat = _OPENAI.messages(messages, {name: given[name] for name in STYLE_OPTIONS if name in given})
        request = _request(chat.body, model, given, tools, report)
        body = SOURCES.get(request.source, openai_body)(request)
        if request.source not in SOURCES or request.source in _UNRECORDED:
            report.add(NoteKind.FALLBACK, f"the settings of source {request.source!r} are those of Chat Completions")
        table = {} if request.source in ("claude", "makersuite", "vertexai") else _MORE
        body = apply(body, given, table, report, others=(*STYLE_OPTIONS, *_OWN, *_SETTINGS))
        return Payload(body, (*chat.notes, *report.notes()))


def _request(
    messages: list[RawMessage], model: str | None, options: Mapping[str, Any], tools: Sequence[Tool], report: Report
) -> ProviderRequest:
    texts = {"placeholder": options.get("placeholder"), "tool_call": options.get("tool_call_text")}
    conversion = ChatConversion(
        messages=list(map(_plain, messages)),
        speakers=speakers_of(options.get("speakers"), report.dialect),
        texts=Texts(**{name: text for name, text in texts.items() if isinstance(text, str)}),
        report=report,
    )
    mode = str(options.get("post_processing") or "")
    return ProviderRequest(
        conversion=msgspec.structs.replace(conversion, messages=conversion.by_mode(mode)),
        source=str(options.get("source") or "custom"),
        model=scalar_text(str(options.get("model") or model or "")),
        options=options,
        tools=tuple(map(definition, tools)) if options.get("calls_tools") is not False else (),
    )


def _plain(message: RawMessage) -> RawMessage:
    """A message of Chat Completions without empty fields; one that calls tools and says nothing has no content."""
    content = None if "tool_calls" in message and not message["content"] else message["content"]
    return {key: value for key, value in message.items() if value is not None} | {"content": content}


_DEFAULT_GOOGLE: Final = "gemini-2.5-pro"


def _claude(conversion: ChatConversion, given: Mapping[str, Any]) -> dict[str, Any]:
    return convert_claude(
        conversion,
        prefill=str(given.get("prefill") or ""),
        use_sysprompt=bool(given.get("use_sysprompt")),
        use_tools=bool(given.get("use_tools")),
    )


def _google(conversion: ChatConversion, given: Mapping[str, Any]) -> dict[str, Any]:
    model = str(given.get("model") or _DEFAULT_GOOGLE)
    return convert_google(conversion, model=model, use_sysprompt=bool(given.get("use_sysprompt")))


def _prefixed(conversion: ChatConversion, given: Mapping[str, Any]) -> dict[str, Any]:
    field = str(given.get("property") or "prefix")
    return {"messages": mark_prefix(conversion.messages, given.get("tools") or (), field)}


CONVERSIONS: Final[Mapping[str, Callable[[ChatConversion, Mapping[str, Any]], dict[str, Any]]]] = MappingProxyType(
    {
        "postProcess": lambda conversion, given: {"messages": conversion.by_mode(str(given.get("type") or ""))},
        "claude": _claude,
        "google": _google,
        "cohere": lambda conversion, _: convert_cohere(conversion),
        "ai21": lambda conversion, _: convert_ai21(conversion),
        "mistral": lambda conversion, _: convert_mistral(conversion),
        "xai": lambda conversion, _: convert_xai(conversion),
        "text": lambda conversion, _: convert_text(conversion),
        "assistant_prefix": _prefixed,
    }
)
"""The conversions by the names of the vectors."""


def convert(given: Mapping[str, Any], texts: Texts | None = None) -> dict[str, Any]:
    """Run one conversion: ``{fn, messages, names: {charName, userName, groupNames}, …}`` as the vectors have it.

    Raises `FormatError` for messages that cannot be converted, `UnknownNameError` for a conversion there is not.
    """
    name = str(given.get("fn"))
    if name not in CONVERSIONS:
        what = "conversion"
        raise UnknownNameError(what, name, CONVERSIONS)
    return CONVERSIONS[name](ChatConversion.of(given.get("messages"), _speakers(given.get("names")), texts), given)


def _speakers(names: Any) -> Speakers:
    found = names if isinstance(names, Mapping) else {}
    return Speakers(
        char=str(found.get("charName") or ""),
        user=str(found.get("userName") or ""),
        group=tuple(name for name in found.get("groupNames") or () if isinstance(name, str)),
    )
