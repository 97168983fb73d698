"""Our own regular expressions: none takes quadratic time for a text that repeats itself, whatever it repeats.

Every expression that a module of Innkeeper holds is searched for in the same few characters, again and again, and in four times
as many: a search that starts at each character and goes on to the end takes sixteen times as long. Where all that a module does
with an expression is to match it at one place, nothing is searched for.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
import regex

import innkeeper
from innkeeper.gate.words.patterns import gate_pattern, pattern_names

REPEATED = (
    *("a", "A", "1", "é", "中", " ", "\n", "\t", "\r\n", ".", ",", "-", "_", "*", "\\", "[", "]", "(", ")", "{", "}"),
    *("{{", "}}", "<", "</", "<a ", "<!--", "<%", ">", '"', "'", "`", "```", "#", "@", "/", "//", "|", "::", ":", ";"),
    *("=", "&", "&a", "%", "%4", "$", "${", "~", "!", "?", "+", "^", "a ", "a.", "a-", "a_", "a1", "1.", "1,", "1 "),
    *("a*", "1a", "ab ", "[[", "\\[", "\\(", "{#", "aa plus ", " a b", "\u200b"),
)
FEW, MANY, INSTANT = 300, 1_200, 0.0005
ENDS = ("", "\x01")
"""What comes last: nothing, or what nobody looks for."""

KNOWN = {
    "innkeeper.operations.tasks.turn_writers._SENTENCE": "reads the last eight characters",
    "gate_pattern.article_before": "reads as many characters as `_LOOKED_AT` says",
    "gate_pattern.sentence_end": "is matched at one place",
    "gate_pattern.verb": "is matched at one place",
    "gate_pattern.sentence_start": "reads as many characters as `_LOOKED_AT` says",
    "innkeeper.macros.handlebars.tree._STARTS_LINE": "is matched where a text begins",
    "innkeeper.macros.handlebars.tree._STARTS_LINE_OR_END": "is matched where a text begins",
    "innkeeper.taverns.silly.lines.typed._TAG": "the text that is looked at ends where a tag does",
    "innkeeper.library.templates.postprocessing._BLOCK": "the text that is looked at never ends in blanks",
}
"""Expressions that are slow for a text that they never get."""


def held(module: Any) -> Iterator[tuple[str, Any]]:
    """The expressions of a module, by name; a collection's by the collection's."""
    for name, value in vars(module).items():
        values = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else (value,)
        yield from ((name, one) for one in values if isinstance(one, (re.Pattern, regex.Pattern)))


def searched() -> dict[str, Any]:
    """Every expression of ours that is searched for, once."""
    found: dict[tuple[str, int], tuple[str, Any]] = {}
    for each in pkgutil.walk_packages(innkeeper.__path__, "innkeeper."):
        if each.name.endswith("__main__"):
            continue
        module = importlib.import_module(each.name)
        for name, pattern in held(module):
            uses = re.findall(rf"\b{name}\b(?!: Final)(\.\w+)?", inspect.getsource(module))
            if not set(uses) <= {".match", ".fullmatch"}:
                found.setdefault((pattern.pattern, pattern.flags), (f"{each.name}.{name}", pattern))
    patterns = {f"gate_pattern.{name}": gate_pattern(name) for name in pattern_names()}
    return {**dict(found.values()), **patterns}


def seconds(pattern: Any, text: str, runs: int = 3) -> float:
    """The least time that searching a text to its end took."""

    def once() -> float:
        given = text.encode() if isinstance(pattern.pattern, bytes) else text
        start = time.thread_time()
        for _ in pattern.finditer(given):
            pass
        return time.thread_time() - start

    return min(once() for _ in range(runs))


def is_quadratic(pattern: Any, text: str, end: str) -> bool:
    """Whether four times the text takes more than eight times as long; what is done in an instant is not looked at."""
    many, few = text + end, text[: len(text) * FEW // MANY] + end
    return seconds(pattern, many, 1) > INSTANT and all(
        seconds(pattern, many) > 8 * seconds(pattern, few) for _ in range(3)
    )


def slow(pattern: Any) -> list[str]:
    """What it is quadratic for."""
    return [unit for unit in REPEATED if any(is_quadratic(pattern, unit * (MANY // len(unit)), end) for end in ENDS)]


def test_none_is_quadratic() -> None:
    """No text that repeats itself is slow to search."""
    found = searched()
    assert len(found) > 150
    assert {name: units for name, pattern in found.items() if name not in KNOWN and (units := slow(pattern))} == {}


@pytest.mark.parametrize(
    ("pattern", "unit"),
    [
        (r"[\s.;,:]+$", " "),
        (r"([a-z]+(?:[ -][a-z]+)?) (plus|minus) ([a-z]+)", "a"),
        (r"\\.|\[(?:\\.|[^\]\\])*\]", "["),
        (r"\{\{.*?\}\}", "{{"),
    ],
)
def test_a_slow_one_is_found(pattern: str, unit: str) -> None:
    """Each was in use once, and was mended."""
    assert unit in slow(re.compile(pattern))
