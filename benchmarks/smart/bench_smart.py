"""The smart tavern against what its original takes for the same: constructing in a long chat, macros in one text.

The original's figures were measured on a machine of the kind this project is made on; it is not run here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from benchmarks.case import Case
from benchmarks.smart.inputs import HISTORY, VARIABLES, book
from innkeeper.macros.smart import MacroOptions, process_text
from innkeeper.prompt.determinism import Clock
from innkeeper.taverns import smart
from innkeeper.taverns.smart import SmartOptions, construct, construct_explained

ORIGINAL: Final = "the original"
MACROS: Final = "{{getvar:a}} and {{upper:b}}, "
TABLE: Final = {"a": "x"}


def cases() -> Iterator[Case]:
    """Construct with 10,000 messages and 2,000 entries; then the macros of one text; then a whole build."""
    options, size = SmartOptions(), "10,000 messages, 2,000 entries"
    python = book(lambda n: f"{{{{python:legacy_num(getvar('stat.hp'),0) >= {n % 60}}}}}")
    misses = book(lambda n: f"<<keywords:zyx{n},qwv{n}>>")
    hits = book(lambda n: f"<<keywords:fox,qwv{n}>>")
    for name, entries, seconds in (
        ("entries that are always in", book(), 0.04),
        ("python conditions", python, 0.23),
        ("keywords, none found", misses, 4.4),
        ("keywords, the first found", hits, 0.27),
        ("no entries", {}, 0.02),
    ):
        yield Case(name, _constructing(entries, options), published=seconds, against_name=ORIGINAL, note=size)
    told = _constructing(misses, options, construct_explained)
    yield Case("keywords, none found, explained", told, _constructing(misses, options), "unexplained", size)
    yield from _macro_cases()
    yield Case("a whole build", _building(misses), note=size)


def _macro_cases() -> Iterator[Case]:
    many, behind = MACROS * 2_000, "word " * 40_000 + MACROS * 250
    for name, text, seconds in (
        ("4,000 macros in one text", many, 7.3),
        ("500 macros behind 200 kB", behind, 31.0),
        ("one text without macros", "word " * 40_000, None),
    ):
        yield Case(name, _expanding(text), published=seconds, against_name=ORIGINAL, note=f"{len(text):,} characters")


def _constructing(entries: Any, options: SmartOptions, run: Callable[..., Any] = construct) -> Callable[[], object]:
    return lambda: run(HISTORY, [], entries, VARIABLES, options=options)


def _expanding(text: str) -> Callable[[], object]:
    options = MacroOptions(now=Clock.at("2026-01-15T12:34:56Z").now)
    return lambda: process_text(text, TABLE, options=options)


def _building(entries: Any) -> Callable[[], object]:
    return lambda: smart.build(history=HISTORY, lorebooks=[entries], now="2026-01-15T12:34:56Z")
