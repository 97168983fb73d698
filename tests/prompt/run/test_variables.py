"""VariablesStore: in memory, staged, as JSON; and adding to a variable."""

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from innkeeper.prompt import FormatError, InMemoryVariables, InnkeeperError, LimitError, StagedVariables, UsageError
from innkeeper.prompt.run import variables as module
from innkeeper.prompt.run.variables import add_variable, number_of
from tests.prompt.doubles import ANY_TEXT, JSON, nested

NAMES = st.sampled_from("abcd")
SCOPES = st.sampled_from(["local", "global", "Local", "temp"])
VALUES = st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
STORED = st.dictionaries(st.sampled_from(["local", "global"]), st.dictionaries(ANY_TEXT, JSON, max_size=4), max_size=2)


class Overlay(RuleBasedStateMachine):
    """Staged variables beside a plain dict: the same answers at every moment, and the store unchanged until commit."""

    def __init__(self) -> None:
        super().__init__()
        self.store = InMemoryVariables({"local": {"a": 1, "z": [1]}})
        self.staged = StagedVariables(self.store)
        self.model: dict[tuple[str, str], Any] = {("local", "a"): 1, ("local", "z"): [1]}
        self.committed = dict(self.model)

    @rule(name=NAMES, scope=SCOPES, value=VALUES)
    def set(self, name: str, scope: str, value: Any) -> None:
        self.staged.set(name, value, scope)
        self.model[scope.lower(), name] = value

    @rule(name=NAMES, scope=SCOPES)
    def delete(self, name: str, scope: str) -> None:
        self.staged.delete(name, scope)
        self.model.pop((scope.lower(), name), None)

    @rule(name=NAMES, scope=SCOPES)
    def read(self, name: str, scope: str) -> None:
        assert self.staged.get(name, scope, "absent") == self.model.get((scope.lower(), name), "absent")
        assert self.staged.has(name, scope) == ((scope.lower(), name) in self.model)

    @rule(name=NAMES, value=st.integers())
    def change_in_place_what_was_read(self, name: str, value: int) -> None:
        for found in (self.staged.get(name), self.store.get(name)):
            if isinstance(found, list):
                found.append(value)

    @rule(name=NAMES, value=VALUES)
    def render_a_template_that_fails(self, name: str, value: Any) -> None:
        self.staged.stage().set(name, value)

    @rule(name=NAMES, value=VALUES)
    def render_a_template_that_works(self, name: str, value: Any) -> None:
        inner = self.staged.stage()
        inner.set(name, value)
        inner.commit()
        self.model["local", name] = value

    @rule()
    def commit(self) -> None:
        names = self.staged.names()
        self.staged.commit()
        self.committed = dict(self.model)
        assert self.store.names() == names
        assert self.staged.changes == {}

    @precondition(lambda self: self.model != self.committed)
    @rule()
    def fail(self) -> None:
        self.staged = StagedVariables(self.store)
        self.model = dict(self.committed)

    @invariant()
    def the_view_is_the_model(self) -> None:
        assert _flat(self.staged.to_dict()) == self.model
        assert set(self.staged.names("local")) == {name for scope, name in self.model if scope == "local"}

    @invariant()
    def the_store_is_what_was_committed(self) -> None:
        assert _flat(self.store.to_dict()) == self.committed


def _flat(scopes: dict[str, dict[str, Any]]) -> dict[tuple[str, str], Any]:
    return {(scope, name): value for scope, values in scopes.items() for name, value in values.items()}


TestOverlay = Overlay.TestCase


@given(STORED)
def test_a_store_reads_its_own_json(scopes: dict[str, dict[str, Any]]) -> None:
    """Any data in any names comes back equal, with names in their order; lone surrogates are gone when it goes in."""
    store = InMemoryVariables(scopes)
    twin = InMemoryVariables.from_json(store.to_json())
    assert twin.to_dict() == store.to_dict()
    assert twin.names() == store.names()


@given(st.binary(max_size=30) | st.text(max_size=30))
def test_any_text_is_a_store_or_a_typed_error(text: Any) -> None:
    """The reader raises nothing else."""
    try:
        store = InMemoryVariables.from_json(text)
    except InnkeeperError:
        return
    assert isinstance(store.to_dict(), dict)


@pytest.mark.parametrize("text", ["[]", "5", '{"local": 5}', '{"local": [1]}', "{", '{"local": {"a": NaN}}'])
def test_json_of_another_shape_is_a_format_error(text: str) -> None:
    """Variables are ``{scope: {name: value}}``; the error names its asset."""
    with pytest.raises(FormatError) as caught:
        InMemoryVariables.from_json(text, asset="chat.json")
    assert caught.value.where is not None
    assert caught.value.where.asset == "chat.json"


def test_endless_values_are_a_limit() -> None:
    """A value nested without end is a typed error, wherever it enters."""
    store = InMemoryVariables()
    for attempt in (
        lambda: InMemoryVariables.from_json('{"local":{"a":' + "[" * 100_000),
        lambda: InMemoryVariables({"local": {"a": nested(100_000)}}),
        lambda: store.set("a", nested(100_000)),
        lambda: StagedVariables(store).set("a", nested(100_000)),
    ):
        with pytest.raises(LimitError):
            attempt()


def test_what_is_not_data_cannot_be_stored_as_json() -> None:
    """A store may hold an object, but not write it."""
    store = InMemoryVariables()
    store.set("a", object())
    with pytest.raises(UsageError):
        store.to_json()


def test_scopes_are_lower_case_and_merge() -> None:
    """Two spellings of a scope are one; others than local and global are kept apart (tavernkit §6)."""
    store = InMemoryVariables({"Local": {"a": 1}, "LOCAL": {"b": 2}, "temp": {"c": 3}})
    assert store.to_dict() == {"local": {"a": 1, "b": 2}, "global": {}, "temp": {"c": 3}}
    assert store.get("a", "LOCAL") == 1
    assert store.get("c") is None


def test_the_version_grows_with_every_write() -> None:
    """Readers can cache on it."""
    for store in (InMemoryVariables(), StagedVariables(InMemoryVariables())):
        versions = [store.version]
        store.set("a", 1)
        versions.append(store.version)
        store.delete("a")
        versions.append(store.version)
        add_variable(store, "b", 1)
        versions.append(store.version)
        assert versions == sorted(set(versions))


def test_scopes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many names are a `LimitError`: in a store, in what it is made of, in one build's writes; overwriting is free."""
    monkeypatch.setattr(module, "MAX_VARIABLES", 2)
    store = InMemoryVariables({"local": {"a": 1, "b": 2}})
    staged = StagedVariables(InMemoryVariables())
    store.set("a", 3)
    staged.set("a", 1)
    staged.set("b", 1)
    for attempt in (
        lambda: store.set("c", 1),
        lambda: staged.set("c", 1),
        lambda: InMemoryVariables({"local": {"a": 1, "b": 2, "c": 3}}),
    ):
        with pytest.raises(LimitError, match="MAX_VARIABLES"):
            attempt()


def test_deleting_what_never_was_stages_nothing() -> None:
    """A template that deletes endless names does not grow the view."""
    staged = StagedVariables(InMemoryVariables({"local": {"a": 1}}))
    staged.delete("b")
    staged.set("c", 1)
    staged.delete("c")
    staged.delete("a")
    assert staged.changes == {"local": {"a": None}}


@dataclass(frozen=True)
class NumberCase:
    given: Any
    number: float | int | None


NUMBERS = [
    NumberCase(5, 5),
    NumberCase(2.5, 2.5),
    NumberCase("5", 5),
    NumberCase(" 5.0 ", 5),
    NumberCase("-.5e1", -5),
    NumberCase("2.5", 2.5),
    NumberCase("9007199254740993", 9007199254740992.0),
    NumberCase("1_000", None),
    NumberCase("١٢", None),
    NumberCase("0x1f", None),
    NumberCase("inf", None),
    NumberCase("1e999", None),
    NumberCase("", None),
    NumberCase("5 apples", None),
    NumberCase("1" * 50, None),
    NumberCase(True, None),
    NumberCase(math.nan, None),
    NumberCase(10**400, None),
    NumberCase(None, None),
    NumberCase([1], None),
]


@pytest.mark.parametrize("case", NUMBERS, ids=lambda case: repr(case.given)[:20])
def test_numbers_are_told_from_text(case: NumberCase) -> None:
    """Decimal digits in ASCII, as JavaScript reads them; whole numbers stay whole."""
    assert number_of(case.given) == case.number


@dataclass(frozen=True)
class AddCase:
    id: str
    before: Any
    value: Any
    after: Any


ADDED = [
    AddCase("absent", None, 5, 5),
    AddCase("numbers", 2, 3, 5),
    AddCase("numeric-text", "2", "3", 5),
    AddCase("fractions", "0.5", 1, 1.5),
    AddCase("text", "a", "b", "ab"),
    AddCase("number-and-text", 1, "b", "1b"),
    AddCase("true", True, 2, "true2"),
    AddCase("text-and-null", "a", None, "anull"),
    AddCase("object", {"a": "é"}, 2, '{"a":"é"}2'),
    AddCase("list-and-text", [1, "b"], "!", '[1,"b"]!'),
    AddCase("too-large", 1.7e308, 1.7e308, "1.7e+308" * 2),
]


@pytest.mark.parametrize("case", ADDED, ids=lambda case: case.id)
def test_adding_sums_numbers_and_appends_text(case: AddCase) -> None:
    """Missing is set, both numeric is summed, anything else is text (tavernkit §6, *VariablesStore*)."""
    store = InMemoryVariables({} if case.before is None else {"local": {"a": case.before}})
    assert store.add("a", case.value) == case.after
    assert store.get("a") == case.after


@given(JSON, JSON)
def test_adding_never_fails(before: Any, value: Any) -> None:
    """Any two values add up to something that can be stored."""
    store = InMemoryVariables({"local": {"a": before}})
    add_variable(store, "a", value)
    store.to_json()
