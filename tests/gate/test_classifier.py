"""The embedded judge: more words of sex make depiction likelier, more words of lessons and courts less likely."""

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.classifier import depiction

weights = st.floats(0, 5)


@given(weights, weights, weights, weights)
def test_each_weight_pulls_its_way(sexual: float, cue: float, educational: float, more: float) -> None:
    """It is monotone in every weight, and between 0 and 1."""
    chance = depiction(sexual, cue, educational)
    assert 0 <= chance <= 1
    assert depiction(sexual + more, cue, educational) >= chance
    assert depiction(sexual, cue + more, educational) >= chance
    assert depiction(sexual, cue, educational + more) <= chance
    assert depiction(sexual, cue, educational, strong=True) >= chance


def test_nothing_educational_is_depiction() -> None:
    """Without a word that says otherwise."""
    assert depiction(0.5, 0, 0) == 1
