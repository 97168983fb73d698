"""OpenAI's Responses: ``{instructions?, input: [items]}``.

Messages are items ``{role, content}``; a tool call is an item ``function_call``, its result ``function_call_output``; the
thoughts behind an answer are items ``reasoning``, sent back as they came. System text before the first turn becomes
``instructions``; later system messages stay in their place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from innkeeper.dialects.base import BaseDialect
from innkeeper.dialects.conversation import Rules, TurnSequence, merged, system_text
from innkeeper.dialects.media import Media, media_part
from innkeeper.dialects.options import ResponseFormat, Table, as_is, put
from innkeeper.dialects.pieces import Piece, pieces_of
from innkeeper.dialects.report import Report, jsonable
from innkeeper.dialects.tools import chosen, tool_fields
from innkeeper.dialects.turn import ASSISTANT, SYSTEM, TOOL, USER, ToolCall, Turn
from innkeeper.prompt.payload.dialect import Tool


def part(media: Media) -> dict[str, Any] | str:
    """``input_image`` or ``input_file``."""
    if media.kind == "image":
        source = {"file_id": media.file_id} if media.file_id else {"image_url": media.data_url}
        return {"type": "input_image", **source, "detail": media.detail or "auto"}
    if media.kind != "file":
        return "there is no place for its kind"
    if media.file_id:
        return {"type": "input_file", "file_id": media.file_id}
    if media.data is None:
        return {"type": "input_file", "file_url": media.url}
    return {"type": "input_file", "filename": media.name or "file", "file_data": media.data_url}


def _tool_choice(body: dict[str, Any], value: Any, _report: Report) -> None:
    mode, name = chosen(value)
    body["tool_choice"] = {"type": "function", "name": name} if mode == "tool" else mode


def _response_format(body: dict[str, Any], value: Any, _report: Report) -> None:
    form = ResponseFormat.of(value)
    inner = form.fields() if form.kind == "json_schema" else {}
    body.setdefault("text", {})["format"] = {"type": form.kind, **inner}


class Responses(BaseDialect):
    """The Responses request."""

    provider: ClassVar[str] = "responses"
    rules: ClassVar[Rules] = Rules(
        apart=True,
        merge=True,
        reasoning=True,
        sealed=True,
        media=frozenset({USER, TOOL}),
        lists=True,
        parts=frozenset({"annotations", "logprobs"}),
        keys=frozenset({"refusal"}),
        shape="responses",
    )
    table: ClassVar[Table] = {
        **as_is("temperature", "top_p"),
        "max_tokens": put("max_output_tokens"),
        "response_format": _response_format,
        "verbosity": put("text", "verbosity"),
        "tool_choice": _tool_choice,
        **as_is("parallel_tool_calls", "max_tool_calls", "stream", "stream_options"),
        "reasoning_effort": put("reasoning", "effort"),
        "reasoning_summary": put("reasoning", "summary"),
        **as_is("top_logprobs", "user", "include", "store", "metadata", "previous_response_id", "conversation"),
        **as_is("truncation", "background", "service_tier", "prompt_cache_key", "safety_identifier", "moderation"),
    }

    def _messages(self, talk: TurnSequence, options: Mapping[str, Any], report: Report) -> dict[str, Any]:
        text, turns = _instructions(talk)
        if talk.style.repair:
            turns = merged(turns, talk.style, report)
        items: list[dict[str, Any]] = []
        for turn in turns:
            if turn.rich:
                items += _items(turn, report)
            else:
                items.append({"role": turn.role, "content": turn.text})
        return {**({"instructions": text} if text else {}), "input": items}

    def _add_tools(self, body: dict[str, Any], tools: Sequence[Tool], report: Report) -> None:
        body["tools"] = [{"type": "function", **tool_fields(tool), **jsonable(tool.extra)} for tool in tools]


def _instructions(talk: TurnSequence) -> tuple[str, list[Turn]]:
    """The text at the top, and the turns without it."""
    if talk.style.system != "keep":
        return system_text(talk), talk.turns
    turns = enumerate(talk.turns)
    first = next((index for index, turn in turns if turn.role != SYSTEM or turn.item), len(talk.turns))
    top = TurnSequence(tuple(talk.turns[:first]), [], talk.style)
    return system_text(top), talk.turns[first:]


def _items(turn: Turn, report: Report) -> list[dict[str, Any]]:
    own = {name: jsonable(value) for name, value in turn.item.items() if name != "type"} if turn.item else {}
    if turn.role == TOOL:
        output = _content(pieces_of(turn), turn, report)
        return [{"type": "function_call_output", **own, "call_id": turn.call_id or "", "output": output}]
    items: list[dict[str, Any]] = []
    spoken: list[Piece] = []
    for piece in (*pieces_of(turn), None):
        if piece is not None and piece.kind in ("text", "attachment"):
            spoken.append(piece)
            continue
        if spoken or (piece is None and not items):
            items.append(_message(spoken, turn, own, report))
            spoken = []
        if piece is not None and (item := _item(piece, turn, report)) is not None:
            items.append(item)
    return items


def _message(spoken: list[Piece], turn: Turn, own: Mapping[str, Any], report: Report) -> dict[str, Any]:
    content = _content(spoken, turn, report)
    if not (own.get("id") and turn.role == ASSISTANT):
        return {**own, "role": turn.role, "content": content}
    parts = [{"type": "output_text", "text": content}] if isinstance(content, str) else content
    noted = [{"annotations": [], **part} if part["type"] == "output_text" else part for part in parts]
    return {"type": "message", **own, "role": turn.role, "content": noted}


def _item(piece: Piece, turn: Turn, report: Report) -> dict[str, Any] | None:
    if piece.kind == "reasoning":
        return _thought(piece.value, turn, report)
    item: dict[str, Any] = _call(piece.value) if piece.kind == "call" else jsonable(piece.value)
    return item


def _content(pieces: list[Piece], turn: Turn, report: Report) -> Any:
    """The text alone, or parts in order where there is more to say."""
    refusal = turn.rest.get("refusal")
    if not refusal and len(pieces) == 1 and pieces[0].kind == "text" and not pieces[0].own:
        return pieces[0].value
    kind = "output_text" if turn.role == ASSISTANT else "input_text"
    parts = []
    for piece in pieces:
        text = {"type": kind, "text": piece.value} if piece.kind == "text" else None
        written = media_part(piece.value, turn.index, part, report) if text is None else text
        if written is not None:
            parts.append({**written, **piece.fields()})
    if refusal:
        parts.append({"type": "refusal", "refusal": jsonable(refusal)})
    alone = len(parts) == 1 and parts[0].keys() == {"type", "text"}
    return parts[0]["text"] if alone else parts or turn.text


def _thought(part: Mapping[str, Any], turn: Turn, report: Report) -> dict[str, Any] | None:
    """A ``reasoning`` item; thoughts that did not come from here have no id or sealed content, and no place."""
    if not (part.get("id") or part.get("encrypted_content")):
        report.loss("the thoughts behind an answer are not sent: they have neither id nor sealed content", turn.index)
        return None
    fields = {key: jsonable(part[key]) for key in ("id", "status", "encrypted_content", "content") if part.get(key)}
    return {"type": "reasoning", **fields, "summary": jsonable(part.get("summary") or [])}


def _call(call: ToolCall) -> dict[str, Any]:
    item_id = call.raw.get("item_id")
    item = call.raw.get("item") or ({"id": item_id} if item_id else None)
    own: dict[str, Any] = jsonable(item) if item else {}
    return {"type": "function_call", **own, "call_id": call.id, "name": call.name, "arguments": call.text()}
