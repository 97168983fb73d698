"""Values: what is given for a template's variables, checked, capped and set off, ready to be put in as they are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from innkeeper.library.errors import FieldError, MissingVariablesError
from innkeeper.library.limits import MAX_VALUE_CHARS, MAX_VALUE_ITEMS, MAX_VALUES_CHARS
from innkeeper.library.templates.template import Variable
from innkeeper.macros.engine.errors import MacroLimitError
from innkeeper.prompt.errors import Where
from innkeeper.prompt.run.state import TokenCounter
from innkeeper.prompt.text import kind_of, scalar_text

_RUN: Final = re.compile(r"<+|>+")
_WORD_END: Final = re.compile(r"\s\S*\Z")
_FENCE: Final = 3
_CHARS_A_TOKEN: Final = 128
"""No vocabulary has longer tokens of prose; what lies beyond cap times this is not looked at."""


class VariableReport(msgspec.Struct, frozen=True):
    """What became of one variable: where its value came from, and how long it is.

    ``given`` is ``value``, ``default`` or ``empty``; ``tokens`` is None where nothing was counted; ``cut`` says that the
    value was longer than ``max_tokens`` and lost ``lost_chars`` characters at its end.
    """

    name: str
    given: str
    chars: int
    tokens: int | None = None
    cut: bool = False
    lost_chars: int = 0


@dataclass(frozen=True, slots=True)
class Filled:
    """The values of one rendering: as text, as data (for Liquid), which of them are empty, and the reports."""

    texts: dict[str, str]
    data: dict[str, Any]
    present: frozenset[str]
    reports: tuple[VariableReport, ...]
    ignored: tuple[str, ...]


def fill(
    variables: Iterable[Variable],
    values: Mapping[str, Any],
    counter: TokenCounter | None = None,
    model: str | None = None,
) -> Filled:
    """Check and prepare values. With ``counter`` all are counted, without only those whose cap they may exceed.

    Raises:
        MissingVariablesError: required variables without a value, all of them.
        FieldError: a value that its variable does not take.
        MacroLimitError: a value, or all together, too long.
    """
    declared = tuple(variables)
    missing = [var.name for var in declared if var.required and var.default is None and values.get(var.name) is None]
    if missing:
        raise MissingVariablesError(missing)
    texts: dict[str, str] = {}
    data: dict[str, Any] = {}
    present, reports, total = set(), [], 0
    for var in declared:
        value, origin = _value(var, values)
        text = "" if value is None else _text(var, value)
        total += len(text)
        if total > MAX_VALUES_CHARS:
            _too_long("the values together", "MAX_VALUES_CHARS", MAX_VALUES_CHARS, total)
        short, report = _report(var, text, origin, counter, model)
        if value is not False and text and not text.isspace():  # a section for it is shown
            present.add(var.name)
        texts[var.name] = shown = fenced(var.name, short) if var.fence and short else short
        data[var.name] = _data(value, text, short, shown)
        reports.append(report)
    ignored = tuple(sorted(str(name) for name in values if name not in texts)) if len(values) > 0 else ()
    return Filled(texts, data, frozenset(present), tuple(reports), ignored)


def _value(var: Variable, values: Mapping[str, Any]) -> tuple[Any, str]:
    value = values.get(var.name)
    if value is not None:
        return value, "value"
    return (None, "empty") if var.default is None else (var.default, "default")


def _data(value: Any, text: str, short: str, shown: str) -> Any:
    """A value as Liquid sees it: numbers, truth values and lists as such, unless they were cut or set off."""
    if value is None:
        return None
    if isinstance(value, str) or shown != text:
        return shown
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


# ------------------------------------------------------------------------------------------------------------------ types


def _text(var: Variable, value: Any) -> str:
    """The value as text. Raises `FieldError`, `MacroLimitError`."""
    if isinstance(value, str):
        text = scalar_text(str(value))
    elif isinstance(value, (list, tuple)) and var.type == "list":
        text = _joined(var, value)
    elif _is_plain(value) and (var.type != "boolean" or isinstance(value, bool)):
        text = _plain(value)
    else:
        raise _wrong(var, value)
    if len(text) > MAX_VALUE_CHARS:
        _too_long(f"the value of {var.name}", "MAX_VALUE_CHARS", MAX_VALUE_CHARS, len(text), var.name)
    return text


def _joined(var: Variable, items: list[Any] | tuple[Any, ...]) -> str:
    if len(items) > MAX_VALUE_ITEMS:
        _too_long(f"the items of {var.name}", "MAX_VALUE_ITEMS", MAX_VALUE_ITEMS, len(items), var.name)
    if not all(isinstance(item, str) or _is_plain(item) for item in items):
        raise _wrong(var, items)
    return ", ".join(_plain(item) for item in items)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return scalar_text(str(value))
    except ValueError as error:  # an integer with more digits than Python writes
        _too_long("a number", "MAX_VALUE_CHARS", MAX_VALUE_CHARS)
        raise AssertionError from error  # pragma: no cover - the line above raises


def _wrong(var: Variable, value: Any) -> FieldError:
    message = f"{var.name} takes {var.type}, not {kind_of(value)}"
    return FieldError(message, where=Where(path=f"values.{var.name}"), variable=var.name)


def _too_long(what: str, limit: str, allowed: int, size: int | None = None, name: str | None = None) -> None:
    where = None if name is None else Where(path=f"values.{name}")
    raise MacroLimitError(what, limit=limit, allowed=allowed, found=size, where=where)


# ----------------------------------------------------------------------------------------------------------------- length


def _report(
    var: Variable, text: str, values: str, counter: TokenCounter | None, model: str | None
) -> tuple[str, VariableReport]:
    """The value within its cap, and what is said of it."""
    cap = var.max_tokens
    if cap is not None and len(text) * 4 > cap:  # no text has more tokens than bytes
        if counter is None:
            from innkeeper.tokens import default_counter

            counter = default_counter()
        short = _capped(text, cap, counter, model)
        lost = len(text) - len(short)
        return short, VariableReport(var.name, values, len(short), counter.count(short, model), lost > 0, lost)
    tokens = None if counter is None else counter.count(text, model)
    return text, VariableReport(var.name, values, len(text), tokens)


def _capped(text: str, cap: int, counter: TokenCounter, model: str | None) -> str:
    """The longest beginning of whole words within ``cap`` tokens; of one word that is too long, of characters."""
    if counter.count(text[: cap * _CHARS_A_TOKEN + 1], model) <= cap and len(text) <= cap * _CHARS_A_TOKEN:
        return text
    low, high = 0, min(len(text), cap * _CHARS_A_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if counter.count(text[:middle], model) <= cap else (low, middle - 1)
    return _at_word(text, low)


def _at_word(text: str, length: int) -> str:
    """The first ``length`` characters without a word that they would break."""
    short = text[:length]
    if length < len(text) and not text[length].isspace():
        short = _WORD_END.sub("", short)
    return short.rstrip()


# ---------------------------------------------------------------------------------------------------------------- fencing


def fenced(name: str, text: str) -> str:
    r"""A value between marks that it does not hold itself, so that it cannot end the fence: it is data, whatever it says.

    >>> fenced("mood", "calm")
    '<<<mood\ncalm\nmood>>>'
    """
    longest = max((len(run) for run in _RUN.findall(text)), default=0)
    width = max(_FENCE, longest + 1)
    return f"{'<' * width}{name}\n{text}\n{name}{'>' * width}"
