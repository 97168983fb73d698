"""Values as Python's original reads them: text of anything, whole numbers of anything, and copies of what belongs to a caller."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.prompt.errors import LimitError, Where
from innkeeper.prompt.limits import MAX_DEPTH, MAX_DIGITS
from innkeeper.taverns.smart.limits import MAX_NUMBER

__all__ = ["copied", "text_of", "told_number", "whole_number"]

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


def text_of(value: Any, path: str) -> str:
    """Text as it is, ``None`` as an empty text, anything else by ``str``.

    Raises `LimitError` for what cannot be written as text: a number of too many digits, data too deep.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return str(value)
    except ValueError as error:
        what = "a number's length"
        raise LimitError(what, limit="MAX_DIGITS", allowed=MAX_DIGITS, where=Where(path=path)) from error
    except RecursionError as error:
        what = "the nesting of a value"
        raise LimitError(what, limit="MAX_DEPTH", allowed=MAX_DEPTH, where=Where(path=path)) from error


def whole_number(value: Any, default: int) -> int | None:
    """A whole number by Python's ``int``, the default for what is empty or false, ``None`` for what is no number.

    A zero that is a number is itself.
    """
    if type(value) is int:
        return value
    if not value and type(value) is not float:
        return default
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def told_number(value: int | None) -> int | None:
    """A whole number as reports tell it: one that JSON readers may not hold by the nearest they do."""
    return None if value is None else max(-MAX_NUMBER, min(value, MAX_NUMBER))


def copied(value: Any, path: str) -> Any:
    """Objects and arrays as new ones at every level, so that nobody can write through; anything else as it is.

    Raises `LimitError` beyond `MAX_DEPTH` levels, data that contains itself included.
    """
    return value if type(value) in _PLAIN else _copied(value, path, 0)


def _copied(value: Any, path: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        what = "the nesting of a value"
        raise LimitError(what, limit="MAX_DEPTH", allowed=MAX_DEPTH, where=Where(path=path))
    if isinstance(value, dict):
        return {key: _copied(item, path, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(item, path, depth + 1) for item in value]
    return value
