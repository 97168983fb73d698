"""OpenAI's Chat Completions, and the servers that speak it: ``openai``, ``openai-compatible``, ``openrouter``.

Messages are ``[{role, content, name?, tool_calls?, tool_call_id?, signature?}]`` (2-wave4-contracts, *OpenAI dialect*).
``content`` is text, or a list of parts when there are media, which only user messages may have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Final

from innkeeper.dialects.base import BaseDialect
from innkeeper.dialects.conversation import Rules, Style, TurnSequence, merged, with_system
from innkeeper.dialects.media import Media, media_part
from innkeeper.dialects.options import ResponseFormat, Table, as_is, put, stops
from innkeeper.dialects.pieces import pieces_of
from innkeeper.dialects.report import Report, jsonable, option_error
from innkeeper.dialects.sillytavern.messages import speakers_of
from innkeeper.dialects.tools import function_choice
from innkeeper.dialects.turn import FUNCTION, ToolCall, Turn, replace

_NAME: Final = re.compile(r"[\s<|\\/>]+")
_NAME_CHARS: Final = 64
_SPELLED: Final = frozenset({"name", "arguments", "args", "input", "item", "item_id"})
_CALL_KEYS: Final = frozenset({"id", "type", "function"})
_AUDIO_FORMATS: Final = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}


def image_part(media: Media) -> dict[str, Any]:
    """``{type: image_url, image_url: {url, detail?}}``."""
    detail = {"detail": media.detail} if media.detail else {}
    return {"type": "image_url", "image_url": {"url": media.data_url, **detail}}


def audio_part(media: Media) -> dict[str, Any] | str:
    """``{type: input_audio, input_audio: {data, format}}``: only data, no address."""
    if media.data is None:
        return "audio must be given as data, not by its address"
    form = media.media_type.partition("/")[2]
    return {"type": "input_audio", "input_audio": {"data": media.data, "format": _AUDIO_FORMATS.get(form, form)}}


def file_part(media: Media) -> dict[str, Any] | str:
    """``{type: file, file: {filename, file_data} or {file_id}}``."""
    if media.file_id:
        return {"type": "file", "file": {"file_id": media.file_id}}
    if media.data is None:
        return "a file must be given as data or by the provider's id, not by its address"
    return {"type": "file", "file": {"filename": media.name or "file", "file_data": media.data_url}}


def part(media: Media) -> dict[str, Any] | str:
    """A content part of Chat Completions."""
    if media.kind == "image" and (media.url or media.data):
        return image_part(media)
    if media.kind == "audio":
        return audio_part(media)
    return file_part(media) if media.kind == "file" else "there is no place for its kind"


def text_parts(content: Any) -> list[dict[str, Any]]:
    """A message's content as a list of parts."""
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def tool_choice(body: dict[str, Any], value: Any, _report: Report) -> None:
    """``auto``, ``none``, ``required``, or one function."""
    body["tool_choice"] = function_choice(value)


def response_format(body: dict[str, Any], value: Any, _report: Report) -> None:
    """``text``, ``json_object``, or ``json_schema`` with the schema one level down."""
    form = ResponseFormat.of(value)
    inner = {"json_schema": form.fields()} if form.kind == "json_schema" else {}
    body["response_format"] = {"type": form.kind, **inner}


# OpenAI's models that think before they answer refuse ``max_tokens``, also behind a proxy that passes bodies on.
_THINKS: Final = re.compile(r"(?:.*/)?(?:o\d+(?:-|$)|gpt-[5-9](?:[.-]|$))", re.IGNORECASE)


def answer_limit(body: dict[str, Any], value: Any, _report: Report) -> None:
    """``max_tokens``, or ``max_completion_tokens`` where the model is one of OpenAI's that take nothing else."""
    thinks = _THINKS.match(str(body.get("model") or ""))
    body["max_completion_tokens" if thinks else "max_tokens"] = value


_SAMPLING: Final[Table] = as_is("temperature", "top_p", "seed", "frequency_penalty", "presence_penalty")
_REST: Final[Table] = {
    "response_format": response_format,
    "tool_choice": tool_choice,
    **as_is("parallel_tool_calls", "stream", "stream_options", "n", "logprobs", "top_logprobs", "logit_bias", "user"),
}


def _processed(
    messages: list[dict[str, Any]], style: Style, options: Mapping[str, Any], report: Report
) -> list[dict[str, Any]]:
    """The messages by the mode of post-processing that is asked for: see `innkeeper.dialects.sillytavern.post_processing`."""
    if options.get("post_processing") is None:
        return messages
    from innkeeper.dialects.sillytavern.post_processing import mode_named, post_process

    mode = mode_named(options["post_processing"], report.dialect)
    speakers = speakers_of(options.get("speakers"), report.dialect)
    return post_process(messages, mode, speakers, placeholder=style.filler, report=report)


def _transformed(messages: list[dict[str, Any]], options: Mapping[str, Any], report: Report) -> list[dict[str, Any]]:
    """The messages through each function of ``message_transforms``, which changes them or returns others."""
    for transform in options.get("message_transforms") or ():
        if not callable(transform):
            raise option_error(report.dialect, "message_transforms", transform, ["functions of the messages"])
        changed = transform(messages)
        messages = messages if changed is None else changed
        report.repair(f"the message transform {getattr(transform, '__name__', 'given')!r} was applied")
    return messages


class OpenAI(BaseDialect):
    """Chat Completions as OpenAI has it.

    ``post_processing`` brings the messages into an order for strict servers (``merge``, ``semi``, ``strict``, ``single``,
    the first three with ``_tools``); ``speakers`` are the names it puts in front of texts: ``{char, user, group}``.
    ``message_transforms`` are functions of the finished messages, for repairs that one server wants.
    """

    provider: ClassVar[str] = "openai"
    own_options: ClassVar[tuple[str, ...]] = ("post_processing", "speakers", "message_transforms")

    rules: ClassVar[Rules] = Rules(
        names=True,
        merge=True,
        functions=True,
        signature=True,
        keys=frozenset({"refusal", "audio", "function_call"}),
        lists=True,
    )
    table: ClassVar[Table] = {
        **_SAMPLING,
        "max_tokens": put("max_completion_tokens"),
        "stop": stops("stop", most=4),
        **_REST,
        **as_is("reasoning_effort", "verbosity", "store", "metadata", "service_tier", "modalities", "audio"),
        **as_is("prediction", "prompt_cache_key", "safety_identifier", "web_search_options", "moderation"),
    }

    def _messages(self, talk: TurnSequence, options: Mapping[str, Any], report: Report) -> list[dict[str, Any]]:
        turns = with_system(talk, report)
        if talk.style.repair and self.rules.merge:
            turns = merged(turns, talk.style, report)
        messages = [
            self._rich(turn, talk.style, report) if turn.rich else {"role": turn.role, "content": turn.text}
            for turn in turns
        ]
        return _transformed(_processed(messages, talk.style, options, report), options, report)

    def _rich(self, turn: Turn, style: Style, report: Report) -> dict[str, Any]:
        plain = turn.cache is None and not turn.attachments and not turn.parts
        message: dict[str, Any] = {"role": turn.role, "content": turn.text if plain else self._content(turn, report)}
        if turn.name:
            message["name"] = _legal_name(turn, report)
        if turn.calls:
            message["tool_calls"] = [self._call(call) for call in turn.calls]
        if turn.call_id is not None:
            message["tool_call_id"] = turn.call_id
        if turn.signature and self.rules.signature:
            message["signature"] = turn.signature
        if turn.reasoning and self.rules.reasoning:
            message["reasoning_content"] = turn.thoughts
        if turn.rest:
            message.update((key, jsonable(value)) for key, value in turn.rest.items() if style.sends(key))
        return message

    def _content(self, turn: Turn, report: Report) -> Any:
        """The text alone, or parts in order where there is more to say."""
        parts: list[dict[str, Any]] = []
        for piece in pieces_of(replace(turn, calls=(), reasoning=())):
            part = {"type": "text", "text": piece.value} if piece.kind == "text" else None
            if piece.kind == "attachment":
                part = media_part(piece.value, turn.index, self._part, report)
            if part is not None:
                parts.append({**part, **piece.fields()})
        if not parts and turn.cache:
            return [{"type": "text", "text": "", "cache_control": dict(turn.cache)}]
        plain = not parts or (len(parts) == 1 and parts[0].keys() == {"type", "text"}) or not self.rules.lists
        media = any(part["type"] != "text" for part in parts)
        return turn.text if plain and not media else parts

    def _part(self, media: Media) -> dict[str, Any] | str:
        return part(media)

    def _call(self, call: ToolCall) -> dict[str, Any]:
        function = {"name": call.name, "arguments": call.text()}
        if call.raw.keys() <= _CALL_KEYS:
            return {"id": call.id, "type": "function", "function": function}
        raw: dict[str, Any] = jsonable(call.raw)
        others = {key: value for key, value in raw.items() if key not in _SPELLED}
        if "custom" in raw and "function" not in raw:
            return {**others, "id": call.id, "type": "custom", "custom": raw["custom"]}
        return {**others, "id": call.id, "type": "function", "function": function}


@lru_cache(maxsize=1024)
def _legal(cut: str) -> str:
    return _NAME.sub("_", cut)


def _legal_name(turn: Turn, report: Report) -> str:
    name = str(turn.name)
    if turn.role == FUNCTION:
        return name
    legal = _legal(name[:_NAME_CHARS])
    if legal != name:
        report.repair("a name was changed to the characters that names may have", turn.index)
    return legal


class Compatible(OpenAI):
    """Servers that speak Chat Completions and more: llama.cpp, KoboldCpp, TabbyAPI, vLLM, LM Studio."""

    provider: ClassVar[str] = "openai-compatible"
    rules: ClassVar[Rules] = Rules(
        names=True,
        merge=True,
        functions=True,
        signature=True,
        reasoning=True,
        prefill=True,
        keys=frozenset({"refusal", "audio", "function_call", "reasoning_content", "prefix"}),
        lists=True,
    )
    table: ClassVar[Table] = {
        **_SAMPLING,
        **as_is("top_k", "min_p", "top_a", "typical_p", "tfs", "repetition_penalty", "mirostat", "mirostat_tau"),
        **as_is("mirostat_eta"),
        "max_tokens": answer_limit,
        "stop": stops("stop"),
        **_REST,
        **as_is("reasoning_effort", "grammar", "json_schema", "chat_template_kwargs", "cache_prompt", "id_slot"),
        **as_is("ignore_eos", "min_tokens", "add_generation_prompt", "continue_final_message"),
    }


class OpenRouter(OpenAI):
    """OpenRouter's Chat Completions: with cache marks, video, and thoughts both ways."""

    provider: ClassVar[str] = "openrouter"
    rules: ClassVar[Rules] = Rules(
        names=True,
        merge=True,
        signature=True,
        cache=True,
        prefill=True,
        keys=frozenset({"refusal", "audio", "reasoning_details"}),
        lists=True,
    )
    table: ClassVar[Table] = {
        **_SAMPLING,
        **as_is("top_k", "min_p", "top_a", "repetition_penalty", "max_tokens"),
        "stop": stops("stop", most=4),
        **_REST,
        "reasoning_effort": put("reasoning", "effort"),
        **as_is("verbosity", "modalities", "provider", "models", "route", "transforms", "plugins", "usage"),
    }

    def _part(self, media: Media) -> dict[str, Any] | str:
        if media.kind == "video":
            return {"type": "video_url", "video_url": {"url": media.data_url}}
        if media.kind == "file" and media.url:
            return {"type": "file", "file": {"filename": media.name or "file", "file_data": media.url}}
        return part(media)
