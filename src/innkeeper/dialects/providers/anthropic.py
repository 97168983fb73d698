"""Anthropic's Messages: ``{system, messages: [{role, content: [blocks]}]}`` (2-wave4-contracts, *Anthropic dialect*).

Only users and assistants speak, in turn. Tool calls are ``tool_use`` blocks with an object as ``input``; results are
``tool_result`` blocks of the user message that follows, all of one answer together. ``system`` is text, or text blocks
when a part of it carries a cache mark; it is ``""`` in `messages` and absent from `request` when there is none.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from innkeeper.dialects.base import BaseDialect
from innkeeper.dialects.conversation import Rules, TurnSequence, alternating, filler, system_text
from innkeeper.dialects.media import Media, media_part
from innkeeper.dialects.options import ResponseFormat, Table, Writer, as_is, put, stops
from innkeeper.dialects.pieces import Piece, pieces_of
from innkeeper.dialects.report import Report, jsonable
from innkeeper.dialects.tools import chosen, tool_fields
from innkeeper.dialects.turn import ASSISTANT, SYSTEM, TOOL, USER, ToolCall, Turn, replace
from innkeeper.prompt.message import Message
from innkeeper.prompt.parts import ANTHROPIC
from innkeeper.prompt.payload.dialect import Tool
from innkeeper.prompt.text import scalar_text

DEFAULT_MAX_TOKENS: Final = 4096
"""``max_tokens`` by default: the provider requires it."""

MAX_CACHE_MARKS: Final = 4
"""Cache marks of a request (a note; the first ones go)."""

_ID: Final = re.compile(r"[^a-zA-Z0-9_-]")
_IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_FILES: Final = ("application/pdf",)
_ROLES: Final = {ASSISTANT: ASSISTANT, SYSTEM: SYSTEM}


def part(media: Media) -> dict[str, Any] | str:
    """An ``image`` or ``document`` block."""
    if media.kind not in ("image", "file"):
        return "there is no place for its kind"
    named = {"title": media.name} if media.name and media.kind == "file" else {}
    block = "image" if media.kind == "image" else "document"
    if media.file_id:
        return {"type": block, "source": {"type": "file", "file_id": media.file_id}, **named}
    if media.data is None:
        return {"type": block, "source": {"type": "url", "url": media.url}, **named}
    if media.kind == "file" and media.media_type.startswith("text/"):
        return _text_document(media.data, named)
    if media.media_type not in (_IMAGES if media.kind == "image" else _FILES):
        return f"the type {media.media_type[:40]!r} is not taken"
    source = {"type": "base64", "media_type": media.media_type, "data": media.data}
    return {"type": block, "source": source, **named}


def _text_document(data: str, named: dict[str, str]) -> dict[str, Any] | str:
    try:
        text = base64.b64decode(data, validate=True).decode()
    except ValueError:
        return "its data is not the base64 of UTF-8 text"
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, **named}


def _tool_choice(body: dict[str, Any], value: Any, _report: Report) -> None:
    mode, name = chosen(value)
    kind = {"required": "any"}.get(mode, mode)
    body["tool_choice"] = {"type": kind, **({"name": name} if name else {})}


def _parallel(body: dict[str, Any], value: Any, _report: Report) -> None:
    if not value:
        body.setdefault("tool_choice", {"type": "auto"})["disable_parallel_tool_use"] = True


def _response_format(body: dict[str, Any], value: Any, report: Report) -> None:
    form = ResponseFormat.of(value)
    if form.kind == "json_schema":
        body.setdefault("output_config", {})["format"] = {"type": "json_schema", "schema": form.schema}
    elif form.kind != "text":
        report.loss(f"the response format {form.kind!r:.40} is not sent", hint="give a json_schema")


_FIXED: Final = re.compile(r"claude-(?:opus-4-[7-9]|(?:opus|sonnet|haiku)-[5-9]|mythos|fable)\b")
"""Models that refuse to be told how to sample."""


def _sampled(name: str) -> Writer:
    def write(body: dict[str, Any], value: Any, report: Report) -> None:
        if _FIXED.search(str(body.get("model") or "")):
            report.loss(f"option {name!r} is not sent: the model refuses it")
        else:
            body[name] = value

    return write


def _tier(body: dict[str, Any], value: Any, report: Report) -> None:
    if value in ("auto", "standard_only"):
        body["service_tier"] = value
    else:
        report.loss(f"the service tier {value!r:.40} is not sent", hint="there are auto and standard_only")


def _metadata(body: dict[str, Any], value: Any, report: Report) -> None:
    """Whose request it is, which is all that is taken."""
    known = value if isinstance(value, Mapping) else {}
    if known.get("user_id"):
        body["metadata"] = {"user_id": known["user_id"]}
    if known.keys() != {"user_id"}:
        report.loss("metadata is not sent besides user_id", hint="who asks is the option 'user'")


def _effort(body: dict[str, Any], value: Any, report: Report) -> None:
    if value == "none":
        body["thinking"] = {"type": "disabled"}
        return
    if value == "minimal":
        report.repair("reasoning effort minimal was sent as low")
    body.setdefault("output_config", {})["effort"] = "low" if value == "minimal" else value


class Anthropic(BaseDialect):
    """The Messages request."""

    provider: ClassVar[str] = "anthropic"
    needs_limit: ClassVar[int] = DEFAULT_MAX_TOKENS
    rules: ClassVar[Rules] = Rules(
        system="hoist",
        apart=True,
        repair=True,
        merge=True,
        blank=False,
        prefill=True,
        reasoning=True,
        sealed=True,
        signature=True,
        cache=True,
        errors=True,
        media=frozenset({USER, TOOL}),
        lists=True,
        parts=frozenset({"citations", "context", "caller", "defer_loading", "input_examples", "allowed_callers"}),
        shape=ANTHROPIC,
    )
    table: ClassVar[Table] = {
        **{name: _sampled(name) for name in ("temperature", "top_p", "top_k")},
        "max_tokens": put("max_tokens"),
        "stop": stops("stop_sequences", blank=False),
        "tool_choice": _tool_choice,
        "parallel_tool_calls": _parallel,
        "stream": put("stream"),
        "thinking": put("thinking"),
        "reasoning_effort": _effort,
        "response_format": _response_format,
        "metadata": _metadata,
        "user": put("metadata", "user_id"),
        **as_is("output_config", "cache_control", "container", "mcp_servers"),
        "service_tier": _tier,
        **as_is("context_management", "inference_geo"),
    }

    own_options: ClassVar[tuple[str, ...]] = ("assistant_prefill",)

    def _conversation(self, messages: Sequence[Message], options: Mapping[str, Any], report: Report) -> TurnSequence:
        """Append the beginning of the answer as the last message, as this provider takes it, unless the history ends with one."""
        prefill = scalar_text(str(options.get("assistant_prefill") or ""))
        if prefill and not (messages and messages[-1].role == ASSISTANT):
            messages = [*messages, Message(ASSISTANT, prefill)]
        return super()._conversation(messages, options, report)

    def _messages(self, talk: TurnSequence, options: Mapping[str, Any], report: Report) -> dict[str, Any]:
        talk = _limited_marks(talk, report)
        return {"system": _system(talk, report), "messages": _messages(talk, report)}

    def _body(
        self, model: str | None, talk: TurnSequence, options: Mapping[str, Any], report: Report
    ) -> dict[str, Any]:
        made = self._messages(talk, options, report)
        system = {"system": made["system"]} if made["system"] else {}
        return {**({"model": model} if model else {}), **system, "messages": made["messages"]}

    def _add_tools(self, body: dict[str, Any], tools: Sequence[Tool], report: Report) -> None:
        body["tools"] = [{**tool_fields(tool, "input_schema"), **jsonable(tool.extra)} for tool in tools]

    def _finished(self, body: dict[str, Any], report: Report) -> dict[str, Any]:
        if body.get("tools"):
            _limit_tool_marks(body, report)
        if "max_tokens" not in body:
            body["max_tokens"] = DEFAULT_MAX_TOKENS
            report.repair(f"max_tokens must be given: {DEFAULT_MAX_TOKENS} was put in")
        return body


def _limited_marks(talk: TurnSequence, report: Report) -> TurnSequence:
    """Without cache marks beyond the number that is allowed: the last ones reach furthest and stay."""
    surplus = (
        sum(
            (turn.cache is not None) + sum("cache_control" in part for part in turn.parts)
            for turn in (*talk.system, *talk.turns)
        )
        - MAX_CACHE_MARKS
    )
    if surplus <= 0:
        return talk

    def limited(turn: Turn) -> Turn:
        nonlocal surplus
        parts = []
        for part in turn.parts:
            unmarked = surplus > 0 and "cache_control" in part
            surplus -= unmarked
            parts.append({name: part[name] for name in part if name != "cache_control"} if unmarked else part)
        cache = None if surplus > 0 else turn.cache
        surplus -= turn.cache is not None and cache is None
        limited_turn = replace(turn, parts=tuple(parts), cache=cache)
        if limited_turn != turn:
            report.loss(f"the cache mark is not sent: there may be {MAX_CACHE_MARKS}", turn.index)
        return limited_turn

    return TurnSequence(tuple(map(limited, talk.system)), [limited(turn) for turn in talk.turns], talk.style)


def _limit_tool_marks(body: Mapping[str, Any], report: Report) -> None:
    """Take out the marks of tools, which reach least, where messages have too many beside them."""
    tools = body["tools"] if isinstance(body["tools"], list) else ()
    marked = [tool for tool in tools if isinstance(tool, dict) and "cache_control" in tool]
    surplus = len(marked) + _written_marks([body.get("system"), body.get("messages")]) - MAX_CACHE_MARKS
    for tool in marked[: max(0, surplus)]:
        del tool["cache_control"]
        report.loss(f"the cache mark of the tool {tool.get('name')!r:.80} is not sent: there may be {MAX_CACHE_MARKS}")


def _written_marks(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_written_marks, value))
    return ("cache_control" in value) + _written_marks(value.get("content")) if isinstance(value, dict) else 0


def _system(talk: TurnSequence, report: Report) -> str | list[dict[str, Any]]:
    if not any(turn.cache or turn.parts for turn in talk.system):
        return system_text(talk)
    return [block for turn in talk.system for block in _written(turn, report)]


def _messages(talk: TurnSequence, report: Report) -> list[dict[str, Any]]:
    turns, repair = talk.turns, talk.style.repair
    if repair and turns and turns[-1].role == ASSISTANT:
        turns = [*turns[:-1], _without_trailing_space(turns[-1], report)]
    speaking = TurnSequence(talk.system, turns, talk.style)
    messages = alternating(speaking, report, "content", _ROLES, _text, _blocks)
    if repair and not messages:
        messages = [{"role": USER, "content": [_text(filler(talk, report))]}]
    return messages


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _without_trailing_space(turn: Turn, report: Report) -> Turn:
    text = turn.text.rstrip()
    if text == turn.text or turn.calls:
        return turn
    report.repair("white space at the end of the last assistant message was cut", turn.index)
    return replace(turn, text=text)


def _blocks(turn: Turn, report: Report) -> list[dict[str, Any]]:
    if turn.role == TOOL:
        result = _result(turn, report)
        return [{**result, "cache_control": dict(turn.cache)} if turn.cache else result]
    if turn.signature and not turn.reasoning:
        report.loss("a signature without thoughts is not sent", turn.index)
    return _written(turn, report)


def _written(turn: Turn, report: Report) -> list[dict[str, Any]]:
    blocks = [(piece, _block(piece, turn, report)) for piece in pieces_of(turn)]
    return [{**block, **piece.fields()} for piece, block in blocks if block is not None]


def _block(piece: Piece, turn: Turn, report: Report) -> dict[str, Any] | None:
    match piece.kind:
        case "text":
            return _text(piece.value) if piece.value.strip() else None
        case "attachment":
            return media_part(piece.value, turn.index, part, report)
        case "reasoning":
            return _thought(piece.value, turn, report)
        case "call":
            return _call(piece.value, turn, report)
    block: dict[str, Any] = jsonable(piece.value)
    return block


def _thought(part: Mapping[str, Any], turn: Turn, report: Report) -> dict[str, Any] | None:
    data, text = part.get("data"), part.get("text")
    signature = part.get("signature") or turn.signature
    if data:
        return {"type": "redacted_thinking", "data": jsonable(data)}
    if text is None or not signature:
        report.loss("thoughts without a signature are not sent", turn.index)
        return None
    return {"type": "thinking", "thinking": jsonable(text), "signature": jsonable(signature)}


def _legal_id(call_id: str | None, turn: Turn, report: Report) -> str:
    if call_id and not _ID.search(call_id):
        return call_id
    report.repair("a tool call's id was changed to the characters that ids may have", turn.index)
    return _ID.sub("_", call_id or "") or "_"


def _call(call: ToolCall, turn: Turn, report: Report) -> dict[str, Any]:
    if call.signature:
        report.loss("a tool call's signature is not sent", turn.index)
    call_id = _legal_id(call.id, turn, report)
    return {"type": "tool_use", "id": call_id, "name": call.name, "input": call.object(report, turn.index)}


def _result(turn: Turn, report: Report) -> dict[str, Any]:
    blocks = _written(replace(turn, cache=None), report) if turn.attachments or turn.parts else []
    content = turn.text if not blocks or blocks == [_text(turn.text)] else blocks
    failed = {"is_error": True} if turn.failed else {}
    call_id = _legal_id(turn.call_id, turn, report)
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **failed}
