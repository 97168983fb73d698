"""Claude's Messages API: leading system text apart, everybody else user or assistant, contents as lists of blocks.

Neighbours of one role are one message with a block each. Without tools their calls and results are sent as text. Pictures
of the assistant move to the next user message. (sillytavern.md 72; sillytavern-bodies.md 5; vectors ``converters``, function
``claude``, and ``bodies``.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from innkeeper.dialects.sillytavern.caching import mark_depths
from innkeeper.dialects.sillytavern.conversion import (
    ChatConversion,
    RawMessage,
    arguments_of,
    call_name,
    js_json,
    leading_system,
    unnamed,
)
from innkeeper.dialects.sillytavern.json_schema import inlined
from innkeeper.dialects.sillytavern.messages import bad_message, part_text
from innkeeper.dialects.sillytavern.request import ProviderRequest
from innkeeper.prompt.data import deep_merge
from innkeeper.text.javascript.values import strip_end

_SHARES: Final = {"low": 0.1, "medium": 0.25, "high": 0.5, "max": 0.95}
_EFFORTS: Final = {"min": "low", "low": "low", "medium": "medium", "high": "high", "max": "max"}
_LEAST_BUDGET: Final = 1024
_MOST_BUDGET: Final = 21333
"""Tokens of thought: the provider's least, and SillyTavern's most without streaming."""


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """The traits of a model, by the beginning of its name."""

    thinks: bool = False
    searches: bool = False
    one_sampler: bool = False
    """It takes one of temperature and top_p."""
    no_sampler: bool = False
    """It takes none, and decides itself how much it thinks."""
    adapts: bool = False
    """It can decide that, where the configuration lets it."""
    begins: bool = True
    """It goes on where the prompt ends with the assistant."""
    has_effort: bool = False

    @classmethod
    def of(cls, model: str) -> Traits:
        """The traits of the model of this name."""
        newest = bool(_NEWEST.search(model))
        no_sampler = newest or bool(_NO_SAMPLER.match(model))
        thinks = newest or bool(_THINKS.match(model))
        adapts = bool(_ADAPTS.match(model))
        return cls(
            thinks=thinks,
            searches=thinks or model.startswith("claude-3-5"),
            one_sampler=bool(_ONE_SAMPLER.match(model)),
            no_sampler=no_sampler,
            adapts=adapts,
            begins=not (no_sampler or adapts),
            has_effort=no_sampler or adapts or model.startswith("claude-opus-4-5"),
        )


_NEWEST: Final = re.compile(r"claude-(fable|opus-5|sonnet-5)")
_NO_SAMPLER: Final = re.compile(r"claude-opus-4-[78]")
_THINKS: Final = re.compile(r"claude-(3-7|opus-4|sonnet-4|haiku-4-5)")
_ONE_SAMPLER: Final = re.compile(r"claude-(opus-4-[156]|sonnet-4-[56]|haiku-4-5)")
_ADAPTS: Final = re.compile(r"claude-(opus|sonnet)-4-6")
_FORMATS: Final = "claude-fable-5-1"
"""Takes a schema as the format of its reply; others get it as a tool that they must use."""


def claude_body(request: ProviderRequest) -> dict[str, Any]:
    """Messages, system text apart where the preset says so, sampling or thinking, tools, marks for the cache."""
    traits, claude = Traits.of(request.model), request.server.claude
    tools = _tools(request, traits)
    converted = convert_claude(
        request.conversion,
        prefill=str(request.options.get("assistant_prefill") or ""),
        use_sysprompt=request.use_sysprompt,
        use_tools=bool(request.tools),
    )
    system = converted["systemPrompt"]
    if system and claude.enable_system_prompt_cache:
        system = [*system[:-1], {**system[-1], "cache_control": claude.mark}]
    body = {
        **({"system": system} if request.use_sysprompt else {}),
        "messages": mark_depths(converted["messages"], claude.caching_at_depth, claude.mark),
        "model": request.model,
        **request.fields("max_tokens"),
        "stop_sequences": request.stop,
        **request.fields("stream"),
        **tools,
        **_output(request, traits),
    }
    thinking = _thinking(request, traits)
    if "budget_tokens" not in thinking.get("thinking", {}):
        body |= _sampling(request, traits, thinks=bool(thinking))
    body = deep_merge(body, thinking)
    return body if traits.begins and not thinking else _without_prefill(request, body)


def _tools(request: ProviderRequest, traits: Traits) -> dict[str, Any]:
    """Search, the request's tools, and a schema as one more that must be used."""
    tools = [_tool(tool["function"]) for tool in request.tools]
    chosen: dict[str, Any] = {"tool_choice": _choice(request.options.get("tool_choice"))} if tools else {}
    if tools and request.server.claude.enable_system_prompt_cache:
        tools[-1]["cache_control"] = request.server.claude.mark
    if request.schema and not request.model.startswith(_FORMATS):
        about = request.schema.get("description") or "Well-formed JSON object"
        tools.append(
            {"name": request.schema.get("name"), "description": about, "input_schema": inlined(request.schema["value"])}
        )
        chosen = {"tool_choice": {"type": "tool", "name": request.schema.get("name")}}
    if request.searches and traits.searches:
        tools.insert(0, {"type": "web_search_20250305", "name": "web_search"})
    return {**chosen, "tools": tools} if tools else {}


_CHOICES: Final = {"required": "any", "none": "none"}


def _choice(choice: Any) -> dict[str, Any]:
    """The choice in Claude's words; SillyTavern itself always leaves it to the model."""
    if isinstance(choice, Mapping):
        return {"type": "tool", "name": (choice.get("function") or {}).get("name")}
    return {"type": _CHOICES.get(str(choice), "auto")}


def _tool(function: dict[str, Any]) -> dict[str, Any]:
    described = {"description": function["description"]} if "description" in function else {}
    return {"name": function["name"], **described, "input_schema": function["parameters"]}


def _output(request: ProviderRequest, traits: Traits) -> dict[str, Any]:
    verbosity = request.options.get("verbosity")
    made = {"effort": verbosity} if traits.has_effort and verbosity else {}
    if request.schema and request.model.startswith(_FORMATS):
        made["format"] = {"type": "json_schema", "schema": inlined(request.schema["value"])}
    return {"output_config": made} if made else {}


def _sampling(request: ProviderRequest, traits: Traits, *, thinks: bool) -> dict[str, Any]:
    """Sampling: models that take one of temperature and top_p get top_p if it is below one; those with thinking no top_k."""
    if traits.no_sampler:
        return {}
    sampling = request.fields("temperature", "top_p", *(() if thinks else ("top_k",)))
    if traits.one_sampler:
        sampling.pop("temperature" if sampling.get("top_p", 1) < 1 else "top_p", None)
    return sampling


def _thinking(request: ProviderRequest, traits: Traits) -> dict[str, Any]:
    """The thinking of the model: adaptive, with a budget and room for it, or none."""
    if not traits.thinks:
        return {}
    effort, claude = request.effort, request.server.claude
    if effort == "auto":
        summarised = _NEWEST.search(request.model) and request.shows_thoughts
        return {"thinking": {"type": "adaptive", "display": "summarized"}} if summarised else {}
    if traits.no_sampler or (traits.adapts and claude.enable_adaptive_thinking):
        return _adaptive(request, traits)
    most = int(request.max_tokens or 0)
    budget = max(int(most * _SHARES.get(effort or "", 0)), _LEAST_BUDGET)
    if not request.stream:
        budget = min(budget, _MOST_BUDGET)
    room = most + _LEAST_BUDGET if most <= _LEAST_BUDGET else most
    return {"max_tokens": room, "thinking": {"type": "enabled", "budget_tokens": budget}}


def _adaptive(request: ProviderRequest, traits: Traits) -> dict[str, Any]:
    """By the model's own measure; nothing for an effort that is none of the preset's words."""
    word = _EFFORTS.get(request.effort or "")
    if not word:
        return {}
    display = {"display": "summarized"} if traits.no_sampler and request.shows_thoughts else {}
    return {"thinking": {"type": "adaptive", **display}, "output_config": {"effort": word}}


def _without_prefill(request: ProviderRequest, body: dict[str, Any]) -> dict[str, Any]:
    """For models that begin their replies themselves: what would be the beginning is the user's."""
    messages = body["messages"]
    if not messages or messages[-1]["role"] != "assistant":
        return body
    request.report.repair("the beginning of the reply was sent as the user's: the model takes none")
    return {**body, "messages": [*messages[:-1], {**messages[-1], "role": "user"}]}


_INVISIBLE: Final = "\u200b"
"""The replacement of an empty text part: the provider refuses empty blocks."""


def convert_claude(
    conversion: ChatConversion, *, prefill: str = "", use_sysprompt: bool = False, use_tools: bool = False
) -> dict[str, Any]:
    """``{messages, systemPrompt}``; ``prefill`` is how the reply begins. Raises `FormatError`."""
    count = leading_system(conversion.messages) if use_sysprompt else 0
    system = [block for index in range(count) for block in _system_blocks(conversion, index)]
    messages = [_converted(conversion, index) for index in range(count, len(conversion.messages))]
    if use_sysprompt and not messages:
        placeholder = conversion.placeholder()
        messages.append({**placeholder, "content": [_text(placeholder["content"])]})
    messages = _with_moved_images(conversion, messages)
    if prefill:
        messages.append({"role": "assistant", "content": [_text(strip_end(prefill))]})
    if not use_tools:
        messages = [
            {**message, "content": [_as_text(conversion, part) for part in message["content"]]} for message in messages
        ]
    return {"messages": _merged(conversion, messages), "systemPrompt": system}


def _text(text: str) -> RawMessage:
    return {"type": "text", "text": text}


def _system_blocks(conversion: ChatConversion, index: int) -> Iterator[RawMessage]:
    message = conversion.messages[index]
    if isinstance(message["content"], list) and "name" not in message:
        texts = [part_text(part) for part in message["content"]]
        if None in texts:
            conversion.report.loss("media of a system message are not sent", index)
        yield from (_text(text) for text in texts if text is not None)
    else:
        yield _text(conversion.example_text(message, index))


def _converted(conversion: ChatConversion, index: int) -> RawMessage:
    message = conversion.messages[index]
    rest = {key: value for key, value in message.items() if key not in ("name", "tool_calls", "tool_call_id")}
    if "tool_calls" in message:
        if message["content"]:
            conversion.report.loss("the text of a message that calls tools is not sent", index)
        return {**rest, "content": [_call(call, index) for call in message["tool_calls"]]}
    if message["role"] == "tool":
        return {**rest, "role": "user", "content": [_result(message, index)]}
    if message["role"] == "system":
        conversion.report.repair("a system message was sent as the user's", index)
        return {**rest, "role": "user", "content": _example(conversion, message, index)}
    return {**rest, "content": _contents(conversion, message, index)}


def _call(call: RawMessage, index: int) -> RawMessage:
    name = call_name(call, index)
    return {"type": "tool_use", "id": call.get("id"), "name": name, "input": arguments_of(call, index, strict=True)}


def _result(message: RawMessage, index: int) -> RawMessage:
    if message["content"] is None:
        raise bad_message(index, ".content", "a tool's result needs content", "'' where it says nothing")
    return {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": message["content"]}


def _example(conversion: ChatConversion, message: RawMessage, index: int) -> list[RawMessage]:
    if isinstance(message["content"], list) and not str(message.get("name") or "").startswith("example_"):
        return _contents(conversion, unnamed(message), index)
    return [_text(conversion.example_text(message, index))]


def _contents(conversion: ChatConversion, message: RawMessage, index: int) -> list[RawMessage]:
    name, content = message.get("name"), message["content"]
    prefix = f"{name}: " if name else ""
    if isinstance(content, str):
        return [_text(conversion.named(prefix, content, index))]
    if content is None:
        raise bad_message(index, ".content", "a message needs content", "'' where it says nothing")
    return [_part(conversion, part, prefix, index) for part in content]


def _part(conversion: ChatConversion, part: RawMessage, prefix: str, index: int) -> RawMessage:
    text = part_text(part)
    if text is not None:
        return _text(conversion.named(prefix, text, index) or _INVISIBLE)
    return _image(part, index) if part.get("type") == "image_url" else part


def _image(part: RawMessage, index: int) -> RawMessage:
    """A picture as the provider takes it: its data, or its address."""
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        raise bad_message(index, ".content", "a picture needs an address")
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    kind, _, data = url.removeprefix("data:").partition(",")
    return {"type": "image", "source": {"type": "base64", "media_type": kind.partition(";")[0], "data": data}}


def _with_moved_images(conversion: ChatConversion, messages: list[RawMessage]) -> list[RawMessage]:
    """Move pictures of the assistant to the end of the next user message, which is inserted if there is none."""
    moved = [dict(message) for message in messages]
    for index, message in enumerate(moved):  # it grows by a user message at the end
        images = [part for part in message["content"] if part.get("type") == "image"]
        if message["role"] == "assistant" and images:
            conversion.report.repair("a picture of the assistant's was sent as the user's")
            message["content"] = [part for part in message["content"] if part.get("type") != "image"]
            _next_user(moved, index)["content"] += images
    return moved


def _next_user(messages: list[RawMessage], start: int) -> RawMessage:
    user = next((other for other in messages[start + 1 :] if other["role"] == "user"), None)
    if user is None:
        user = {"role": "user", "content": []}
        messages.append(user)
    user["content"] = list(user["content"])
    return user


def _as_text(conversion: ChatConversion, part: RawMessage) -> RawMessage:
    if part.get("type") == "tool_use":
        conversion.report.repair("a tool call was sent as text: its arguments")
        return _text(js_json(part["input"]))
    if part.get("type") == "tool_result":
        conversion.report.repair("a tool's result was sent as text")
        content = part["content"]
        texts = (
            [content] if isinstance(content, str) else [text for text in map(part_text, content) if text is not None]
        )
        return _text("\n\n".join(texts))
    return part


def _merged(conversion: ChatConversion, messages: list[RawMessage]) -> list[RawMessage]:
    merged: list[RawMessage] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            conversion.report.repair("neighbouring messages of one role were joined")
            merged[-1]["content"] = [*merged[-1]["content"], *message["content"]]
        else:
            merged.append(dict(message))
    return merged
