"""Functions of texts: comparing, cutting, joining, letter case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from innkeeper.macros.cbs.blocks import parse_list
from innkeeper.macros.cbs.functions.lists import list_text
from innkeeper.macros.cbs.run import CbsCall, Function, Result, by_alias
from innkeeper.text.javascript.substitution import replaced
from innkeeper.text.javascript.values import WHITE_SPACE, length_of, strip, text_of, text_of_units, units_of

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
