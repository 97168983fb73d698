"""A tool's result as the text of a tool message: transformed, measured, serialised."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from innkeeper.inference.tools.envelope import failure
from innkeeper.inference.tools.output_limit import OutputLimits, excess
from innkeeper.prompt.text import scalar_text

__all__ = ["written"]


def written(
    envelope: Mapping[str, Any], max_bytes: int, transform: Callable[[dict[str, Any]], dict[str, Any]]
) -> tuple[dict[str, Any], str]:
    """``(envelope, text)`` after ``transform``. What is too large or cannot be JSON becomes the envelope that says so.

    Codes: ``TOOL_OUTPUT_TOO_LARGE`` (with the limit that broke, or bytes) and ``TOOL_OUTPUT_SERIALIZATION_ERROR``.
    """
    tool, whole = str(envelope.get("tool_name")), transform(dict(envelope))
    reason = excess(whole, OutputLimits(bytes=max_bytes))
    if reason is not None:
        return _failed(tool, transform, "TOOL_OUTPUT_TOO_LARGE", reason=reason, limit=max_bytes)
    try:
        text = _json(whole)
    except (TypeError, ValueError, RecursionError):
        return _failed(tool, transform, "TOOL_OUTPUT_SERIALIZATION_ERROR")
    size = len(text.encode())
    if size > max_bytes:
        return _failed(tool, transform, "TOOL_OUTPUT_TOO_LARGE", bytes=size, limit=max_bytes)
    return whole, text


def _failed(
    tool: str, transform: Callable[[dict[str, Any]], dict[str, Any]], code: str, **data: Any
) -> tuple[dict[str, Any], str]:
    about = "too large" if code == "TOOL_OUTPUT_TOO_LARGE" else "no JSON data"
    envelope = transform(failure(tool, code, f"the tool's output is {about}", **data))
    return envelope, _json(envelope)


def _json(value: Any) -> str:
    return scalar_text(json.dumps(value, ensure_ascii=False, allow_nan=False))
