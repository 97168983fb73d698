"""KeySearch: which keys are in what an entry looks through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.lore import CompiledLore, LoreScope, LoreSettings, ScanSources, ScopedBook, compile_lore
from innkeeper.lore.keys import KeySearch
from innkeeper.lore.matcher import ScanText, ScanWindow
from tests.lore.books import book, entry

MESSAGES = ("the gate is open", "a bell rings", "the Gatekeeper sleeps")


def search(
    *entries: dict[str, Any], substitute: Callable[[str], str] = str, **settings: Any
) -> tuple[KeySearch, CompiledLore]:
    """A search over three messages, newest first."""
    chosen = LoreSettings(**{"depth": 3, **settings})
    lore = compile_lore([ScopedBook("B", LoreScope.GLOBAL, book(*entries))], chosen)
    sources = ScanSources(texts={"scenario": "a quiet harbour"})
    keys = KeySearch(lore, ScanText(MESSAGES, sources), chosen, substitute, lambda _what, _why: None)
    keys.begin(recursion=True)
    return keys, lore


@dataclass(frozen=True)
class Case:
    """An entry with one key, and whether the key is in its window."""

    id: str
    key: str
    matches: bool
    fields: dict[str, Any]


CASES = (
    Case("plain", "bell", True, {}),
    Case("nowhere", "harp", False, {}),
    Case("whole-word", "gate", True, {"matchWholeWords": True}),
    Case("not-a-whole-word", "gatekeep", False, {"matchWholeWords": True}),
    Case("case-counts", "gatekeeper", False, {"caseSensitive": True}),
    Case("regex", "/b.ll rings/", True, {}),
    Case("own-depth", "gatekeeper", False, {"scanDepth": 2}),
    Case("source-not-asked-for", "harbour", False, {}),
    Case("source", "harbour", True, {"matchScenario": True}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_key_is_searched_in_what_its_entry_looks_through(case: Case) -> None:
    """Depth, sources, case and word borders are the entry's own where it says so."""
    keys, lore = search(entry(1, case.key, **case.fields))
    one = lore.entries[0]
    (test,) = one.primary
    assert keys.has(test, one, keys.window(one)) is case.matches


def test_macros_in_keys_are_expanded_anew() -> None:
    """A key with a macro is searched for as the macro's text of the moment; other keys are not asked about."""
    values = iter(("flute", "bell"))
    keys, lore = search(entry(1, "{{what}}", "drum"), substitute=lambda text: text.replace("{{what}}", next(values)))
    one = lore.entries[0]
    assert [keys.has(one.primary[index], one, keys.window(one)) for index in (0, 1, 0)] == [False, False, True]


def test_a_window_grows_with_the_skew_unless_the_entry_has_its_own_depth() -> None:
    """Passes for minimum activations look further back, and not at recursion text; an entry's own depth stays."""
    keys, lore = search(entry(1, "a"), entry(2, "a", scanDepth=1), depth=2)
    keys.skew += 1
    keys.begin(recursion=False)
    assert [keys.window(one) for one in lore.entries] == [ScanWindow(3), ScanWindow(1)]


def test_a_find_is_located_in_words_and_span() -> None:
    """The first part that holds the key, counted from the newest message, and the characters in it."""
    keys, lore = search(entry(1, "bell"))
    one = lore.entries[0]
    assert keys.locate("bell", one, keys.window(one)) == ("message 2 from the end", (2, 6))
    assert keys.locate("/b.ll/", one, keys.window(one)) == ("the scanned text", None)


@pytest.mark.parametrize(
    ("keys", "score"),
    [
        (("gate", "bell"), 2),
        (("gate", ""), 2),
        ((" gate ",), 1),
        (("gate is ",), 1),
        (("bell ",), 1),
        (("rings ",), 0),
        (("{{char}}",), 0),
        (("rings\n",), 1),
    ],
)
def test_keys_score_as_they_are_written(keys: tuple[str, ...], score: int) -> None:
    """Blanks and macros count as they stand, and an empty key always matches (measured on SillyTavern 1.19)."""
    found, lore = search(entry(1, *keys), substitute=lambda text: text.replace("{{char}}", "bell"))
    assert found.score(lore.entries[0]) == score
