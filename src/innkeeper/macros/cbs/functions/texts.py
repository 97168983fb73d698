"""Functions of texts: comparing, cutting, joining, letter case; code units, base64, the two ciphers, hashes."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from innkeeper.macros.cbs.blocks import parse_list
from innkeeper.macros.cbs.functions.lists import list_text
from innkeeper.macros.cbs.run import CbsCall, Function, Result, by_alias
from innkeeper.text.javascript.random_numbers import first_chance
from innkeeper.text.javascript.substitution import replaced
from innkeeper.text.javascript.values import (
    WHITE_SPACE,
    length_of,
    parse_int,
    strip,
    text_of,
    text_of_units,
    to_number,
    units_of,
)

_UNITS: Final = 0x10000
_SHIFT: Final = 32768
_HASH_DIGITS: Final = 7
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9+/]+")
_URL_SAFE: Final = str.maketrans("-_", "+/")
_FLIPPED: Final = bytes(255 - byte for byte in range(256))


def _unit(number: float) -> int:
    """A number as a UTF-16 unit: cut to a whole one, modulo 65,536."""
    return int(number) % _UNITS if math.isfinite(number) else 0


def decoded_base64(text: str) -> bytes:
    """The bytes of base64, also without padding; other characters are passed over, and ``=`` ends it."""
    digits = _NOT_BASE64.sub("", text.partition("=")[0].translate(_URL_SAFE))
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def unicodeencode(call: CbsCall) -> Result:
    """The code of a text's unit."""
    units, index = units_of(call.text(0)), to_number(call.shown(1, "0"))
    index = 0 if math.isnan(index) else index
    return str(units[int(index)]) if -1 < index < len(units) else "NaN"


def crypt(call: CbsCall) -> Result:
    """A text with each unit moved by a number."""
    shift = to_number(call.shown(1, "") or str(_SHIFT))
    units = (unit + shift for unit in units_of(call.text(0)))
    return text_of_units(_unit(unit - _UNITS if unit >= _UNITS else unit) for unit in units)


def hash_text(word: str) -> str:
    """The seven digits that a text determines."""
    return str(math.floor(first_chance(units_of(word)) * 10**_HASH_DIGITS + 1.5)).zfill(_HASH_DIGITS)


_NUMERIC: Final = frozenset("0123456789." + WHITE_SPACE)
_ONE_UNIT: Final = "\uffff"


def _flag(test: Callable[[str, str], bool]) -> Function:
    """A function that tests two texts; the second one may be missing."""
    return lambda call: "1" if test(call.text(0), call.shown(1)) else "0"


def split(call: CbsCall) -> Result:
    """The parts of a text between separators; with an empty one its UTF-16 units."""
    text = call.text(0)
    if len(call.args) == 1:
        return list_text(call, [text])
    if call.args[1]:
        return list_text(call, text.split(call.args[1]))
    return list_text(call, list(text) if text.isascii() else [text_of_units([unit]) for unit in units_of(text)])


def _joined(call: CbsCall, items: list[Any], separator: str) -> str:
    texts = ["" if item is None else text_of(item) for item in items]
    call.run.spend(len(separator) * len(texts))
    return separator.join(texts)


def capitalize(call: CbsCall) -> Result:
    """A text with its first unit in capitals."""
    text = call.text(0)
    return text[:1].upper() + text[1:] if text[:1] <= _ONE_UNIT else text


FUNCTIONS: Final[Mapping[str, Function]] = by_alias(
    {
        "unicodeencode": unicodeencode,
        "unicodedecode": lambda call: text_of_units([_unit(call.number(0))]),
        "u ue unicodedecodefromhex unicodeencodefromhex": lambda call: text_of_units(
            [_unit(parse_int(call.shown(0), 16))]
        ),
        "xor xorencrypt xorencode xore": lambda call: base64.b64encode(
            call.text(0).encode("utf-8", "replace").translate(_FLIPPED)
        ).decode(),
        "xordecrypt xordecode xord": lambda call: (
            decoded_base64(call.text(0)).translate(_FLIPPED).decode("utf-8", "replace")
        ),
        "crypt crypto caesar encrypt decrypt": crypt,
        "hash": lambda call: hash_text(call.text(0)),
        "startswith": _flag(str.startswith),
        "endswith": _flag(str.endswith),
        "contains": _flag(lambda text, part: part in text),
        "replace": lambda call: replaced(call.text(0), call.shown(1), call.shown(2), call.run.spend),
        "split": split,
        "join": lambda call: _joined(call, parse_list(call.text(0)), call.shown(1, ",")),
        "spread": lambda call: _joined(call, parse_list(call.text(0)), "::"),
        "trim": lambda call: strip(call.text(0)),
        "length": lambda call: str(length_of(call.text(0))),
        "lower": lambda call: call.text(0).lower(),
        "upper": lambda call: call.text(0).upper(),
        "capitalize": capitalize,
        "reverse": lambda call: call.tag[::-1],
        "tonumber": lambda call: "".join(char for char in call.text(0) if char in _NUMERIC),
        "iserror": lambda call: "1" if call.text(0).lower().startswith("error:") else "0",
    }
)
