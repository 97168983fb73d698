"""Tool calls in a model's answer: their ids, their arguments, and calls that are written into the text.

Each `ModelCall` has an id that is never blank and never there twice. Arguments are read leniently: code fences, double encoding,
blanks, objects in place of text. Calls in the text, ``<tool_call>…</tool_call>``, are read only where a transform asks for it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import msgspec

from innkeeper.inference.errors import DEFAULT_MAX_TOOL_BYTES, AnswerError
from innkeeper.inference.output_tags import Tag, scan
from innkeeper.prompt import FormatError
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze, thaw
from innkeeper.prompt.text import kind_of
from innkeeper.text.verbatim import Escape, Zone, mask, unmask


class ModelCall(msgspec.Struct, frozen=True):
    """``arguments`` are as the model wrote them; ``extra`` is what else its provider put beside them (signatures)."""

    id: str
    name: str
    arguments: Any = None
    extra: FrozenDict = EMPTY

    def to_dict(self) -> dict[str, Any]:
        """The call as a message holds it."""
        arguments = "{}" if self.arguments is None else thaw(self.arguments)
        function = {"name": self.name, "arguments": arguments}
        return {**thaw(self.extra), "id": self.id, "type": "function", "function": function}


def calls_of(raw: Any) -> tuple[ModelCall, ...]:
    """The calls of a message's ``tool_calls``: a list, or a single call. Anything else is passed over.

    Ids are stripped; a blank one becomes ``tc_N`` (N counts from 1), a repeated one ``id__2``, ``id__3``.
    """
    items = [raw] if isinstance(raw, Mapping) else raw if isinstance(raw, (list, tuple)) else []
    calls: list[ModelCall] = []
    taken: set[str] = set()
    for number, item in enumerate((item for item in items if isinstance(item, Mapping)), 1):
        name = _unused(_text(item.get("id")) or f"tc_{number}", taken)
        taken.add(name)
        calls.append(_call(name, item))
    return tuple(calls)


def _call(name: str, item: Mapping[str, Any]) -> ModelCall:
    function = item.get("function")
    function = function if isinstance(function, Mapping) else {}
    extra = {key: value for key, value in item.items() if key not in {"id", "type", "function", "index"}}
    return ModelCall(name, _text(function.get("name")), _arguments(function.get("arguments")), freeze(extra))


def _arguments(value: Any) -> Any:
    """The arguments, frozen; an object that holds more than data (``NaN``) as its text, which is refused when it is read."""
    try:
        return freeze(value)
    except FormatError:
        return json.dumps(value, default=str)


def _unused(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}__{number}"
    return candidate


def _text(value: Any) -> str:
    return str(value).strip() if isinstance(value, (str, int)) and not isinstance(value, bool) else ""


_FENCE: Final = re.compile(r"```[^\n`]*+\n(.*)\n?```", re.DOTALL)


def size_of_arguments(raw: Any) -> int:
    """The bytes of arguments as they came; of objects, as JSON."""
    if raw is None:
        return 0
    text = raw if isinstance(raw, str) else json.dumps(thaw(raw), default=str)
    return len(text.encode("utf-8", "replace"))


def parse_arguments(raw: Any, max_bytes: int = DEFAULT_MAX_TOOL_BYTES) -> dict[str, Any]:
    """The arguments as a mapping. ``None`` and blank text stand for no arguments; JSON may be fenced, or encoded twice.

    Raises `AnswerError` with code ``ARGUMENTS_TOO_LARGE`` or ``ARGUMENTS_JSON_PARSE_ERROR``.
    """
    size = size_of_arguments(raw)
    if size > max_bytes:
        msg = f"the arguments have {size:,} bytes; the limit is {max_bytes:,}"
        raise AnswerError(msg, code="ARGUMENTS_TOO_LARGE", bytes=size, limit=max_bytes)
    value = _decoded(raw) if isinstance(raw, str) else thaw(raw)
    if isinstance(value, str):
        value = _decoded(value)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        _refuse(f"the arguments are {kind_of(value)}, not an object")
    return dict(value)


def as_sent(call: ModelCall) -> ModelCall:
    """The call as its provider takes it back: arguments that are not JSON mended, or none where they cannot be read."""
    text = call.arguments
    if not isinstance(text, str):
        return call
    try:
        if isinstance(strict_json(text), Mapping):
            return call
    except (ValueError, RecursionError):
        pass
    try:
        mended = json.dumps(parse_arguments(text, size_of_arguments(text)), ensure_ascii=False)
    except AnswerError:
        mended = "{}"
    return msgspec.structs.replace(call, arguments=mended)


def _decoded(text: str) -> Any:
    text = unfenced(text)
    if not text:
        return None
    try:
        return strict_json(text)
    except (ValueError, RecursionError) as error:
        _refuse(f"the arguments are not JSON: {error}")


def unfenced(text: str) -> str:
    """The inside of a text that is one code fence; else the text, stripped."""
    text = text.strip()
    fence = _FENCE.fullmatch(text)
    return fence[1].strip() if fence else text


def strict_json(text: str) -> Any:
    """The value of a JSON text. Raises `ValueError`, for ``NaN`` and for numbers too large to be one as well."""
    return json.loads(text, parse_constant=_number, parse_float=_number)


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        msg = f"{text[:20]} is not a number of JSON"
        raise ValueError(msg)
    return number


def _refuse(message: str) -> NoReturn:
    raise AnswerError(message, code="ARGUMENTS_JSON_PARSE_ERROR")


_TAG: Final = frozenset({"tool_call"})
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,127}")
_ZONES: Final = (Zone.FENCE, Zone.CODE, Zone.ESCAPE)


def take_tag_calls(message: dict[str, Any]) -> None:
    """Turn the tags in a message's text into tool calls, ``tag_call_1`` and so on, and take them out of the text.

    Inside is JSON (``name`` with ``arguments`` or ``args``, or a ``function`` with both), a name and a JSON object, or a bare
    name. Tags in code, escaped tags, tags without a call inside, and messages that have tool calls are left alone.
    """
    content = message.get("content")
    if message.get("tool_calls") or not isinstance(content, str) or "tool_call" not in content:
        return
    masked = mask(content, _ZONES, Escape.KEEP_BACKSLASH)
    rest, blocks = _parted(masked.text, masked.spans)
    if blocks:
        message["content"] = unmask(rest, masked.spans).strip()
        message["tool_calls"] = [
            {"id": f"tag_call_{number}", "type": "function", "function": function}
            for number, function in enumerate(blocks, 1)
        ]


def _parted(text: str, spans: tuple[tuple[str, str], ...]) -> tuple[str, list[dict[str, str]]]:
    """The text without its calls, and the calls."""
    rest: list[str] = []
    blocks: list[dict[str, str]] = []
    opened = -1
    for piece in scan(text, _TAG):
        rest.append(piece if isinstance(piece, str) else piece.text)
        if not isinstance(piece, Tag):
            continue
        if not piece.closing:
            opened = len(rest)
        elif opened >= 0:
            function = _function(unmask("".join(rest[opened:-1]), spans))
            if function is not None:
                blocks.append(function)
                del rest[opened - 1 :]
            opened = -1
    return "".join(rest), blocks


def _function(inside: str) -> dict[str, str] | None:
    """The name and the arguments, as text, of one call."""
    text = unfenced(inside)
    if _NAME.fullmatch(text):
        return {"name": text, "arguments": "{}"}
    name = _NAME.match(text)
    value = _json(text[name.end() :] if name else text)
    if not isinstance(value, Mapping):
        return None
    return {"name": name[0], "arguments": json.dumps(value, ensure_ascii=False)} if name else _described(value)


def _described(value: Mapping[str, Any]) -> dict[str, str] | None:
    function = value.get("function")
    if isinstance(function, Mapping):
        value = function
    name = value.get("name", function)
    if not isinstance(name, str) or not _NAME.fullmatch(name.strip()):
        return None
    arguments = value.get("arguments", value.get("args"))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {"name": name.strip(), "arguments": text}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
