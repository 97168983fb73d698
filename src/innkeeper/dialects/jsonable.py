"""Plain JSON data out of whatever metadata, schemas and options hold; and objects out of the JSON of tool arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import LimitError
from innkeeper.prompt.text import scalar_text

__all__ = ["MAX_DATA_DEPTH", "compact", "jsonable", "object_of"]

MAX_DATA_DEPTH: Final = 100
"""How deep metadata, tool schemas, tool arguments and options may nest."""


def jsonable(value: Any, depth: int = 0) -> Any:
    """Fresh dicts, lists, text, numbers, ``None``: lone surrogates replaced, other objects as their text.

    Raises `LimitError` for data that nests deeper than `MAX_DATA_DEPTH`.
    """
    if isinstance(value, str):
        return scalar_text(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= MAX_DATA_DEPTH:
        what = "the nesting of data"
        raise LimitError(what, limit="MAX_DATA_DEPTH", allowed=MAX_DATA_DEPTH)
    if isinstance(value, (dict, Mapping)):
        return {scalar_text(str(key)): jsonable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item, depth + 1) for item in value]
    return scalar_text(str(value))


def compact(value: Any) -> str:
    """JSON text without spaces."""
    return msgspec.json.encode(jsonable(value)).decode()


def object_of(value: Any) -> dict[str, Any] | None:
    """The JSON object that ``value`` is or spells; ``{}`` for nothing; ``None`` when it is anything else."""
    if isinstance(value, (dict, Mapping)):
        found: dict[str, Any] = jsonable(value)
        return found
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    if not (isinstance(value, str) and value.lstrip().startswith("{")):
        return None
    try:
        parsed = msgspec.json.decode(value)
        if value.count("[") + value.count("{") > MAX_DATA_DEPTH:
            parsed = jsonable(parsed)
    except (ValueError, RecursionError, LimitError):
        return None
    return parsed if isinstance(parsed, dict) else None
