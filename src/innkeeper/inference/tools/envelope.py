"""The envelope in which a tool's result goes back to the model: ``{ok, tool_name, data, warnings, errors}``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["error_codes", "failure", "normalised"]


def failure(tool_name: str, code: str, message: str, **data: Any) -> dict[str, Any]:
    """The envelope of a call that failed."""
    errors = [{"code": code, "message": message}]
    return {"ok": False, "tool_name": tool_name, "data": data, "warnings": [], "errors": errors}


def normalised(result: Any, tool_name: str) -> dict[str, Any]:
    """The envelope of what a tool returned: an envelope (a mapping with ``ok``), a mapping, or any other value."""
    if not isinstance(result, Mapping):
        data = {} if result is None else {"value": result}
    elif "ok" not in result:
        data = dict(result)
    else:
        return _completed(result, tool_name)
    return {"ok": True, "tool_name": tool_name, "data": data, "warnings": [], "errors": []}


def _completed(result: Mapping[str, Any], tool_name: str) -> dict[str, Any]:
    data = result.get("data")
    return {
        "ok": result["ok"] is True,
        "tool_name": str(result.get("tool_name") or tool_name),
        "data": dict(data) if isinstance(data, Mapping) else {} if data is None else {"value": data},
        "warnings": _items(result.get("warnings")),
        "errors": [_error(item) for item in _items(result.get("errors"))],
    }


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else [value]


def _error(item: Any) -> dict[str, Any]:
    if isinstance(item, Mapping):
        return {**item, "code": str(item.get("code") or "TOOL_ERROR"), "message": str(item.get("message") or "")}
    return {"code": "TOOL_ERROR", "message": str(item)}


def error_codes(envelope: Mapping[str, Any]) -> list[str]:
    """The codes of its errors."""
    return [str(error.get("code")) for error in envelope.get("errors") or () if isinstance(error, Mapping)]
