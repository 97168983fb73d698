"""Canonical JSON: the one way plain data becomes bytes and comes back, so that equal data are equal bytes."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, NoReturn

import msgspec

from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError, UsageError, Where
from innkeeper.prompt.frozen import MAX_DEPTH, check_depth, key_text

__all__ = ["MAX_DIGITS", "NOT_DATA", "parse_json", "plain_data", "to_json"]

MAX_DIGITS: Final = 4000
"""Decimal digits of a whole number: more cannot be written as text in linear time (`LimitError`)."""

NOT_DATA: Final = (bytes, bytearray, memoryview, date, datetime, time, timedelta, Decimal)
"""What msgspec would write as text that does not read back as what it was: left for `to_json` to refuse."""

_EXCERPT: Final = 60


def to_json(value: Any, *, sort: bool = True) -> bytes:
    """Plain data as JSON: sorted keys, no spaces, ASCII escapes. Objects with ``to_dict`` and msgspec structs are asked.

    With ``sort=False`` keys stay in their order, for data that is read again by something to which order matters.
    Raises `UsageError` for what is not data (objects, bytes, NaN, infinities) and `LimitError` for data too deep or numbers
    too long to write.
    """
    try:
        return _dumps(value, sort=sort)
    except TypeError:  # keys of several types: make them text, as JSON does
        return _guarded(_text_keys(value), sort=sort)
    except (ValueError, RecursionError):
        return _guarded(value, sort=sort)


def _dumps(value: Any, *, sort: bool) -> bytes:
    text = json.dumps(
        value, sort_keys=sort, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=plain_data
    )
    return text.encode()


def _guarded(value: Any, *, sort: bool) -> bytes:
    try:
        return _dumps(value, sort=sort)
    except RecursionError as error:
        raise LimitError("the nesting of the data", limit="MAX_DEPTH", allowed=MAX_DEPTH) from error
    except (TypeError, ValueError) as error:
        if "digits" in str(error):
            raise LimitError("a number's digits", limit="MAX_DIGITS", allowed=MAX_DIGITS) from error
        raise UsageError(
            f"cannot be written as JSON: {error}", hint="data holds no NaN, no infinity, no cycle"
        ) from error


def plain_data(value: Any) -> Any:
    """One object as data for a JSON writer: its ``to_dict()``, or a struct's fields. Raises `UsageError` for any other."""
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, enc_hook=plain_data, builtin_types=NOT_DATA)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    raise UsageError(
        f"{type(value).__name__} is not data and cannot be part of a request",
        hint="pass objects as ports; requests hold data only",
    )


def _text_keys(value: Any, depth: int = 0) -> Any:
    if depth > 2 * MAX_DEPTH:
        raise LimitError("the nesting of the data", limit="MAX_DEPTH", allowed=MAX_DEPTH)
    if isinstance(value, dict):
        return {key_text(key): _text_keys(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_text_keys(item, depth + 1) for item in value]
    return value


def parse_json(text: str | bytes, *, asset: str) -> Any:
    """JSON as data. Raises `FormatError` with line, column and the line itself, and `LimitError` for data too deep.

    ``NaN`` and ``Infinity``, which are not JSON, are refused.
    """
    try:
        data = _loads(text)
        check_depth(data, "the JSON")
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", where=_place(error, asset)) from error
    except RecursionError as error:
        raise LimitError("the nesting of the JSON", limit="MAX_DEPTH", allowed=MAX_DEPTH, where=Where(asset)) from error
    except InnkeeperError as error:
        raise error.at(asset=asset) from None
    except ValueError as error:
        raise FormatError(f"not JSON: {error}", where=Where(asset)) from error
    return data


def _loads(text: str | bytes) -> Any:
    """Read by msgspec, which is quick; what it refuses by `json`, which can say where, and reads what JSON leaves open."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise FormatError(f"not JSON: {constant} is not a JSON value", hint="use null or a number")


def _place(error: json.JSONDecodeError, asset: str) -> Where:
    line = error.doc.split("\n", error.lineno)[error.lineno - 1]
    cut = max(error.colno - 1 - _EXCERPT // 2, 0)
    return Where(asset, line=error.lineno, column=error.colno, excerpt=line[cut : cut + _EXCERPT], cut=cut)
