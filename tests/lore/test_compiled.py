"""CompiledLore: decorators, the order entries are tried in, and keys made ready."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.lore.compiled import (
    ACTIVATE,
    SUPPRESS,
    LoreScope,
    ScopedBook,
    compile_lore,
    descending,
    key_tests,
    split_decorators,
)
from innkeeper.lore.settings import InsertionStrategy, LoreSettings
from tests.lore.books import book, entry


@dataclass(frozen=True)
class Case:
    """A content, the decorators that act, and the text that is left."""

    content: str
    decorators: tuple[str, ...]
    text: str


CASES = (
    Case("plain", (), "plain"),
    Case("@@activate\ntext", (ACTIVATE,), "text"),
    Case("@@activate\n@@dont_activate\ntext", (ACTIVATE, SUPPRESS), "text"),
    Case("@@unknown\ntext", (), "text"),
    Case("@@activated\ntext", (), "text"),
    Case("@@unknown\n@@@activate\ntext", (ACTIVATE,), "text"),
    Case("@@@activate\ntext", (), "text"),
    Case("@@activate\n@@@dont_activate\ntext", (ACTIVATE,), "text"),
    Case("@@activate", (ACTIVATE,), "@@activate"),
    Case(" @@activate\ntext", (), " @@activate\ntext"),
    Case("@@activate\n\n@@dont_activate\ntext", (ACTIVATE,), "\n@@dont_activate\ntext"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.content))
def test_decorators(case: Case) -> None:
    """Lines of ``@@`` at the head are cut; an exact known one acts, and ``@@@`` only stands in for an unknown one."""
    assert split_decorators(case.content) == (frozenset(case.decorators), case.text)


@given(st.lists(st.sampled_from(["@@activate", "@@dont_activate", "@@x", "@@@activate", "a", ""]), max_size=6))
def test_what_is_left_is_the_end_of_the_content(lines: list[str]) -> None:
    """Cutting decorators leaves an unchanged end of the content, and text without them stays whole."""
    content = "\n".join(lines)
    decorators, text = split_decorators(content)
    assert content.endswith(text)
    assert decorators <= {ACTIVATE, SUPPRESS}
    assert content.startswith("@@") or text == content


def books() -> list[ScopedBook]:
    """A book in each scope with orders 1 and 3, or 2 and 4, and uids that say the scope."""
    orders = {LoreScope.GLOBAL: (1, 3), LoreScope.CHARACTER: (2, 4), LoreScope.PERSONA: (1, 2), LoreScope.CHAT: (2, 1)}
    return [
        ScopedBook(scope, scope, book(*(entry(number, "k", order=order) for number, order in enumerate(pair))))
        for scope, pair in orders.items()
    ]


@dataclass(frozen=True)
class Order:
    """A strategy, and the entries of character and world in the order they are tried."""

    strategy: InsertionStrategy
    keys: tuple[str, ...]


ORDERS = (
    Order(InsertionStrategy.EVENLY, ("character.1", "global.1", "character.0", "global.0")),
    Order(InsertionStrategy.CHARACTER_FIRST, ("character.1", "character.0", "global.1", "global.0")),
    Order(InsertionStrategy.GLOBAL_FIRST, ("global.1", "global.0", "character.1", "character.0")),
)


@pytest.mark.parametrize("case", ORDERS, ids=lambda case: case.strategy.name)
def test_order(case: Order) -> None:
    """Chat comes first, then persona, then character and world as the strategy says; orders descend in each."""
    lore = compile_lore(books(), LoreSettings(character_strategy=case.strategy))
    assert [item.key for item in lore.entries] == ["chat.0", "chat.1", "persona.1", "persona.0", *case.keys]
    assert [item.place for item in lore.entries] == list(range(len(lore.entries)))


def test_the_same_content_is_compiled_once() -> None:
    """Equal books under equal settings share their compiled form; settings that matter to keys do not."""
    first = compile_lore(books(), LoreSettings())
    assert compile_lore(books(), LoreSettings(depth=7)) is first
    assert compile_lore(books(), LoreSettings(case_sensitive=True)) is not first


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
    assert lore.always == (() if case.pattern else (0,))


def test_keys_after_macros() -> None:
    """Without an index plain keys stay texts, braces are only text, and empty keys are left out."""
    tests = key_tests(["", " ferry ", "{{char}}", "/f/i"], exact_case=False, whole_words=True)
    assert [(test.text, test.number, test.regex is not None) for test in tests] == [
        ("ferry", None, False),
        ("{{char}}", None, False),
        ("/f/i", None, True),
    ]


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


@pytest.mark.parametrize("content", ["@@activate", "@@activate\n@@dont_activate", "@@unknown\n@@@activate"])
def test_decorators_alone(content: str) -> None:
    """An entry that is nothing but decorators keeps them as its text, and they act."""
    decorators, text = split_decorators(content)
    assert ACTIVATE in decorators
    assert text == content


@dataclass(frozen=True)
class Orders:
    """Orders as entries have them (``...`` is none at all), and the places they are sorted to."""

    orders: tuple[Any, ...]
    sorted: list[int]


SORTED = (
    Orders((50, 100, 70), [1, 2, 0]),
    Orders((None, 150, -10), [1, 0, 2]),
    Orders(("70", 150, ""), [1, 0, 2]),
    Orders((..., 100, ..., 50, ..., ..., 100), [0, 1, 2, 6, 3, 4, 5]),
    Orders(("abc", 50, 100, -10, None, "abc", 50), [0, 2, 1, 6, 4, 3, 5]),
)


@pytest.mark.parametrize("case", SORTED, ids=lambda case: str(case.orders))
def test_entries_without_an_order(case: Orders) -> None:
    """They compare equal to all others; null and blank count as 0 (measured on SillyTavern 1.19)."""
    entries = [entry(uid) | {"order": order} for uid, order in enumerate(case.orders)]
    listed = [{key: value for key, value in item.items() if value is not ...} for item in entries]
    found = descending(book(*listed).entries, lambda item: item)
    assert [item.id for item in found] == case.sorted
