"""Numbers and text as JavaScript has them: the languages of SillyTavern and RisuAI are defined by its rules."""

from __future__ import annotations

import json
import math
import re
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

SPACES: Final = "\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
r"""The characters of ``\s`` and ``trim``, as the inside of a character class."""

WHITE_SPACE: Final = (
    "\t\n\x0b\x0c\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""The characters of ``trim``. Python's ``strip`` takes others: not U+FEFF, but U+001C to U+001F and U+0085."""
_PAIR: Final = re.compile("[\U00010000-\U0010ffff]")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LEADING: Final = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_INTEGER: Final = re.compile(r"([+-]?)(0[xX])?([0-9a-zA-Z]*)")
_UTF16: Final = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
_WHOLE: Final = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_LONGEST_NUMBER: Final = 2000
_DECIMAL_FROM: Final = -7
_DECIMAL_TO: Final = 21
_EXACT: Final = Context(prec=400)
_LONGEST_INDEX: Final = 10
_INDEXES: Final = 2**32 - 1


def strip(text: str) -> str:
    """``text.trim()``."""
    return text.strip(WHITE_SPACE)


def is_space(text: str) -> bool:
    """Whether a text is white space alone, and not empty."""
    return bool(text) and not strip(text)


def strip_start(text: str) -> str:
    """``text.trimStart()``."""
    return text.lstrip(WHITE_SPACE)


def strip_end(text: str) -> str:
    """``text.trimEnd()``."""
    return text.rstrip(WHITE_SPACE)


def to_number(value: Any) -> float:
    """``Number(value)``: NaN for other values; text may be decimal, ``0x…``, ``0o…``, ``0b…`` or ``Infinity``; blank is 0."""
    if value is None or value is False:
        return 0.0
    if value is True:
        return 1.0
    if isinstance(value, (int, float)):
        return _float(value)
    if isinstance(value, str):
        return _text_number(strip(value))
    return _text_number(strip(text_of(value)))


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _text_number(text: str) -> float:
    if not text:
        return 0.0
    if len(text) <= _LONGEST_NUMBER:
        if _DECIMAL.fullmatch(text):
            return float(text)
        if _WHOLE.fullmatch(text):
            return _float(int(text, 0))
    if text in ("Infinity", "+Infinity"):
        return math.inf
    return -math.inf if text == "-Infinity" else math.nan


def parse_float(text: str) -> float:
    """``parseFloat(text)``: the number that a text begins with, else NaN."""
    match = _LEADING.match(strip_start(text)[:_LONGEST_NUMBER])
    return float(match[0].replace("Infinity", "inf")) if match else math.nan


def parse_int(text: str, base: int = 10) -> float:
    """``parseInt(text, base)``: the whole number that a text begins with, else NaN; ``0x`` before it means base 16."""
    match = _INTEGER.match(strip_start(text)[:_LONGEST_NUMBER])
    sign, prefix, digits = match.groups() if match else ("", None, "")
    if prefix and base == 10:  # noqa: PLR2004 - the base where none is named
        base = 16
    allowed = "0123456789abcdefghijklmnopqrstuvwxyz"[:base]
    whole = digits[: len(digits) - len(digits.lower().lstrip(allowed))]
    return _float(int(sign + whole, base)) if whole else math.nan


def fixed(value: float, digits: int) -> str:
    """``value.toFixed(digits)``: halves go up in size, judged by the exact value of the double."""
    if not math.isfinite(value) or abs(value) >= 10**_DECIMAL_TO:
        return number_text(value)
    rounded = Decimal(abs(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _EXACT)
    return f"{'-' if value < 0 else ''}{rounded:f}"


def number_text(value: float) -> str:
    """``String(value)``: the shortest digits that read back, without ``.0``; exponents outside 1e-7 … 1e21."""
    value = _float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, exponent = _digits(abs(value))
    return sign + _placed(digits, exponent)


def _digits(value: float) -> tuple[str, int]:
    mantissa, _, power = f"{value!r}".partition("e")
    whole, _, part = mantissa.partition(".")
    part = "" if part == "0" else part
    digits = (whole + part).lstrip("0")
    leading = len(whole + part) - len((whole + part).lstrip("0"))
    point = len(whole) - leading + int(power or 0)
    return digits.rstrip("0") or "0", point


def _placed(digits: str, point: int) -> str:
    if len(digits) <= point <= _DECIMAL_TO:
        return digits + "0" * (point - len(digits))
    if 0 < point <= _DECIMAL_TO:
        return f"{digits[:point]}.{digits[point:]}"
    if _DECIMAL_FROM < point - 1 < 0:
        return "0." + "0" * -point + digits
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{point - 1:+d}"


def text_of(value: Any) -> str:
    """``String(value)`` of JSON data: ``null``, ``true``, ``p,q`` for lists, ``[object Object]`` for objects."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, (list, tuple)):
        return ",".join("" if item is None else text_of(item) for item in value)
    return "[object Object]"


def json_text(value: Any) -> str:
    """``JSON.stringify(value)``."""
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(number_text(value)) if value.is_integer() and abs(value) < 10**_DECIMAL_TO else value
    if type(value) is int and abs(value) >= 2**53:
        return _plain(_float(value))
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in sorted(((str(k), v) for k, v in value.items()), key=_key_order)}
    return value


def _key_order(item: tuple[str, Any]) -> float:
    """The sort key of an object's property: integer keys first, by size, then the others as they were added."""
    key = item[0]
    whole = key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) <= _LONGEST_INDEX
    return int(key) if whole and int(key) < _INDEXES else math.inf


def parse_json(text: str) -> Any:
    """``JSON.parse(text)``. Raises `ValueError`, also for lists within lists without end."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError(str(error)) from error


def _refuse(name: str) -> Any:
    raise ValueError(name)


def units_of(text: str) -> memoryview:
    """The UTF-16 units of a text."""
    return memoryview(text.encode(_UTF16, "surrogatepass")).cast("H")


def text_of_units(units: Iterable[int]) -> str:
    """The text of UTF-16 units; halves alone stay halves."""
    return array("H", units).tobytes().decode(_UTF16, "surrogatepass")


def length_of(text: str) -> int:
    """``text.length``: the number of UTF-16 units."""
    return len(text) if text.isascii() else len(units_of(text))


class Offsets:
    """Places in a text as JavaScript counts them: in UTF-16 units. Characters beyond them are looked for once."""

    __slots__ = ("_pairs", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._pairs: list[int] | None = None

    def at(self, index: int) -> int:
        """Return the number of UTF-16 units before ``place``."""
        if self._pairs is None:
            self._pairs = [] if self.text.isascii() else [match.start() for match in _PAIR.finditer(self.text)]
        return index + bisect_left(self._pairs, index)
