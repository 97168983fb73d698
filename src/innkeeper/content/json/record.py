"""Record: one JSON object read field by field, tolerantly, with a finding for each value of a wrong type.

Coercions: texts from numbers and booleans; numbers from numeric text; booleans from 0 and 1 and from the words of
`TRUE_WORDS` and `FALSE_WORDS`; lists of texts from one text. ``null`` counts as absent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from innkeeper.content.finding import Finding, Level, Path, show_path, shown
from innkeeper.content.json import ABSENT

TRUE_WORDS: Final = frozenset({"1", "true", "yes", "y", "on"})
FALSE_WORDS: Final = frozenset({"0", "false", "no", "n", "off", ""})

MAX_NUMBER: Final = 2**53
"""Whole numbers beyond it are not numbers here, as JavaScript could not hold them either (no error: a finding)."""

_ROLES: Final[Mapping[Any, str]] = {
    0: "system",
    1: "user",
    2: "assistant",
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "bot": "assistant",
    "char": "assistant",
    "model": "assistant",
    "human": "user",
    "developer": "system",
}
"""Roles by SillyTavern's numbers and by every usual name."""

D = TypeVar("D")


class FindingCollector:
    """Collects findings up to a limit and counts the rest."""

    def __init__(self, limit: int, findings: Sequence[Finding] = ()) -> None:
        self.limit = limit
        self.items = list(findings[:limit])
        self.more = len(findings) - len(self.items)

    def add(self, rule: str, message: str, path: Path = (), *, level: Level = Level.WARNING) -> None:
        """Note one fact about the value at ``path``."""
        if len(self.items) < self.limit:
            self.items.append(Finding(rule, message, show_path(path), level))
        else:
            self.more += 1

    @property
    def is_full(self) -> bool:
        """Whether more findings are only counted."""
        return len(self.items) >= self.limit

    def done(self) -> tuple[Finding, ...]:
        """All of them, and one more that counts those beyond the limit."""
        if not self.more:
            return tuple(self.items)
        return (*self.items, Finding("more-findings", f"{self.more:,} more findings are not listed"))


class Record:
    """A JSON object at ``path`` of its document; every getter takes the field's names, the first present one counts."""

    def __init__(self, raw: Mapping[str, Any], path: Path, findings: FindingCollector) -> None:
        self.raw = raw
        self.path = path
        self.findings = findings

    def get(self, *names: str) -> tuple[str, Any]:
        """The first name that is present and not null, with its value; otherwise the first name and `ABSENT`."""
        for name in names:
            value = self.raw.get(name)
            if value is not None:
                return name, value
        return names[0], ABSENT

    def has(self, *names: str) -> bool:
        """Whether one of the names is present and not null."""
        return self.get(*names)[1] is not ABSENT

    def text(self, *names: str, default: D = "") -> str | D:  # type: ignore[assignment]
        """A text."""
        name, value = self.get(*names)
        return value if type(value) is str else self._coerced(name, value, as_text, "a text", default)

    def flag(self, *names: str, default: D = False) -> bool | D:  # type: ignore[assignment]
        """A boolean."""
        name, value = self.get(*names)
        return value if type(value) is bool else self._coerced(name, value, as_flag, "true or false", default)

    def integer(self, *names: str, default: D = None) -> int | D:  # type: ignore[assignment]
        """A whole number."""
        name, value = self.get(*names)
        if type(value) is int and -MAX_NUMBER < value < MAX_NUMBER:
            return value
        read: int | D = self._coerced(name, value, as_integer, "a whole number", default)
        return read

    def number(self, *names: str, default: D = None) -> float | D:  # type: ignore[assignment]
        """A number."""
        name, value = self.get(*names)
        if type(value) is float or (type(value) is int and -MAX_NUMBER < value < MAX_NUMBER):
            return value
        read: float | D = self._coerced(name, value, as_number, "a number", default)
        return read

    def role(self, *names: str, default: str = "system") -> str:
        """A message role."""
        name, value = self.get(*names)
        return str(self._coerced(name, value, as_role, "a role", default))

    def mapping(self, *names: str) -> dict[str, Any]:
        """An object."""
        name, value = self.get(*names)
        if value is ABSENT or type(value) is dict:
            return value or {}
        self.wrong(name, value, "an object")
        return {}

    def items(self, *names: str) -> list[Any]:
        """A list."""
        name, value = self.get(*names)
        if value is ABSENT or type(value) is list:
            return value or []
        self.wrong(name, value, "a list")
        return []

    def texts(self, *names: str) -> tuple[str, ...]:
        """A list of texts; one text counts as a list of it, unless it is empty."""
        name, value = self.get(*names)
        if type(value) is str:
            self.wrong(name, value, "a list of texts")
            return (value,) if value else ()
        return tuple(self._text_item(name, index, item) for index, item in enumerate(self.items(name)))

    def records(self, *names: str) -> list[Record]:
        """A list of objects; anything else in it is left out."""
        name, values = self.get(*names)[0], []
        for index, item in enumerate(self.items(name)):
            if type(item) is dict:
                values.append(Record(item, (*self.path, name, index), self.findings))
            else:
                self.findings.add("wrong-type", f"{shown(item)} is not an object; left out", (*self.path, name, index))
        return values

    def wrong(self, name: str, value: Any, expected: str) -> None:
        """Note that a field has a value of a wrong type."""
        self.findings.add("wrong-type", f"{shown(value)} is not {expected}", (*self.path, name))

    def _text_item(self, name: str, index: int, item: Any) -> str:
        if type(item) is str:
            return item
        if self.findings.is_full:  # spare the sentence that nobody would see
            self.findings.more += 1
            return as_text(item) or ""
        self.findings.add("wrong-type", f"{shown(item)} is not a text", (*self.path, name, index))
        return as_text(item) or ""

    def _coerced(self, name: str, value: Any, coerce: Any, expected: str, default: Any) -> Any:
        if value is ABSENT:
            return default
        read = coerce(value)
        if read is None or coerce is not as_role:
            self.wrong(name, value, expected)
        return default if read is None else read


def as_text(value: Any) -> str | None:
    """A text from a text, number or boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value) if isinstance(value, (str, int, float)) else None


def as_flag(value: Any) -> bool | None:
    """A boolean from a boolean, a number (zero is false) or a word."""
    if isinstance(value, (bool, int, float)):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else None
    return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None


def as_number(value: Any) -> float | None:
    """A finite number from a number, boolean or numeric text; whole ones stay whole."""
    if isinstance(value, bool):
        return int(value)
    number = _parsed(value) if isinstance(value, str) else value
    if isinstance(number, int):
        return number if abs(number) < MAX_NUMBER else None
    return number if isinstance(number, float) and math.isfinite(number) else None


def as_integer(value: Any) -> int | None:
    """A whole number from what `as_number` takes; fractions are cut off."""
    number = as_number(value)
    return None if number is None or abs(number) >= MAX_NUMBER else int(number)


def as_role(value: Any) -> str | None:
    """Return the role for SillyTavern's numbers 0, 1, 2 (also as text) or a name in any case. Tools have no messages here."""
    if isinstance(value, str):
        word = value.strip().lower()
        value = int(word) if word in {"0", "1", "2"} else word
    return _ROLES.get(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _parsed(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() else number
