"""What a model wrote as a tool call's arguments, read with patience: fences, double encoding, blanks, objects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from innkeeper.inference.errors import ToolArgumentsError
from innkeeper.inference.limits import DEFAULT_MAX_TOOL_BYTES
from innkeeper.prompt import thaw

__all__ = ["parse_arguments", "size_of_arguments", "unfenced"]

_FENCE: Final = re.compile(r"```[^\n`]*+\n(.*)\n?```", re.DOTALL)


def size_of_arguments(raw: Any) -> int:
    """The bytes of arguments as they came; of objects, as JSON."""
    if raw is None:
        return 0
    text = raw if isinstance(raw, str) else json.dumps(thaw(raw), default=str)
    return len(text.encode("utf-8", "replace"))


def parse_arguments(raw: Any, max_bytes: int = DEFAULT_MAX_TOOL_BYTES) -> dict[str, Any]:
    """The arguments as a mapping. ``None`` and blank text are none; JSON may be fenced, or encoded twice.

    Raises `ToolArgumentsError` with code ``ARGUMENTS_TOO_LARGE`` or ``ARGUMENTS_JSON_PARSE_ERROR``.
    """
    size = size_of_arguments(raw)
    if size > max_bytes:
        msg = f"the arguments have {size:,} bytes; the limit is {max_bytes:,}"
        raise ToolArgumentsError(msg, code="ARGUMENTS_TOO_LARGE", bytes=size, limit=max_bytes)
    value = _decoded(raw) if isinstance(raw, str) else thaw(raw)
    if isinstance(value, str):
        value = _decoded(value)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        _refuse(f"the arguments are a JSON {type(value).__name__}, not an object")
    return dict(value)


def _decoded(text: str) -> Any:
    text = unfenced(text)
    if not text:
        return None
    try:
        return json.loads(text, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        _refuse(f"the arguments are not JSON: {error}")


def unfenced(text: str) -> str:
    """The inside of a text that is one code fence; else the text, stripped."""
    text = text.strip()
    found = _FENCE.fullmatch(text)
    return found[1].strip() if found else text


def _constant(name: str) -> NoReturn:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def _refuse(message: str) -> NoReturn:
    raise ToolArgumentsError(message, code="ARGUMENTS_JSON_PARSE_ERROR")
