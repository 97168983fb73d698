"""What a message tells of a scene: by rules, from what is told rather than said."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.operations.scenes.limits import MAX_ACTIONS, MAX_SCENE_CHARS
from innkeeper.operations.scenes.reading import Kind, Person, analyse, passages, scene_rules
from innkeeper.operations.scenes.state import SceneState, apply_changes

PEOPLE = (Person("Mira", "character", speaks=True), Person("Tom", "user"))


@dataclass(frozen=True)
class Case:
    """A message, and what its context and the state after it have."""

    name: str
    text: str
    context: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)


CASES = (
    Case(
        "an action in asterisks",
        '*Mira walks into the old kitchen and picks up a copper kettle.* "We drove past the cars," she says.',
        {"setting": "old kitchen", "actions": ["Mira walks into the old kitchen and picks up a copper kettle"]},
        {"location": "old kitchen", "props": ["copper kettle"]},
    ),
    Case("an office stays an office", '"I saw a car in the street," she says in the office.', state={"location": None}),
    Case("said, not told", '"We walk into the castle." *She smiles.*', {"setting": None}, {"location": None}),
    Case("another time", "*Tomorrow she will walk into the castle.*", {"setting": None}, {"location": None}),
    Case("not so", "*She never enters the cellar.*", {"setting": None}, {"location": None}),
    Case("no marks, first person", "Let's go to the office.", {"setting": None}, {"location": None}),
    Case("no marks, third person", "Mira walks into the garden.", {"setting": "garden"}, {"location": "garden"}),
    Case("a heading", '[Location: The Gilded Heron]\n"Hello."', {"setting": "The Gilded Heron"}),
    Case(
        "the last place counts", "*She leaves. She enters the hall. She enters the tower.*", state={"location": "tower"}
    ),
    Case("time and light", '"Yes." The morning light falls on dusty windows.', state={"time": "morning"}),
    Case(
        "clothes",
        '"Cold." She takes off her red cloak. She is wearing a plain grey dress. Tom leaves.',
        state={"clothing": {"Mira": "plain grey dress"}},
    ),
    Case("your clothes", '"Look." You are wearing a blue coat.', state={"clothing": {"Tom": "blue coat"}}),
    Case("camera", '"Now." A wide shot shows the bay.', state={"camera": "wide shot"}),
    Case("who comes", '"Ah!" Tom enters.', state={"present": ["Tom"]}),
    Case("mood of the most words", '"Yes." She laughs and grins, though her eyes are sad.', {"mood": "joyful"}),
    Case(
        "apostrophes are no quotation marks",
        "Mira doesn't stop. Mira enters the hall. It isn't far.",
        {"setting": "hall"},
    ),
    Case("brackets", "Fine. (sits at the bar)", {"actions": ["sits at the bar"], "positioning": ["sits at the bar"]}),
    Case("nothing", "", {"setting": None, "mood": None, "actions": []}),
    Case("another language", "*Sie geht in die Küche.*", {"setting": None}, {"location": None}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_read(case: Case) -> None:
    """Each message gives what it tells, and the state changes only by what is sure."""
    context = analyse(case.text, PEOPLE, message="m1")
    facts = context.to_dict()
    assert {name: facts[name] for name in case.context} == case.context
    state = apply_changes(SceneState(), context.changes).state
    assert {name: _plain(getattr(state, name)) for name in case.state} == case.state


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [fact.value for fact in value]
    if isinstance(value, dict):
        return {who: fact.value for who, fact in value.items()}
    return None if value is None else value.value


def test_provenance() -> None:
    """Each change says by which rule of which version it was found, and where in which message."""
    text = "*Mira enters the old kitchen.*"
    (change,) = (one for one in analyse(text, PEOPLE, message="m1").changes if one.field == "location")
    assert (change.fact.rule, change.fact.message) == (f"location.arrival@{scene_rules().version}", "m1")
    assert text[change.fact.start : change.fact.end] == change.fact.value == "old kitchen"


@given(st.text(alphabet=st.sampled_from("\"“”*() .,!\n'’aeinst"), max_size=80))
def test_passages_are_in_the_text(text: str) -> None:
    """Passages stand in the message where they say that they do, in order, and never overlap."""
    end = 0
    for passage in passages(text):
        assert text[passage.start :].startswith(passage.text)
        assert passage.start >= end
        end = passage.start + len(passage.text)


@given(st.text(max_size=300))
def test_speech_is_never_sure(text: str) -> None:
    """Whatever somebody says within quotation marks, no change of the scene comes of it."""
    said = text.replace('"', "").replace("\n", " ")
    assert apply_changes(SceneState(), analyse(f'"{said}"', PEOPLE).changes).applied == ()


def test_every_rule_is_declared() -> None:
    """Rules have names of their own, and confidences between 0 and 1."""
    rules = scene_rules().rules
    assert len({rule.name for rule in rules}) == len(rules)
    assert all(0 < rule.confidence < 1 for rule in rules)


def test_bounded() -> None:
    """A giant message is read at its end; actions are five at most."""
    text = "x" * 3 * MAX_SCENE_CHARS + " *bows.*" * 9 + " *Mira enters the hall.*"
    context = analyse(text, PEOPLE)
    assert context.setting is not None
    assert analyse("*a.* *b.* *c.* *d.* *e.* *f.*").actions == ("a", "b", "c", "d", "e")
    assert len(context.actions) <= MAX_ACTIONS
    assert {passage.kind for passage in passages(text)} == {Kind.ACTION, Kind.SPEECH}
