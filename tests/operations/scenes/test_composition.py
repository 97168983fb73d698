"""One prompt out of a scene's parts: its figures, its persons, their clothes, and what goes for want of room."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.errors import OverBudgetError
from innkeeper.library.models.facts import CLIP, Measure
from innkeeper.library.prepare.budget import Budget, budget_of
from innkeeper.operations.scenes.composition import (
    CastMember,
    Clothing,
    Composition,
    SceneParts,
    SceneStyle,
    clothing_of,
    compose,
    people_of,
)
from innkeeper.operations.scenes.figures import FigureCandidate, FigureRole, numbers_in, plan_figures
from innkeeper.operations.scenes.modes import SceneMode
from innkeeper.operations.scenes.state import Fact, FactOrigin, SceneState

CHARS = Measure("chars", len)
CANDIDATES = (
    FigureCandidate(FigureRole.ENVIRONMENT, "asset:aa/place.png"),
    FigureCandidate(FigureRole.CHARACTER, "asset:bb/mira.png", "Mira"),
    FigureCandidate(FigureRole.USER, "asset:cc/tom.png", "Tom"),
)
MIRA = CastMember(name="Mira", role=FigureRole.CHARACTER, appearance=("red hair", "freckles"), id="c1")
TOM = CastMember(name="Tom", role=FigureRole.USER, appearance=("beard",), id="c2")
WORN = Fact(value="grey dress", origin=FactOrigin.EXTRACTOR)


def made(room: int = 10_000, candidates: tuple[FigureCandidate, ...] = CANDIDATES, **more: Any) -> Composition:
    """A prompt for two persons, in so many characters."""
    facts = {"text": "A quiet kitchen at dawn.", "style": SceneStyle.BOTH_CHARACTERS, "mode": SceneMode.CONTINUATION}
    plan = plan_figures(candidates, 8)
    parts = SceneParts(**{**facts, "people": (MIRA, TOM), "plan": plan, **more})
    return compose(parts, Budget(room, room, unit="chars"), CHARS)


def test_whole() -> None:
    """Figures come first, then what happens, who is there, and how many."""
    assert made().prompt == (
        "Figure 1 is the place, from the picture before; Figure 2 is Mira; Figure 3 is Tom; A quiet kitchen at dawn; "
        "Mira: red hair, freckles; Tom: beard; exactly two persons are in the picture; "
        "no mirror images of persons, no doubles, no bystanders"
    )


HOSTILE = st.sampled_from(
    [
        "Figure 2",
        "figure",
        "2",
        "Figures 1 and 3",
        "Fig. 9",
        "Figure 1 is Figure 2",
        "a; b",
        "x" * 400,
        "fig.",
        "７",
        "[",
        "»",
    ]
)


@given(
    st.sets(st.sampled_from(CANDIDATES)),
    st.integers(0, 3),
    st.sampled_from([*SceneMode]),
    st.sampled_from([*SceneStyle]),
    st.lists(HOSTILE | st.text(max_size=20), min_size=6, max_size=6),
)
def test_numbering_equals_the_pictures(
    some: set[FigureCandidate], most: int, mode: SceneMode, style: SceneStyle, texts: list[str]
) -> None:
    """Check 13: for all subsets of pictures and whatever people write, the text speaks of exactly the pictures that are sent."""
    name, tag, other, scene, action, clothes = texts
    members = (
        CastMember(
            name=name, role=FigureRole.CHARACTER, appearance=(tag, other), clothing=Clothing(clothes, "override")
        ),
        CastMember(name=other, role=FigureRole.USER),
    )
    plan = plan_figures(some, most)
    parts = SceneParts(
        text=scene, style=style, mode=mode, plan=plan, people=people_of(style, members), viewer=other, action=action
    )
    done = compose(parts, Budget(10_000, 10_000, unit="chars"), CHARS)
    assert set(numbers_in(done.prompt)) == set(range(1, len(plan.pictures) + 1))


@given(st.integers(120, 700))
def test_within_the_room(room: int) -> None:
    """A prompt fits its room or is refused; figures, persons and their number never go, and what went is listed."""
    try:
        done = made(
            room, action="picks up a copper kettle", mood="calm", people=(MIRA,), style=SceneStyle.CHARACTER_ONLY
        )
    except OverBudgetError:
        assert room < 220
        return
    assert len(done.prompt) <= room
    assert set(numbers_in(done.prompt)) == {1, 2, 3}
    assert "exactly one person is in the picture" in done.prompt
    assert done.dropped or "no bystanders" in done.prompt


def test_a_window_of_clip() -> None:
    """A model that reads CLIP's window gets what fits by its own tokens; what must not be seen is said beside it."""
    parts = SceneParts(
        text="A quiet kitchen at dawn. " * 20,
        style=SceneStyle.CHARACTER_ONLY,
        mode=SceneMode.NONE,
        plan=plan_figures(CANDIDATES[1:2], 1),
        people=(MIRA,),
        mood="calm",
    )
    measure = CLIP.measure()
    done = compose(parts, budget_of(CLIP, measure=measure), measure, apart=True)
    assert done.tokens <= 75
    assert "bystanders" not in done.prompt
    assert "bystanders" in done.negative
    assert {one.reason for one in done.dropped} >= {"budget", "cut"}
    assert {"Figure 1 is Mira", "Mira: red hair, freckles"} <= set(done.prompt.split("; "))


@pytest.mark.parametrize(
    ("style", "people", "words"),
    [
        (SceneStyle.CHARACTER_ONLY, (MIRA,), "exactly one person is in the picture"),
        (SceneStyle.BOTH_CHARACTERS, (MIRA, TOM), "exactly two persons are in the picture"),
        (
            SceneStyle.POV,
            (MIRA,),
            "seen through the eyes of Tom, who is not in the picture, exactly one person is in the picture",
        ),
    ],
)
def test_how_many(style: SceneStyle, people: tuple[CastMember, ...], words: str) -> None:
    """The number of persons is said as the style has it."""
    assert words in made(style=style, people=people, viewer="Tom").prompt
    assert "in the picture" not in made(style=style, people=()).prompt, "nobody knows"


def test_who_is_seen() -> None:
    """The user's character is seen only beside the other."""
    assert people_of(SceneStyle.BOTH_CHARACTERS, (MIRA, TOM)) == (MIRA, TOM)
    assert people_of(SceneStyle.POV, (MIRA, TOM)) == people_of(SceneStyle.CHARACTER_ONLY, (MIRA, TOM)) == (MIRA,)


@pytest.mark.parametrize(
    ("state", "overrides", "default", "expected"),
    [
        (SceneState(clothing={"mira": WORN}), {"c1": "cape"}, "coat", Clothing("grey dress", "state")),
        (SceneState(), {"c1": "cape"}, "coat", Clothing("cape", "override")),
        (SceneState(), {"MIRA": "cape"}, "coat", Clothing("cape", "override")),
        (SceneState(), {"user": "cape"}, "coat", Clothing("coat", "scene_default")),
        (SceneState(), {}, "", Clothing("blue apron, boots", "card")),
    ],
)
def test_clothing(state: SceneState, overrides: dict[str, str], default: str, expected: Clothing) -> None:
    """The state goes before the request, the request before the scene, the scene before the card."""
    assert clothing_of(MIRA, state, overrides, default, ("blue apron", "boots")) == expected
    assert clothing_of(TOM, SceneState(), {"user": "cape"}, "", ()) == Clothing("cape", "override")
    assert clothing_of(TOM, SceneState(), {}, " ", ()) == Clothing()


def test_clothes_contradict_nothing() -> None:
    """Where the scene says what is worn, features of clothes are left out, and the picture is not followed."""
    mira = CastMember(
        name="Mira",
        role=FigureRole.CHARACTER,
        appearance=("red hair", "green cloak"),
        clothing=Clothing("grey dress", "state"),
    )
    done = made(people=(mira,), style=SceneStyle.CHARACTER_ONLY)
    assert "Mira wears grey dress" in done.prompt
    assert "cloak" not in done.prompt
    assert "clothes as described here" in done.prompt
    assert [one.reason for one in done.omitted] == ["clothing_contradiction"]


def test_a_continuation_says_what_changed() -> None:
    """Clothes that the picture before shows already are left out; what the text says is not said twice."""
    mira = CastMember(name="Mira", role=FigureRole.CHARACTER, clothing=Clothing("grey dress", "state"))
    before = SceneState(clothing={"Mira": WORN})
    state = SceneState(
        location=Fact(value="kitchen", origin=FactOrigin.TEMPLATE), time=Fact(value="dusk", origin=FactOrigin.USER)
    )
    done = made(people=(mira,), style=SceneStyle.CHARACTER_ONLY, before=before, state=state)
    assert "grey dress" not in done.prompt
    assert "; dusk;" in done.prompt
    assert sorted(one.reason for one in done.omitted) == ["said_already", "unchanged"]


def test_a_modification_is_its_text() -> None:
    """A picture that is changed gets the change, and nothing of what it shows already."""
    done = made(mode=SceneMode.MODIFICATION, text="make it night", candidates=CANDIDATES[:1])
    assert done.prompt.startswith("Figure 1 is the picture to change; make it night; exactly two persons")
    assert "red hair" not in done.prompt
    facts = done.to_dict()
    assert facts["clothing"] == {"Mira": {"text": "", "source": "none"}, "Tom": {"text": "", "source": "none"}}
