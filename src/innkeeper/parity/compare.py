"""Difference: where two JSON values disagree, and the readable form of it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

__all__ = ["Difference", "differences"]

_LONGEST: Final = 400
_MISSING: Final = "(missing)"


class Difference(msgspec.Struct, frozen=True):
    """One place (a path such as ``messages[3].content``) where ``found`` is not ``expected``."""

    path: str
    expected: Any
    found: Any

    def render(self) -> str:
        """A few lines: the path, then texts as a line diff and other values one over the other."""
        if isinstance(self.expected, str) and isinstance(self.found, str) and "\n" in self.expected + self.found:
            lines = difflib.unified_diff(
                self.expected.splitlines(), self.found.splitlines(), "expected", "found", lineterm="", n=2
            )
            return "\n".join([f"  {self.path}:", *("    " + line for line in list(lines)[2:40])])
        return f"  {self.path}:\n    - {_short(self.expected)}\n    + {_short(self.found)}"


def _short(value: Any) -> str:
    text = value if value == _MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " …"


def differences(expected: Any, found: Any, path: str = "") -> Iterator[Difference]:
    """Every place where two JSON values differ, by value; lists are compared element by element, in order."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in expected | found:
            below = f"{path}.{key}" if path else str(key)
            yield from differences(expected.get(key, _MISSING), found.get(key, _MISSING), below)
    elif isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        if len(expected) != len(found):
            yield Difference(f"{path}.length", len(expected), len(found))
        for index, (left, right) in enumerate(zip(expected, found, strict=False)):
            yield from differences(left, right, f"{path}[{index}]")
    elif not _equal(expected, found):
        yield Difference(path, expected, found)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b)
