"""Misfit: why data do not fit a type, in words of JSON.

msgspec says ``Expected `int`, got `str` - at `$.seed` ``. A `Misfit` says ``seed must be a whole number, not text``, and has
the path and the problem apart, for errors whose `Where` names the path.
"""

from __future__ import annotations

import re
from typing import Final, Self

import msgspec

_MESSAGE: Final = re.compile(r"(?P<text>.*?)(?: - at `(?P<key>key` in `)?\$\.?(?P<path>.*)`)?", re.DOTALL)
_EXPECTED: Final = re.compile(r"Expected `(?P<due>[^`]*)`(?P<bound>.*?)(?:, got (?P<got>.*))?", re.DOTALL)
_FIELD: Final = re.compile(r"Object (?P<problem>missing required|contains unknown) field `(?P<name>.*)`", re.DOTALL)
_VALUE: Final = re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL)

_WORDS: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "dict": "an object",
    "list": "a list",
    "tuple": "a list",
    "set": "a set",
    "null": "null",
    "NoneType": "null",
    "bytes": "bytes",
    "datetime": "a date with a time",
    "date": "a date",
    "uuid": "a UUID",
}
_SENTENCES: Final = {
    "Invalid RFC3339 encoded datetime": "must be a date with a time, as in 2026-01-31T12:00:00Z",
    "Invalid RFC3339 encoded date": "must be a date, as in 2026-01-31",
    "Invalid base64 encoded string": "must be base64",
    "Invalid UUID": "must be a UUID",
    "Integer value out of range": "is too large a number",
    "Number out of range": "is too large a number",
}


class Misfit(msgspec.ValidationError):
    """Data that do not fit a type: ``path`` to what does not (``""`` for the whole), and the ``problem`` with it.

    ``field`` names a field of it that is missing or unknown. ``due`` says what kinds of values fit, where only the kind is
    wrong; ``is_optional`` that null does, too.
    """

    def __init__(self, path: str, problem: str, *, field: str = "", due: str = "", is_optional: bool = False) -> None:
        super().__init__(path, problem)
        self.path, self.problem, self.field, self.due, self.is_optional = path, problem, field, due, is_optional

    @classmethod
    def of(cls, error: msgspec.ValidationError) -> Self:
        """Return an error of msgspec in our words."""
        parts = _MESSAGE.fullmatch(str(error))
        text, path = (parts["text"], parts["path"] or "") if parts else (str(error), "")
        field, expected, value = _FIELD.fullmatch(text), _EXPECTED.fullmatch(text), _VALUE.fullmatch(text)
        if field:
            is_missing = field["problem"] == "missing required"
            problem = (
                f"is missing the field {field['name']!r}" if is_missing else f"has an unknown field {field['name']!r}"
            )
            return cls(path, problem, field=field["name"])
        key = "has a key that " if parts and parts["key"] else ""
        if expected:
            kinds = expected["due"].split(" | ")
            due = " or ".join(dict.fromkeys(_WORDS.get(kind, kind) for kind in kinds if kind != "null")) or "null"
            bound = expected["bound"].replace(" that's ", " that is ")
            got = "" if expected["got"] == f"`{expected['due']}`" else _got(expected["got"])
            return cls(path, f"{key}must be {due}{bound}{got}", due=due, is_optional="null" in kinds)
        return cls(path, key + (f"cannot be {value[1]}" if value else _SENTENCES.get(text, f"is not valid: {text}")))

    def __str__(self) -> str:
        """The path and the problem."""
        return f"{self.path} {self.problem}".lstrip()


def _got(got: str | None) -> str:
    """``, not text`` of a kind; ``, not of 3`` of a length."""
    if got is None:
        return ""
    kind = got.strip("`")
    words = "a decimal number" if kind == "float" else _WORDS.get(kind, kind)
    return f", not {words}" if got.startswith("`") else f", not of {got}"
