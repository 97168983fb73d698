"""Ports: everything a build is handed that is not data."""

import dataclasses
from typing import Any

import pytest

from innkeeper.prompt import (
    BuildRequest,
    Context,
    InMemoryInjections,
    NoConfig,
    Note,
    NoteKind,
    Pipeline,
    PipelineError,
    Ports,
    ScratchKey,
    State,
    Step,
    StrictModeError,
    TokenCounter,
    UsageError,
    Where,
)
from innkeeper.prompt.build import start
from tests.budget.doubles import Characters


def test_all_ports_are_optional() -> None:
    """Without ports a build has what the tavern gives it."""
    assert all(getattr(Ports(), field.name) is None for field in dataclasses.fields(Ports))


def test_ports_are_frozen_and_by_name() -> None:
    """Ports do not change during a build, and an unknown one is an error."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Ports().hooks = None  # type: ignore[misc]
    with pytest.raises(TypeError):
        Ports(nothing=1)  # type: ignore[call-arg]


def test_a_counter_needs_two_methods() -> None:
    """What counts tokens is any object with ``count`` and ``describe``."""
    counter: TokenCounter = Characters()
    assert Ports(token_counter=counter).token_counter is counter
    assert (counter.count("abc"), counter.describe()["exact"]) == (3, True)


Event = tuple[str, dict[str, Any]]


def _state(*, strict: bool = False, **ports: Any) -> State:
    state = start(BuildRequest(strict=strict, now="2026-01-01T00:00:00Z"), Ports(**ports))
    state.step = "lore"
    return state


def test_a_warning_is_recorded_then_told() -> None:
    """Order of tavernkit §2.3: recorded, then the instrumenter, then the handler."""
    told: list[str] = []
    state = _state(
        instrumenter=lambda event, **payload: told.append(f"{event} {payload['message']} {payload['step']}"),
        warning_handler=lambda note: told.append(f"handler {note.message}"),
    )
    state.warn("odd key", where=Where("book"), hint="mend it", data={"entry": 3})
    assert told == ["warning odd key lore", "handler odd key"]
    note = state.result.warnings[0]
    assert (note.kind, note.step, note.where, note.hint, note.data) == (
        "warning",
        "lore",
        Where("book"),
        "mend it",
        {"entry": 3},
    )


def test_strict_raises_after_recording() -> None:
    """In strict mode a warning is an error with the same place; it is still recorded, and the handler is not called."""
    called: list[Note] = []
    state = _state(strict=True, warning_handler=called.append)
    with pytest.raises(StrictModeError, match="odd key") as caught:
        state.warn("odd key", where=Where("book"))
    assert caught.value.where == Where("book")
    assert (len(state.result.warnings), called) == (1, [])


def test_a_note_never_raises() -> None:
    """Facts that are no fault of the data stay notes in strict mode."""
    state = _state(strict=True)
    state.note(NoteKind.ESTIMATE, "about 5", data={"tokens": 5})
    assert [str(note) for note in state.result.notes] == ["about 5"]
    assert state.result.warnings == []


def test_a_failing_filter_warns_the_state() -> None:
    """An injection's faulty filter becomes a warning of the step that asked."""
    state, registry = _state(), InMemoryInjections()
    registry.register(id="a", content="x", filter=lambda _state: 1 / 0 > 1)
    assert len(list(registry.active(state))) == 1
    assert state.result.warnings[0].step == "lore"


def test_costly_payloads_are_built_only_for_a_listener() -> None:
    """Without an instrumenter the lazy part is never called (2-wave4-contracts, *Debug Mode*)."""
    built: list[int] = []

    def lazy() -> dict[str, Any]:
        built.append(1)
        return {"value": 7}

    _state().instrument("stat", lazy, key="k")
    assert built == []
    events: list[Event] = []
    _state(instrumenter=lambda event, **payload: events.append((event, payload))).instrument("stat", lazy, key="k")
    assert events == [("stat", {"key": "k", "value": 7, "step": "lore"})]


def test_a_stat_carries_its_step() -> None:
    """One number of the current step."""
    events: list[Event] = []
    _state(instrumenter=lambda event, **payload: events.append((event, payload))).stat("plan_blocks", 3)
    assert events == [("stat", {"key": "plan_blocks", "value": 3, "step": "lore"})]


def test_reading_what_no_step_made_names_both_steps() -> None:
    """A wrong order of steps is a usage error, not a KeyError: it names the step that has not run, and the one that asked."""
    state, entries = _state(), ScratchKey[int]("entries")
    state.scratch["prepare"] = "made"
    assert state.scratch[ScratchKey[str]("prepare")] == "made"
    with pytest.raises(UsageError, match="the result of step 'entries' is needed"):
        state.scratch[entries]
    asks = Step("lore", lambda state, _: print(state.scratch[entries]), NoConfig)  # noqa: T201 - never
    with pytest.raises(PipelineError, match="'entries'") as caught:
        Pipeline(asks).run(state)
    assert caught.value.step == "lore"


def test_a_step_reads_how_others_are_configured() -> None:
    """A step that prepares something for a later one knows what that one will do."""
    seen: list[object] = []
    asks = Step("asks", lambda state, _: seen.append(state.configs["later"]), NoConfig)
    Pipeline(asks, Step("later", lambda _state, _config: None, NoConfig)).run(_state())
    assert seen == [NoConfig()]


def test_the_inputs_cannot_be_replaced() -> None:
    """The context stays for the whole build (1-vibetavern-pipeline, *Immutability*)."""
    state = _state()
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.inputs.context = Context({})  # type: ignore[misc]
    with pytest.raises(AttributeError):
        state.context = Context({})  # type: ignore[misc]
    assert state.context.type == "app"
