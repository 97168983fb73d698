"""Google's GeminiDialect, ``generateContent``: ``{system_instruction?, contents: [{role, parts}]}``; also called ``google``.

Users and models speak in turn. Tool calls are ``functionCall`` parts, results ``functionResponse`` parts of a user's turn;
a thought signature stands beside the part it belongs to. The model's name and streaming are in the address of a request,
not in its body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from innkeeper.dialects.base import BaseDialect
from innkeeper.dialects.conversation import Rules, TurnSequence, alternating, filler
from innkeeper.dialects.media import Media, media_part, media_parts
from innkeeper.dialects.options import ResponseFormat, Table, in_address, put, renamed, stops
from innkeeper.dialects.pieces import Piece, pieces_of
from innkeeper.dialects.report import Report, jsonable, object_of
from innkeeper.dialects.tools import chosen, tool_fields
from innkeeper.dialects.turn import ASSISTANT, TOOL, USER, ToolCall, Turn
from innkeeper.prompt.payload.dialect import Tool

MAX_STOPS: Final = 5
"""Stop strings of a request (a note; further ones are left out)."""

_CONFIG: Final = "generationConfig"
_KINDS: Final = ("image", "audio", "video", "file")


def part(media: Media) -> dict[str, Any] | str:
    """``inlineData`` for data, ``fileData`` for addresses."""
    if media.kind not in _KINDS:
        return "there is no place for its kind"
    if media.data is not None:
        return {"inlineData": {"mimeType": media.media_type, "data": media.data}}
    typed = {"mimeType": media.media_type} if media.media_type else {}
    return {"fileData": {**typed, "fileUri": media.url or media.file_id}}


def _tool_choice(body: dict[str, Any], value: Any, _report: Report) -> None:
    mode, name = chosen(value)
    config = {"mode": {"auto": "AUTO", "none": "NONE"}.get(mode, "ANY")}
    allowed = {"allowedFunctionNames": [name]} if name else {}
    body.setdefault("toolConfig", {})["functionCallingConfig"] = {**config, **allowed}


def _response_format(body: dict[str, Any], value: Any, _report: Report) -> None:
    form = ResponseFormat.of(value)
    config = body.setdefault(_CONFIG, {})
    config["responseMimeType"] = "text/plain" if form.kind == "text" else "application/json"
    if form.schema is not None:
        config["responseJsonSchema"] = form.schema


def _effort(body: dict[str, Any], value: Any, _report: Report) -> None:
    thinking = body.setdefault(_CONFIG, {}).setdefault("thinkingConfig", {})
    if value == "none":
        thinking["thinkingBudget"] = 0
    else:
        thinking["thinkingLevel"] = value


class GeminiDialect(BaseDialect):
    """The ``generateContent`` request."""

    sends_model: ClassVar[bool] = False
    provider: ClassVar[str] = "gemini"
    rules: ClassVar[Rules] = Rules(
        system="hoist",
        apart=True,
        repair=True,
        merge=True,
        blank=False,
        prefill=True,
        reasoning=True,
        signature=True,
        errors=True,
        media=frozenset({USER, ASSISTANT, TOOL}),
        lists=True,
    )
    table: ClassVar[Table] = {
        **renamed(_CONFIG, temperature="temperature", top_p="topP", top_k="topK", max_tokens="maxOutputTokens"),
        "stop": stops(_CONFIG, "stopSequences", most=MAX_STOPS),
        **renamed(_CONFIG, seed="seed", frequency_penalty="frequencyPenalty", presence_penalty="presencePenalty"),
        **renamed(_CONFIG, n="candidateCount", logprobs="responseLogprobs", top_logprobs="logprobs"),
        **renamed(
            _CONFIG, modalities="responseModalities", speech_config="speechConfig", media_resolution="mediaResolution"
        ),
        "response_format": _response_format,
        "reasoning_effort": _effort,
        "thinking": put(_CONFIG, "thinkingConfig"),
        "tool_choice": _tool_choice,
        "safety_settings": put("safetySettings"),
        "cached_content": put("cachedContent"),
        "labels": put("labels"),
        "stream": in_address,
    }

    def _messages(self, talk: TurnSequence, options: Mapping[str, Any], report: Report) -> dict[str, Any]:
        system = [{"text": turn.text} for turn in talk.system if turn.text.strip()]
        return {**({"system_instruction": {"parts": system}} if system else {}), "contents": _contents(talk, report)}

    def _add_tools(self, body: dict[str, Any], tools: Sequence[Tool], report: Report) -> None:
        if any(tool.strict is not None for tool in tools):
            report.loss("that a tool is strict is not sent")
        body["tools"] = [
            {"functionDeclarations": [tool_fields(tool, "parametersJsonSchema", strict=False) for tool in tools]}
        ]


def _contents(talk: TurnSequence, report: Report) -> list[dict[str, Any]]:
    contents = alternating(talk, report, "parts", {ASSISTANT: "model"}, lambda text: {"text": text}, _parts)
    return _begun(contents, talk, report) if talk.style.repair else contents


def _begun(contents: list[dict[str, Any]], talk: TurnSequence, report: Report) -> list[dict[str, Any]]:
    """Contents with at least one turn, and a user's turn before any tool call."""
    if not contents:
        return [{"role": "user", "parts": [{"text": filler(talk, report)}]}]
    if contents[0]["role"] != "model" or not any("functionCall" in each for each in contents[0]["parts"]):
        return contents
    report.repair("tool calls must follow a user's turn: a user message was put in at the top")
    return [{"role": "user", "parts": [{"text": talk.style.filler}]}, *contents]


def _parts(turn: Turn, report: Report) -> list[dict[str, Any]]:
    if turn.role == TOOL:
        return [_result(turn, report), *media_parts(turn, part, report)]
    written = [(piece.kind, _part(piece, turn, report)) for piece in pieces_of(turn)]
    parts = [(kind, part) for kind, part in written if part is not None]
    for kind in ("call", "text", "attachment"):
        if same := [part for each, part in parts if each == kind]:
            _signed(same, turn.signature)
            break
    return [part for _, part in parts]


def _part(piece: Piece, turn: Turn, report: Report) -> dict[str, Any] | None:
    match piece.kind:
        case "text":
            return {"text": piece.value} if piece.value.strip() else None
        case "attachment":
            return media_part(piece.value, turn.index, part, report)
        case "reasoning":
            return _thought(piece.value)
        case "call":
            return _call(piece.value, turn, report)
    return None


def _signed(parts: list[dict[str, Any]], signature: str | None) -> None:
    """Put the message's signature beside the first call, or the last other part, unless one of them has its own."""
    if signature and parts and not any("thoughtSignature" in part for part in parts):
        parts[0 if "functionCall" in parts[0] else -1]["thoughtSignature"] = signature


def _thought(part: Mapping[str, Any]) -> dict[str, Any]:
    signature = part.get("signature")
    signed = {"thoughtSignature": jsonable(signature)} if signature else {}
    return {"text": jsonable(part["text"]), "thought": True, **signed}


def _call(call: ToolCall, turn: Turn, report: Report) -> dict[str, Any]:
    signed = {"thoughtSignature": call.signature} if call.signature else {}
    arguments = call.object(report, turn.index)
    return {"functionCall": {"id": call.id, "name": call.name, "args": arguments}, **signed}


def _result(turn: Turn, report: Report) -> dict[str, Any]:
    """``response`` is an object: that which the result spells in JSON, or one that holds its text."""
    name = turn.tool or turn.name
    if not name:
        report.repair("a tool result that names no tool was sent as that of 'unknown'", turn.index)
    document = object_of(turn.text) if turn.text.strip() else None
    response = (
        document if document is not None and not turn.failed else {"error" if turn.failed else "result": turn.text}
    )
    known = {"id": turn.call_id} if turn.call_id else {}
    return {"functionResponse": {**known, "name": name or "unknown", "response": response}}
