"""Plain JSON values as an operation takes them: text made of anything, copies, and the error for a value of a wrong type."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.prompt.data import MAX_DEPTH, MAX_DIGITS
from innkeeper.prompt.errors import FormatError, LimitError, Where
from innkeeper.prompt.text import kind_of

PLAIN: Final = frozenset({str, int, float, bool, type(None)})
"""Types of immutable values."""


class ShapeError(FormatError, ValueError):
    """A value that an operation cannot go on with: of the wrong type, a document that does not hold together, an unknown role.

    ``where`` names its path; ``message`` is the original's text where it has one.
    """


def wrong_type(path: str, expected: str, value: Any, *, hint: str | None = None) -> ShapeError:
    """The error for a value of another type than the one expected."""
    return ShapeError(f"expected {expected}, found {kind_of(value)}", where=Where(path=path), hint=hint)


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


def copied(value: Any, path: str) -> Any:
    """Copy objects and arrays at every level; other values are shared.

    Raises `LimitError` beyond `MAX_DEPTH` levels, data that contains itself included.
    """
    return value if type(value) in PLAIN else _copied(value, path, 0)


def _copied(value: Any, path: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        what = "the nesting of a value"
        raise LimitError(what, limit="MAX_DEPTH", allowed=MAX_DEPTH, where=Where(path=path))
    if isinstance(value, dict):
        return {key: _copied(item, path, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(item, path, depth + 1) for item in value]
    return value
