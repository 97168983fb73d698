"""Figures: numbered as they are sent, each picture once, and no text that speaks of one that is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.operations.scenes.figures import (
    FigureCandidate,
    FigurePlan,
    FigureRole,
    numbers_in,
    plan_figures,
    storage_key,
)

PLACE = FigureCandidate(FigureRole.ENVIRONMENT, "asset:aa/place.png")
MIRA = FigureCandidate(FigureRole.CHARACTER, "asset:bb/mira.png", "Mira")
TOM = FigureCandidate(FigureRole.USER, "asset:cc/tom.png", "Tom")
ALL = (PLACE, MIRA, TOM)
TEXT = "Put the hat of Figure 3 on figure 2, in front of Figure 1; see fig. 7 and Figures 2, 3."


@given(st.sets(st.sampled_from(ALL)), st.integers(0, 4), st.text(max_size=60))
def test_numbers_are_those_of_the_pictures(some: set[FigureCandidate], most: int, text: str) -> None:
    """For every subset of pictures, figures are numbered from 1 as they are sent, and texts speak of no others."""
    plan = plan_figures(some, most)
    assert [figure.number for figure in plan.figures] == list(range(1, len(plan.pictures) + 1))
    assert len(plan.figures) + len(plan.dropped) == len(some)
    for one in (TEXT, text, text + TEXT, TEXT + text):
        assert set(numbers_in(plan.renumbered(one)[0])) <= {figure.number for figure in plan.figures}


def test_renumbered() -> None:
    """The document's numbers become those that are sent; what is not sent becomes words; each change is told."""
    plan = plan_figures((MIRA, TOM), 8)
    text, rewrites = plan.renumbered(TEXT)
    assert text == (
        "Put the hat of Figure 2 on Figure 1, in front of the place; see the picture and Figure 1 and Figure 2."
    )
    assert [(one.before, one.reason) for one in rewrites] == [
        ("Figure 3", "renumbered"),
        ("figure 2", "renumbered"),
        ("Figure 1", "not_sent"),
        ("fig. 7", "not_sent"),
        ("Figures 2, 3", "renumbered"),
    ]


def test_a_picture_is_sent_once() -> None:
    """The same portrait for two persons is one figure that stands for both, and who comes later moves up."""
    again = FigureCandidate(FigureRole.CHARACTER, PLACE.picture, "Mira")
    plan = plan_figures((TOM, again, PLACE), 8)
    assert [(figure.number, figure.roles, figure.names) for figure in plan.figures] == [
        (1, (FigureRole.ENVIRONMENT, FigureRole.CHARACTER), ("Mira",)),
        (2, (FigureRole.USER,), ("Tom",)),
    ]
    assert [one.reason for one in plan.dropped] == ["duplicate"]
    assert plan.renumbered("Figure 3 beside Figure 2")[0] == "Figure 2 beside Figure 1"
    assert plan.figures[0].to_dict()["key"] == PLACE.picture


def test_a_model_reads_so_many() -> None:
    """Beyond what a model reads, pictures are left out, the place last, and it is told."""
    plan = plan_figures(ALL, 1)
    assert plan.pictures == (PLACE.picture,)
    assert [one.reason for one in plan.dropped] == ["model_limit", "model_limit"]
    assert FigurePlan().renumbered("Figure 1")[0] == "the place"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a.example/x.png?token=1&Expires=2", "https://A.example/x.png?token=3", True),
        ("https://a.example/x.png?X-Amz-Signature=1", "https://a.example/x.png", True),
        ("https://a.example/x?id=1", "https://a.example/x?id=2", False),
        ("https://a.example/x%20y.png", "https://a.example/x y.png", True),
        ("asset:aa/1.png", "asset:aa/2.png", False),
        ("data:image/png;base64,AA", "data:image/png;base64,AA", True),
        ("data:image/png;base64,AA", "data:image/png;base64,AB", False),
        ("https://[bad", "https://[bad", True),
    ],
)
def test_storage_key(one: str, other: str, same: bool) -> None:
    """What names a picture is where it is stored, not with what it was signed."""
    assert (storage_key(one) == storage_key(other)) is same


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Figure 1", (1,)),
        ("figure #2", (2,)),
        ("FIGURE３", (3,)),
        ("fig.\u200b4", (4,)),
        ("figures 1 and 2", (1, 2)),
        ("a figure. 2 birds", ()),
        ("config 2", ()),
        ("figs, 2 of them", ()),
        ("Figure 99999999999999999999999", (999999999,)),
    ],
)
def test_marks(text: str, numbers: tuple[int, ...]) -> None:
    """Marks of figures are seen in the ways in which people write them, and in no others."""
    assert numbers_in(text) == numbers
