"""What a scene goes on from, and how its picture keeps to it."""

import itertools

import pytest

from innkeeper.library.errors import FieldError
from innkeeper.operations.scenes.modes import (
    Consistency,
    Environment,
    Method,
    SceneMode,
    environment_of,
    strength_of,
)

KNOWN = tuple(itertools.product((None, "asset:x"), (None, "asset:y"), (None, "asset:z"), ("", "blue")))


@pytest.mark.parametrize("known", KNOWN)
def test_the_first_that_there_is(known: tuple[str | None, str | None, str | None, str]) -> None:
    """Modification before continuation before the template; the mode and its picture always go together."""
    changed, before, template, override = known
    found = environment_of(changed=changed, before=before, template=template, override=override)
    order = (
        (SceneMode.MODIFICATION, changed if override else None),
        (SceneMode.CONTINUATION, before),
        (SceneMode.FIRST_FROM_TEMPLATE, template),
    )
    assert found == next((Environment(mode, one) for mode, one in order if one), Environment(SceneMode.NONE))


@pytest.mark.parametrize(
    ("mode", "asked", "strength"),
    [
        (SceneMode.MODIFICATION, Consistency(), 0.5),
        (SceneMode.CONTINUATION, Consistency(), 0.45),
        (SceneMode.FIRST_FROM_TEMPLATE, Consistency(), 0.7),
        (SceneMode.NONE, Consistency(), 0.7),
        (SceneMode.NONE, Consistency(reference_strength=0.65), 0.35),
        (SceneMode.NONE, Consistency(reference_strength=0.65, denoise_strength=0.0), 0.0),
    ],
)
def test_strength(mode: SceneMode, asked: Consistency, strength: float) -> None:
    """The default of the mode, else what is said; a strength of 0 is one."""
    assert strength_of(mode, asked) == strength


@pytest.mark.parametrize(
    ("asked", "seed", "reference"),
    [
        (Consistency(method=Method.SEED_LOCKED), 7, False),
        (Consistency(method=Method.HYBRID), 7, True),
        (Consistency(), None, True),
        (Consistency(method=Method.SEED_LOCKED, seed_value=0), 0, False),
        (Consistency(seed_value=0), 0, True),
    ],
)
def test_methods(asked: Consistency, seed: int | None, reference: bool) -> None:
    """A locked seed is used again, a reference is sent, or both; a seed of 0 is a seed."""
    assert (asked.seed(None, 7), asked.sends_reference) == (seed, reference)
    assert Consistency(method=Method.HYBRID).seed(0, 7) == 0


@pytest.mark.parametrize("wrong", [{"seed_value": -1}, {"denoise_strength": 1.1}, {"reference_strength": -0.1}])
def test_refused(wrong: dict[str, float]) -> None:
    """Strengths are between 0 and 1, seeds 0 or more."""
    with pytest.raises(FieldError):
        Consistency(**wrong)  # type: ignore[arg-type]  # what is refused
