"""Injections and their registry (2-wave4-contracts, *InjectionRegistry Contract*)."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import (
    FormatError,
    HookContext,
    Injection,
    InjectionPosition,
    InMemoryHooks,
    InMemoryInjections,
    InnkeeperError,
    UnknownNameError,
    UsageError,
)
from innkeeper.prompt.run.extensions import DEFAULT_DEPTH, active_injections
from tests.prompt.doubles import JSON, objects


@dataclass(frozen=True)
class PositionCase:
    given: Any
    position: InjectionPosition


POSITIONS = [
    *(PositionCase(position.value, position) for position in InjectionPosition),
    PositionCase("before_prompt", InjectionPosition.BEFORE),
    PositionCase("in_prompt", InjectionPosition.AFTER),
    PositionCase(" In_Chat ", InjectionPosition.CHAT),
    PositionCase(-1, InjectionPosition.NONE),
    PositionCase(0, InjectionPosition.AFTER),
    PositionCase(1, InjectionPosition.CHAT),
    PositionCase("2", InjectionPosition.BEFORE),
]


@pytest.mark.parametrize("case", POSITIONS, ids=lambda case: repr(case.given))
def test_positions_are_read_by_name_alias_and_number(case: PositionCase) -> None:
    """The table *Position mapping*, with aliases and SillyTavern's numbers."""
    assert InjectionPosition.of(case.given) is case.position
    assert Injection.of({"id": "a", "content": "x", "position": case.given}).position is case.position


@pytest.mark.parametrize("value", ["nowhere", 3, True, None, 10**5000, [], {}], ids=lambda value: type(value).__name__)
def test_other_positions_are_unknown_names(value: Any) -> None:
    """The error lists the positions."""
    with pytest.raises(UnknownNameError, match="unknown injection position"):
        InjectionPosition.of(value)


def test_defaults_are_those_of_the_contract() -> None:
    """After the main prompt, system, depth 4, neither scanned nor ephemeral."""
    injection = Injection.of({"id": "a", "content": "x"})
    assert injection == Injection(
        "a", "x", InjectionPosition.AFTER, "system", DEFAULT_DEPTH, scan=False, ephemeral=False
    )
    assert DEFAULT_DEPTH == 4
    assert Injection.of(injection) is injection


@pytest.mark.parametrize(
    "fields",
    [5, {}, {"id": "a"}, {"id": "", "content": "x"}, {"id": "a", "content": "x", "depth": -1}, {"id": "a", "content": 5},
     {"id": "a", "content": "x", "depth": "deep"}],
    ids=repr,
)  # fmt: skip
def test_a_bad_injection_is_a_format_error(fields: Any) -> None:
    """Missing fields, wrong types and negative depths are named."""
    with pytest.raises(FormatError, match="injection"):
        Injection.of(fields)


def test_a_role_is_one_of_three_in_any_case() -> None:
    """An injection that no tavern could place is refused where it is made."""
    assert Injection.of({"id": "a", "content": "x", "role": " USER"}).role == "user"
    with pytest.raises(UnknownNameError, match="role"):
        Injection.of({"id": "a", "content": "x", "role": "zzz"})
    with pytest.raises(UnknownNameError, match="role"):
        InMemoryInjections().register(id="a", content="x", role="tool")


def test_numbers_may_be_written_as_text_outside() -> None:
    """Saved chats spell depths and flags as text; an application's own call may not."""
    assert Injection.of({"id": "a", "content": "x", "depth": "2", "scan": "true"}).depth == 2
    with pytest.raises(UsageError):
        InMemoryInjections().register(id="a", content="x", depth="2")


@given(objects("id", "content", "position", "role", "depth", "scan", "ephemeral") | JSON)
def test_any_json_is_an_injection_or_a_typed_error(value: Any) -> None:
    """No JSON value raises anything else; what is read can be sent."""
    try:
        injection = Injection.of(value)
    except InnkeeperError:
        return
    injection.content.encode()
    assert injection.id
    assert injection.depth >= 0


def test_the_same_id_replaces() -> None:
    """*Idempotency*: no duplicates."""
    registry = InMemoryInjections()
    registry.register(id="a", content="one")
    registry.register(id="a", content="two", position="chat", depth=0)
    assert [(i.content, i.position, i.depth) for i in registry] == [("two", InjectionPosition.CHAT, 0)]


@given(st.lists(st.text(min_size=1, max_size=4), unique=True, max_size=8))
def test_iteration_is_in_id_order(ids: list[str]) -> None:
    """*Ordering*: lexicographic by id, in whatever order they came."""
    registry = InMemoryInjections()
    for name in ids:
        registry.register(id=name, content="x")
    assert [injection.id for injection in registry] == sorted(ids)
    assert [injection.id for injection in registry.active(None)] == sorted(ids)


def test_removing_and_removing_again() -> None:
    """Removing what is absent is no error."""
    registry = InMemoryInjections()
    registry.register(id="a", content="x")
    registry.remove("a")
    registry.remove("a")
    assert list(registry) == []


def test_the_registry_never_removes_ephemeral_entries_itself() -> None:
    """*Ephemeral lifecycle*: the application is told the ids and removes them."""
    registry = InMemoryInjections()
    registry.register(id="b", content="x", ephemeral=True)
    registry.register(id="a", content="x")
    assert registry.ephemeral_ids() == ("b",)
    assert len(list(registry.active(None))) == 2


def test_a_filter_decides_each_time() -> None:
    """A filter is asked with the build's state."""
    registry = InMemoryInjections()
    registry.register(id="a", content="x", filter=lambda state: state.turn % 2 == 0)
    assert [len(list(registry.active(SimpleNamespace(turn=turn)))) for turn in (1, 2)] == [0, 1]


def test_a_filter_that_fails_is_active_and_reported() -> None:
    """An application's faulty filter costs no text: a warning is recorded (tavernkit §17.3)."""
    registry, warned = InMemoryInjections(), list[str]()
    registry.register(id="a", content="x", filter=lambda state: state.nothing)
    assert [i.id for i in registry.active(SimpleNamespace(warn=warned.append))] == ["a"]
    assert "injection 'a': its filter failed (AttributeError" in warned[0]
    assert [i.id for i in registry.active(None)] == ["a"]


@pytest.mark.parametrize(
    "fields",
    [{"colour": 1}, {"filter": 5}, {"depth": -1}, {"role": 5}, {"content": 5}, {"id": ""}, {"id": 5}],
    ids=lambda fields: next(iter(fields)),
)
def test_registering_checks_its_options(fields: dict[str, Any]) -> None:
    """A programmer's mistake raises at once, and registers nothing."""
    registry = InMemoryInjections()
    with pytest.raises(UsageError):
        registry.register(**{"id": "a", "content": "x", **fields})
    assert list(registry) == []


def test_saved_injections_of_sillytavern_are_read() -> None:
    """Numbers for positions and roles become names; filters, which are JavaScript, are not run (tavernkit §17.3)."""
    saved = {
        "b": {"value": "B", "position": 1, "depth": 2, "role": 1, "scan": True, "filter": "() => false"},
        "a": {"value": None, "position": -1, "depth": None, "role": 2},
    }
    assert list(InMemoryInjections.from_st_json(saved)) == [
        Injection("a", "", InjectionPosition.NONE, "assistant"),
        Injection("b", "B", InjectionPosition.CHAT, "user", 2, scan=True),
    ]


BAD = {
    "no_mapping": 3,
    "text": {"value": 3},
    "position": {"value": "x", "position": 99},
    "role": {"value": "x", "role": "zzz"},
    "depth": {"value": "x", "depth": -4},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_saved_injection_is_left_out(bad: Any) -> None:
    """The others are read; the error of the bad one names it."""
    registry = InMemoryInjections.from_st_json({"bad": bad, "good": {"value": "G"}})
    assert [injection.id for injection in registry] == ["good"]
    (error,) = registry.refused
    assert error.where is not None
    assert (error.where.asset, error.where.path) == ("injections", "bad")


class Documented:
    """A registry with the methods of the document."""

    def each(self) -> list[Any]:
        return [{"id": "b", "content": "B", "position": "chat", "role": "USER"}, Injection("a", "A")]


def test_a_registry_of_the_document_serves() -> None:
    """One without ``active`` is asked for each of its injections; those that are mappings are read; nothing is none."""
    found = [(item.id, item.role) for item in active_injections(Documented(), None)]
    assert found == [("a", "system"), ("b", "user")]
    assert active_injections(None, None) == []


@given(st.dictionaries(st.text(max_size=3), objects("value", "position", "depth", "role"), max_size=3) | JSON)
def test_any_saved_injections_are_read_or_a_typed_error(value: Any) -> None:
    """No JSON value raises anything else."""
    try:
        registry = InMemoryInjections.from_st_json(value)
    except InnkeeperError:
        return
    assert all(isinstance(injection, Injection) for injection in registry)


def _context(*, after: bool = False, warned: list[str] | None = None) -> HookContext:
    fields = {"character": "Sera", "history": (), "plan": None}
    sink: list[str] = [] if warned is None else warned
    return HookContext(fields, sink.append, after=after)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_hooks_run_in_the_order_they_were_registered(after: bool) -> None:
    """First registered, first run; the two lists are apart (*Execution order*)."""
    hooks, ran = InMemoryHooks(), list[str]()
    for name in ("a", "b", "c"):
        hooks.before_build(lambda _context, name=name: ran.append("before " + name))  # type: ignore[misc]
        hooks.after_build(lambda _context, name=name: ran.append("after " + name))  # type: ignore[misc]
    run, word = (hooks.run_after_build, "after") if after else (hooks.run_before_build, "before")
    run(_context(after=after))
    assert ran == [f"{word} {name}" for name in ("a", "b", "c")]


def test_registering_works_as_a_decorator() -> None:
    """The hook is returned as it is."""
    hooks = InMemoryHooks()

    @hooks.before_build
    def rename(context: HookContext) -> None:
        context.character = "Vera"

    context = _context()
    hooks.run_before_build(context)
    assert context.character == "Vera"
    assert rename.__name__ == "rename"


@pytest.mark.parametrize("name", ["character", "user", "preset", "history", "user_message", "macro_vars"])
def test_a_before_hook_may_replace_six_inputs(name: str) -> None:
    """Exactly the inputs of the contract; what was replaced can be asked for."""
    original = {"character": "Sera"}
    context = HookContext(dict(original), print)
    setattr(context, name, "new")
    assert getattr(context, name) == "new"
    assert context.changed(original) == {name: "new"}


@pytest.mark.parametrize(("after", "name"), [(False, "plan"), (False, "blocks"), (True, "character"), (True, "blocks")])
def test_anything_else_is_refused(after: bool, name: str) -> None:
    """A before hook has no plan and no blocks; an after hook sets only the plan. The error says what may be set."""
    with pytest.raises(UsageError, match=f"may not set '{name}'") as caught:
        setattr(_context(after=after), name, 1)
    assert ("plan" in (caught.value.hint or "")) is after


def test_an_after_hook_may_replace_the_plan() -> None:
    """And nothing is reported as changed that was not."""
    context = _context(after=True)
    assert context.changed({"character": "Sera", "history": (), "plan": None}) == {}
    context.plan = "new"
    assert context.changed({"plan": None, "character": "Sera", "history": ()}) == {"plan": "new"}


def test_a_hook_can_warn() -> None:
    """Recoverable trouble goes through ``warn``, not through an exception."""
    warned: list[str] = []
    _context(warned=warned).warn("odd")
    assert warned == ["odd"]


def test_reading_what_is_not_there_is_an_attribute_error() -> None:
    """Like any object."""
    with pytest.raises(AttributeError):
        _ = _context().nothing


def test_a_hook_must_be_callable() -> None:
    """Checked when it is registered."""
    for register in (InMemoryHooks().before_build, InMemoryHooks().after_build):
        with pytest.raises(UsageError, match="must be callable"):
            register(5)  # type: ignore[arg-type]


def test_a_hooks_own_exception_is_not_swallowed() -> None:
    """The step that runs the hooks fails with it."""

    def broken(_context: Any) -> None:
        raise ZeroDivisionError

    hooks = InMemoryHooks()
    hooks.before_build(broken)
    with pytest.raises(ZeroDivisionError):
        hooks.run_before_build(_context())
