"""CompiledLore: entries in their order, made ready when they are asked for, and what finds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from innkeeper.lore.compiled import CompiledLore, compile_lore
from innkeeper.lore.order import LoreScope, ScopedBook
from innkeeper.lore.settings import LoreSettings
from tests.lore.books import book, entry, scoped_books


def test_the_same_content_is_compiled_once() -> None:
    """Equal books under equal settings share their compiled form; settings that matter to keys do not."""
    first = compile_lore(scoped_books(), LoreSettings())
    assert compile_lore(scoped_books(), LoreSettings(depth=7)) is first
    assert compile_lore(scoped_books(), LoreSettings(case_sensitive=True)) is not first


def test_entries_are_made_ready_once() -> None:
    """An entry is the same however often it is asked for, and each says where in the order it stands."""
    lore = compile_lore(scoped_books(), LoreSettings(use_group_scoring=True))
    assert lore.entries[3] is lore.entries[3]
    assert [item.index for item in lore.entries] == list(range(len(lore.entries)))
    assert lore.indices(["persona.0", "nobody.7"]) == [lore.entries[3].index]


@pytest.mark.parametrize("secondary", [[], ["inn"], ["/in+/"], ["{{char}}"]], ids=repr)
def test_entries_are_found_by_their_primary_keys(secondary: list[str]) -> None:
    """Whatever the other keys are, each primary key leads to the entry, and no other does."""
    fields = {"keysecondary": secondary}
    lore = compile_lore([ScopedBook("B", LoreScope.GLOBAL, book(entry(1, "ferry", "toll", **fields)))], LoreSettings())
    (found,) = lore.entries
    numbers = {test.number for test in found.primary}
    assert lore.by_pattern == {number: [0] for number in numbers}
    assert all(test.number not in numbers for test in found.secondary)


@dataclass(frozen=True)
class Key:
    """A key, and whether it becomes a pattern, a regular expression, or waits for its macros."""

    text: str
    pattern: bool = False
    regex: bool = False
    macro: bool = False


KEYS = (
    Key("ferry", pattern=True),
    Key("/fer+y/", regex=True),
    Key("/(/", pattern=True),
    Key("{{char}}", macro=True),
    Key("/{{char}}/", macro=True),
    Key("<user>", macro=True),
    Key("/a\\w<b/", regex=True),
)


@pytest.mark.parametrize("case", KEYS, ids=lambda case: case.text)
def test_keys_of_an_entry(case: Key) -> None:
    """A key is tried by the index unless it is a regular expression to JavaScript, or holds a macro."""
    lore = compile_lore([ScopedBook("B", LoreScope.GLOBAL, book(entry(1, case.text)))], LoreSettings())
    (found,) = lore.entries
    (test,) = found.primary
    assert (test.number is not None, test.regex is not None, test.macro) == (case.pattern, case.regex, case.macro)
    assert lore.always == ([] if case.pattern else [0])


@dataclass(frozen=True)
class Free:
    """Fields of an entry, and whether only its keys decide about it."""

    name: str
    fields: dict[str, Any]
    free: bool = False


FREE = (
    Free("keys only", {}, free=True),
    Free("switched off", {"disable": True}),
    Free("constant", {"constant": True}),
    Free("delayed", {"delay": 3}),
    Free("only in recursion", {"delayUntilRecursion": True}),
    Free("never in recursion", {"excludeRecursion": True}),
    Free("decorated", {"content": "@@activate\ntext"}),
)


@pytest.mark.parametrize("case", FREE, ids=lambda case: case.name)
def test_free_entries(case: Free) -> None:
    """An entry is free when no switch, timer, recursion rule or decorator has a say."""
    lore = compile_lore([ScopedBook("B", LoreScope.GLOBAL, book(entry(1, "k", **case.fields)))], LoreSettings())
    assert lore.entries[0].free is case.free


@pytest.mark.parametrize(
    ("fields", "shared"),
    [
        ({"content": "Another text."}, True),
        ({"comment": "Another title"}, True),
        ({"disable": True}, True),
        ({"content": "@@activate\nAnother text."}, False),
        ({"key": ["ferry", "boat"]}, False),
        ({"constant": True}, False),
        ({"sticky": 3}, False),
        ({"scanDepth": 9}, False),
        ({"caseSensitive": True}, False),
    ],
    ids=repr,
)
def test_a_book_with_an_edited_entry_is_compiled_from_what_there_is(fields: dict[str, Any], shared: bool) -> None:
    """Where nothing of an edit concerns how entries are found, their index stays; either way all is as if made anew."""
    settings = LoreSettings()
    kept = [entry(number, f"key{number}", "/to+ll/i", comment=repr(fields)) for number in range(5)]  # a book of its own
    before = compile_lore([ScopedBook("B", LoreScope.GLOBAL, book(*kept, entry(9, "ferry", "/fer+y/")))], settings)
    verdicts = dict.fromkeys(range(6), (1, 1, None))
    before.unmatched.update(verdicts)  # type: ignore[arg-type]  # their places are all that is looked at
    edited = book(*kept, entry(9, "ferry", "/fer+y/", **fields))
    edited = msgspec.structs.replace(
        edited, entries=(*(item.entry for item in before.entries if item.uid != 9), edited.entries[-1])
    )
    after = compile_lore([ScopedBook("B", LoreScope.GLOBAL, edited)], settings)
    fresh = CompiledLore([(item.book, item.entry) for item in after.entries], settings)
    assert (after.index is before.index) is shared
    for name in ("by_pattern", "always", "timed", "waiting", "deepest", "levels"):
        assert getattr(after, name) == getattr(fresh, name)
    assert [msgspec.structs.astuple(one) for one in after.entries] == [
        msgspec.structs.astuple(one) for one in fresh.entries
    ]
    assert after.index.patterns == fresh.index.patterns
    changed = next(item.index for item in after.entries if item.uid == 9)
    assert after.unmatched.keys() == (verdicts.keys() - {changed} if shared else set())
