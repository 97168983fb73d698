"""SillyTavern's own requests as a dialect, and the conversions of its server by their names in the vectors.

The settings of a plan become what SillyTavern's page asks for (`innkeeper.dialects.sillytavern.page`), that becomes the body
of the source (`innkeeper.dialects.sillytavern.source_bodies`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

import msgspec

from innkeeper.dialects.conversation import STYLE_OPTIONS, Rules
from innkeeper.dialects.media import Media, media_parts
from innkeeper.dialects.options import Table, apply, as_is, neutral, report_unknown
from innkeeper.dialects.providers.openai import OpenAI, part, response_format
from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.bodies.ai21 import convert_ai21
from innkeeper.dialects.sillytavern.bodies.chat import convert_text, mark_prefix
from innkeeper.dialects.sillytavern.bodies.claude import convert_claude
from innkeeper.dialects.sillytavern.bodies.cohere import convert_cohere
from innkeeper.dialects.sillytavern.bodies.google import convert_google
from innkeeper.dialects.sillytavern.bodies.mistral import convert_mistral
from innkeeper.dialects.sillytavern.bodies.xai import convert_xai
from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage, Texts
from innkeeper.dialects.sillytavern.endpoints import SourceEndpoint, endpoint_of
from innkeeper.dialects.sillytavern.messages import Speakers, speakers_of
from innkeeper.dialects.sillytavern.page import ADDRESS_OPTIONS, PAGE_OPTIONS, SOURCE_OPTIONS, page_options
from innkeeper.dialects.sillytavern.post_processing import TOOLLESS_TYPES
from innkeeper.dialects.sillytavern.request import SAMPLING, ProviderRequest, ServerConfig
from innkeeper.dialects.sillytavern.source_bodies import SOURCE_CODE, SourceCode, source_body
from innkeeper.dialects.sillytavern.sources import SOURCES, OmissionRule, rules_for
from innkeeper.dialects.tools import definition, function_choice
from innkeeper.dialects.turn import ASSISTANT, SYSTEM, USER, Turn
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import UnavailableError, UnknownNameError
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.payload.dialect import Payload, Tool
from innkeeper.prompt.text import scalar_text

_MEDIA: Final = ("image", "video", "audio")


class PageMessages(OpenAI):
    """The messages that SillyTavern's page hands to its server, which makes of them what a source takes.

    A message that has media is a list of parts, the text first even when it is empty, and stays one if none of them can be sent.
    """

    rules: ClassVar[Rules] = msgspec.structs.replace(
        OpenAI.rules, media=frozenset({SYSTEM, USER, ASSISTANT}), lists=False
    )

    def _content(self, turn: Turn, report: Report) -> Any:
        if not turn.attachments:
            return super()._content(turn, report)
        return [{"type": "text", "text": turn.text}, *media_parts(turn, self._part, report)]

    def _part(self, media: Media) -> dict[str, Any] | str:
        if media.kind not in _MEDIA or not media.data_url:
            return part(media)
        detail = {"detail": media.detail} if media.detail else {}
        return {"type": f"{media.kind}_url", f"{media.kind}_url": {"url": media.data_url, **detail}}


_PAGE: Final = PageMessages("sillytavern")
_OWN: Final = (
    "source", "model", "speakers", "post_processing", "placeholder", "tool_call_text", "calls_tools", "show_thoughts",
    "settings", "server", "model_list", "generation", "use_sysprompt", "assistant_prefill", "tool_choice", "top_logprobs",
)  # fmt: skip
_MORE: Final[Table] = {"response_format": response_format, **as_is("parallel_tool_calls", "user", "stream_options")}
"""Further options of Chat Completions that a caller may set."""
_MESSAGES: Final = ("messages", "system", "contents", "systemInstruction", "prompt")


class SillyTavern:
    """The request that SillyTavern's server sends, by the source that a preset names.

    Options, which a plan of the silly tavern brings along: ``source`` (``custom``), ``model`` (instead of the plan's),
    ``speakers`` (``{char, user, group}``), ``post_processing`` (a mode of `innkeeper.dialects.sillytavern.post_processing`),
    ``placeholder`` and ``tool_call_text`` (what is put in where nobody speaks), ``calls_tools``, ``use_sysprompt``,
    ``show_thoughts``, ``assistant_prefill``, ``generation`` (the type), ``settings`` (the preset's for single sources, by its
    own names), ``server`` (`innkeeper.dialects.sillytavern.request.ServerConfig`: what ``config.yaml`` says), ``model_list``
    (what the source's list of models says of this one: ``{tools, reasoning_efforts, prices_cache_writes}``). Every merge,
    change of role and placeholder is a note of kind ``repair``, what is not sent one of kind ``loss``.
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
        report = Report(self.name)
        report_unknown(options, _MORE, (*_known(options), *SOURCE_OPTIONS), report)
        payload = self.request(messages, model=None, options=options)
        parts = {key: payload.body[key] for key in _MESSAGES if key in payload.body}
        return Payload(parts["messages"] if parts.keys() == {"messages"} else parts, (*payload.notes, *report.notes()))

    def request(
        self, messages: Sequence[Message], *, model: str | None, options: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Payload:
        """The whole body.

        Raises `FormatError` for messages that the source's rules cannot carry, `ConfigError` for ``speakers`` and ``server``,
        `UnavailableError` for a source that SillyTavern sends nothing to.
        """
        prepared = self._prepared(messages, model, options, tools)
        values, request, body, report = prepared.values, prepared.request, prepared.body, prepared.request.report
        _note_losses(values, body, request, report)
        chats = SOURCE_CODE.get(request.source, SourceCode()).whole is None
        more = {name: write for name, write in _MORE.items() if name not in body}
        body = apply(body, values, more if chats and not request.schema else {}, report, others=_known(values))
        return Payload(body, (*prepared.notes, *report.notes()))

    def endpoint(
        self, messages: Sequence[Message], *, model: str | None, options: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> SourceEndpoint:
        """Return the address of that body, without secrets. Raises as `request`, and `ConfigError` if none is configured."""
        prepared = self._prepared(messages, model, options, tools)
        return endpoint_of(prepared.request, prepared.body)

    def _prepared(
        self, messages: Sequence[Message], model: str | None, options: Mapping[str, Any], tools: Sequence[Tool]
    ) -> _PreparedBody:
        values = {**SAMPLING, **neutral(options)}
        values = {**(values.get("settings") or {}), **values}
        chat = _PAGE.messages(messages, {name: values[name] for name in STYLE_OPTIONS if name in values})
        request = _request(chat.body, model, values, tools, Report(self.name))
        return _PreparedBody(values, request, _body(request), chat.notes)


def _known(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The options that have a meaning here, by their names."""
    return (*STYLE_OPTIONS, *_OWN, *PAGE_OPTIONS, *ADDRESS_OPTIONS, "response_format", *(options.get("settings") or ()))


class _PreparedBody(msgspec.Struct, frozen=True):
    """The options that count, the page's request, the body, and the notes of the messages."""

    values: Mapping[str, Any]
    request: ProviderRequest
    body: dict[str, Any]
    notes: tuple[Note, ...]


def _request(
    messages: list[RawMessage], model: str | None, options: Mapping[str, Any], tools: Sequence[Tool], report: Report
) -> ProviderRequest:
    source = str(options.get("source") or "custom")
    name = scalar_text(str(options.get("model") or model or ""))
    name = "" if name == _NO_MODEL else name
    page = page_options(options, source, name, report)
    rules = rules_for(source, name, page)
    texts = {"placeholder": options.get("placeholder"), "tool_call": options.get("tool_call_text")}
    plain = list(map(_plain, messages))
    if any(rule.no_system for rule in rules):
        if any(message["role"] == "system" for message in plain):
            report.repair("system messages were sent as the user's: the model takes none")
        plain = [{**message, "role": "user"} if message["role"] == "system" else message for message in plain]
    if any(rule.no_own_pictures for rule in rules):
        plain = _without_own_pictures(plain, report)
    conversion = ChatConversion(
        messages=plain,
        speakers=speakers_of(options.get("speakers"), report.dialect),
        texts=Texts(**{name: text for name, text in texts.items() if isinstance(text, str)}),
        report=report,
    )
    offered = tuple(map(definition, tools)) if _offers(options, source, page, rules) else ()
    if tools and not offered:
        report.loss("the tools are not offered: this source, model or kind of generation has none")
    if offered:
        page["tool_choice"] = function_choice(options.get("tool_choice") or "auto")
    elif options.get("tool_choice") is not None and not tools:
        report.add(NoteKind.IGNORED, "option 'tool_choice' has no effect without tools")
    mode = str(options.get("post_processing") or "")
    return ProviderRequest(
        conversion=msgspec.structs.replace(conversion, messages=conversion.by_mode(mode)),
        source=source,
        model=name,
        options=page,
        tools=offered,
        server=ServerConfig.of(options.get("server"), report.dialect),
    )


_NO_MODEL: Final = "OR_Website"
"""OpenRouter's name for whatever the account has chosen."""
_TOOLLESS: Final = ("perplexity",)


def _offers(options: Mapping[str, Any], source: str, page: Mapping[str, Any], rules: Sequence[OmissionRule]) -> bool:
    """Whether tools are offered: not to generations that cannot be interrupted, nor with several replies."""
    if options.get("calls_tools") is False or options.get("generation") in TOOLLESS_TYPES or "n" in page:
        return False
    if source in _TOOLLESS or any(rule.no_tools for rule in rules):
        return False
    return (options.get("model_list") or EMPTY).get("tools") is not False


def _without_own_pictures(messages: list[RawMessage], report: Report) -> list[RawMessage]:
    """The messages without pictures that the user did not show, and without those that held nothing else."""
    remaining = []
    for index, message in enumerate(messages):
        content = message["content"]
        if isinstance(content, list) and message["role"] in ("system", "assistant"):
            content = [part for part in content if part.get("type") != "image_url"]
            if len(content) < len(message["content"]):
                report.loss("a picture that is not the user's is not sent: the model takes none", index)
        if content or content == message["content"]:
            remaining.append({**message, "content": content})
    return remaining


def _body(request: ProviderRequest) -> dict[str, Any]:
    """Raises `UnavailableError` for a source that SillyTavern itself sends nothing to."""
    if request.source == _CLOSED:
        raise UnavailableError(
            "SillyTavern 1.19 sends nothing to source 'cometapi': it is disabled", hint="choose another source"
        )
    if request.source not in SOURCES:
        report = request.report
        report.add(NoteKind.FALLBACK, f"the settings of source {request.source!r} are those of Chat Completions")
    return source_body(request)


_CLOSED: Final = "cometapi"

_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "seed": ("random_seed",), "stop": ("stop_sequences", "stopSequences"), "top_p": ("p", "topP"), "top_k": ("k", "topK"),
    "reasoning_effort": ("reasoning", "thinking", "thinkingConfig", "output_config"), "verbosity": ("output_config",),
}  # fmt: skip
_UNSET: Final[Mapping[str, tuple[Any, ...]]] = {
    "reasoning_effort": ("auto",),
    "verbosity": ("auto",),
    "n": (1,),
    "seed": (-1,),
}


def _note_losses(options: Mapping[str, Any], body: Mapping[str, Any], request: ProviderRequest, report: Report) -> None:
    """A note for each setting that says something and is not in the body."""
    carried = body.keys() | (body.get("generationConfig") or EMPTY).keys()
    for name in _NOTED:
        value = options.get(name)
        if not value or value == SAMPLING.get(name) or value in _UNSET.get(name, ()) or (name == "seed" and value < 0):
            continue
        if not carried & {name, *_OTHER_NAMES.get(name, ())}:
            report.loss(f"option {name!r} is not sent: source {request.source!r} or this model does not take it")


_NOTED: Final = (
    "temperature", "top_p", "top_k", "top_a", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty", "stop",
    "reasoning_effort", "verbosity", "seed", "n", "logit_bias", "logprobs",
)  # fmt: skip


def body_of_page(page: Mapping[str, Any], server: Any = None, texts: Texts | None = None) -> Payload:
    """The provider's body for a request as SillyTavern's own page writes it, by the page's names.

    Raises what `SillyTavern.request` raises.
    """
    report = Report("sillytavern")
    names = {
        "charName": page.get("char_name"),
        "userName": page.get("user_name"),
        "groupNames": page.get("group_names"),
    }
    conversion = ChatConversion.of(page.get("messages"), _speakers(names), texts, report)
    mode = str(page.get("custom_prompt_post_processing") or "")
    request = ProviderRequest(
        conversion=msgspec.structs.replace(conversion, messages=conversion.by_mode(mode)),
        source=str(page.get("chat_completion_source") or ""),
        model=str(page.get("model") or ""),
        options=page,
        tools=tuple(page.get("tools") or ()),
        server=ServerConfig.of(server, report.dialect),
    )
    return Payload(_body(request), report.notes())


def _plain(message: RawMessage) -> RawMessage:
    """A message of Chat Completions without empty fields; one with tool calls and no text has no content."""
    content = None if "tool_calls" in message and not message["content"] else message["content"]
    return {key: value for key, value in message.items() if value is not None} | {"content": content}


_DEFAULT_GOOGLE: Final = "gemini-2.5-pro"


def _claude(conversion: ChatConversion, options: Mapping[str, Any]) -> dict[str, Any]:
    return convert_claude(
        conversion,
        prefill=str(options.get("prefill") or ""),
        use_sysprompt=bool(options.get("use_sysprompt")),
        use_tools=bool(options.get("use_tools")),
    )


def _google(conversion: ChatConversion, options: Mapping[str, Any]) -> dict[str, Any]:
    model = str(options.get("model") or _DEFAULT_GOOGLE)
    return convert_google(conversion, model=model, use_sysprompt=bool(options.get("use_sysprompt")))


def _prefixed(conversion: ChatConversion, options: Mapping[str, Any]) -> dict[str, Any]:
    field = str(options.get("property") or "prefix")
    return {"messages": mark_prefix(conversion.messages, options.get("tools") or (), field)}


CONVERSIONS: Final[Mapping[str, Callable[[ChatConversion, Mapping[str, Any]], dict[str, Any]]]] = MappingProxyType(
    {
        "postProcess": lambda conversion, options: {"messages": conversion.by_mode(str(options.get("type") or ""))},
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


def convert(options: Mapping[str, Any], texts: Texts | None = None) -> dict[str, Any]:
    """Run one conversion: ``{fn, messages, names: {charName, userName, groupNames}, …}`` as the vectors have it.

    Raises `FormatError` for messages that cannot be converted, `UnknownNameError` for a conversion there is not.
    """
    name = str(options.get("fn"))
    if name not in CONVERSIONS:
        what = "conversion"
        raise UnknownNameError(what, name, CONVERSIONS)
    return CONVERSIONS[name](
        ChatConversion.of(options.get("messages"), _speakers(options.get("names")), texts), options
    )


def _speakers(names: Any) -> Speakers:
    name_fields = names if isinstance(names, Mapping) else {}
    return Speakers(
        char=str(name_fields.get("charName") or ""),
        user=str(name_fields.get("userName") or ""),
        group=tuple(name for name in name_fields.get("groupNames") or () if isinstance(name, str)),
    )
