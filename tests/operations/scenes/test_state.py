"""The state of a scene: what is applied, what is not and why, and what people change by hand."""

from typing import Any

import pytest

from innkeeper.library.errors import FieldError
from innkeeper.operations.scenes.limits import MAX_FACTS
from innkeeper.operations.scenes.state import (
    Fact,
    FactOrigin,
    SceneState,
    StateChange,
    apply_changes,
    edited,
    read_state,
)
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import FormatError, LimitError


def fact(value: str, confidence: float = 0.9, **more: Any) -> Fact:
    """A fact that was extracted."""
    return Fact(value=value, confidence=confidence, origin=FactOrigin.EXTRACTOR, **more)


KITCHEN = SceneState(location=fact("kitchen"))


def test_only_what_is_sure_is_applied() -> None:
    """A change below the threshold leaves the state as it is, and is told with its reason."""
    done = apply_changes(
        KITCHEN, [StateChange("location", fact("street", 0.69)), StateChange("time", fact("dawn", 0.7))]
    )
    assert done.state.location == KITCHEN.location
    assert done.state.time == fact("dawn", 0.7)
    assert [one.reason for one in done.ignored] == ["below_threshold"]
    assert [one.field for one in done.applied] == ["time"]


@pytest.mark.parametrize(
    ("state", "change", "reason"),
    [
        (SceneState(location=fact("kitchen", pinned=True)), StateChange("location", fact("beach")), "pinned"),
        (KITCHEN, StateChange("location", fact("Kitchen")), "unchanged"),
        (KITCHEN, StateChange("time", fact("dawn"), gone=True), "unknown"),
        (SceneState(present=(fact("Tom", pinned=True),)), StateChange("present", fact("Tom"), gone=True), "pinned"),
        (SceneState(present=(fact("Tom"),)), StateChange("present", fact("tom")), "unchanged"),
        (KITCHEN, StateChange("props", fact("a cup"), gone=True), "unknown"),
        (
            SceneState(clothing={"Mira": fact("coat", pinned=True)}),
            StateChange("clothing", fact("hat"), "Mira"),
            "pinned",
        ),
        (SceneState(clothing={"Mira": fact("coat")}), StateChange("clothing", fact("coat"), "mira"), "unchanged"),
        (
            SceneState(clothing={"Mira": fact("coat")}),
            StateChange("clothing", fact("hat"), "Mira", gone=True),
            "unknown",
        ),
        (KITCHEN, StateChange("clothing", fact("hat"), "Mira", gone=True), "unknown"),
        (
            SceneState(props=tuple(fact(f"cup {n}") for n in range(MAX_FACTS))),
            StateChange("props", fact("jug")),
            "full",
        ),
        (
            SceneState(clothing={f"p{n}": fact("coat") for n in range(MAX_FACTS)}),
            StateChange("clothing", fact("hat"), "Mira"),
            "full",
        ),
    ],
)
def test_ignored(state: SceneState, change: StateChange, reason: str) -> None:
    """What is pinned, known, not there or too much changes nothing."""
    done = apply_changes(state, [change])
    assert done.state == state
    assert [one.reason for one in done.ignored] == [reason]


def test_clothes_come_and_go() -> None:
    """What is put on stands in place of what was worn; what is taken off is taken out of it."""
    state = apply_changes(SceneState(), [StateChange("clothing", fact("grey dress and red cloak"), "Mira")]).state
    assert state.worn_by("MIRA") == fact("grey dress and red cloak")
    state = apply_changes(state, [StateChange("clothing", fact("cloak"), "Mira", gone=True)]).state
    worn = state.worn_by("Mira")
    assert worn is not None
    assert worn.value == "grey dress"
    assert apply_changes(state, [StateChange("clothing", fact("the dress"), "Mira", gone=True)]).state.clothing == {}


def test_persons_and_things() -> None:
    """Who comes is there until they go; so it is with things."""
    state = apply_changes(SceneState(), [StateChange("present", fact("Tom")), StateChange("props", fact("cup"))]).state
    assert ([one.value for one in state.present], [one.value for one in state.props]) == (["Tom"], ["cup"])
    assert apply_changes(state, [StateChange("present", fact("Tom"), gone=True)]).state.present == ()
    assert apply_changes(KITCHEN, [StateChange("location", fact("kitchen"), gone=True)]).state.location is None


def test_edits() -> None:
    """A text, an object and null set, pin and forget; what is not named stays."""
    state = edited(
        KITCHEN,
        {
            "location": {"pinned": True},
            "time": "  at   dusk ",
            "present": ["Tom", {"value": "Mira", "pinned": True}],
            "props": ["cup"],
            "clothing": {"Mira": "grey dress", "Tom": "coat"},
        },
    )
    assert state.location == fact("kitchen", pinned=True)
    assert state.time == Fact(value="at dusk", origin=FactOrigin.USER)
    assert [(one.value, one.pinned) for one in state.present] == [("Tom", False), ("Mira", True)]
    again = edited(state, {"time": None, "present": None, "props": ["CUP"], "clothing": {"tom": None}})
    assert (again.time, again.present, list(again.clothing)) == (None, (), ["Mira"])
    assert edited(again, {"clothing": None}).clothing == {}
    assert read_state(state.to_dict()) == state


@pytest.mark.parametrize(
    ("edits", "error"),
    [
        ({"weather": "rain"}, FieldError),
        ({"location": 5}, FieldError),
        ({"location": ""}, FieldError),
        ({"location": {"value": "x", "sure": 1}}, FieldError),
        ({"location": {"value": "x", "pinned": "yes"}}, FieldError),
        ({"time": {"pinned": True}}, FieldError),
        ({"present": "Tom"}, FieldError),
        ({"clothing": ["coat"]}, FieldError),
        ({"location": "half \ud800"}, FieldError),
        ({"clothing": {"half \ud800": "coat"}}, FieldError),
        ({"location": "x" * 400}, LimitError),
        ({"props": [f"cup {n}" for n in range(MAX_FACTS + 1)]}, LimitError),
        ({"clothing": {f"p{n}": "coat" for n in range(MAX_FACTS + 1)}}, LimitError),
    ],
)
def test_edits_refused(edits: dict[str, Any], error: type[Exception]) -> None:
    """What is no edit is refused with a typed error."""
    with pytest.raises(error):
        edited(KITCHEN, edits)


def test_facts_are_checked() -> None:
    """A confidence is between 0 and 1; a stored state that is none is refused."""
    with pytest.raises(FieldError, match="between 0 and 1"):
        fact("x", 1.5)
    with pytest.raises(FormatError, match="cannot be read"):
        read_state(FrozenDict(location=5))
