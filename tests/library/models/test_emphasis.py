"""Groups, weights and references of prompts for image models."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.models.emphasis import groups, outside, unweighted
from innkeeper.library.models.facts import CLIP

CASES = {
    "none": ("a < b, c > d", [], "a < b, c > d"),
    "weight": ("a (long, golden:1.2) b", ["(long, golden:1.2)"], "a long, golden b"),
    "nested": ("((red:1.1) fox:1.3), x", ["((red:1.1) fox:1.3)"], "red fox, x"),
    "without a weight": ("a (b), [c]", ["(b)", "[c]"], "a (b), [c]"),
    "reference": ("a <lora:my model:0.8> b", ["<lora:my model:0.8>"], "a  b"),
    "macro": ("the {{ character }} and {a|b}", ["{{ character }}", "{a|b}"], "the {{ character }} and {a|b}"),
    "smile": ("so :( and (nice:1.5)", ["(nice:1.5)"], "so :( and nice"),
    "escaped": (r"\(a:1.2\) b", [], r"\(a:1.2\) b"),
    "crossed": ("(a [b) c]", ["(a [b)"], "(a [b) c]"),
    "a time is no weight": ("(at 12:30) (x: y)", ["(at 12:30)", "(x: y)"], "at 12 (x: y)"),
}


@pytest.mark.parametrize(("text", "found", "plain"), CASES.values(), ids=CASES)
def test_groups_and_weights(text: str, found: list[str], plain: str) -> None:
    """The outermost groups, and what a model reads."""
    assert [text[start:end] for start, end in groups(text)] == found
    assert unweighted(text) == plain


@given(st.text(alphabet="ab ()[]{}<:1.\\", max_size=40))
def test_groups_follow_one_another(text: str) -> None:
    """Groups do not overlap, no place between is lost, and what is taken out are signs alone."""
    spans = groups(text)
    assert [place for span in spans for place in span] == sorted(place for span in spans for place in span)
    inside = {place for start, end in spans for place in range(start + 1, end)}
    assert outside(range(len(text) + 1), spans) == [place for place in range(len(text) + 1) if place not in inside]
    assert len(unweighted(text)) <= len(text)


def test_clip_counts_what_it_reads() -> None:
    """A weight and a reference cost nothing."""
    count = CLIP.measure().count
    assert count("a (golden:1.25) lamp, <lora:style:0.8>") == count("a golden lamp,")


@pytest.mark.parametrize("unit", ["(a:1.2)", "(", "[(", "<a:", "(a:1.2 "])
def test_many_signs_are_read_once(unit: str) -> None:
    """A text of nothing but signs is looked at once from left to right."""
    text = unit * 20_000 + ":1.2)" * 20_000
    assert groups(text) is not None
    assert len(unweighted(text)) <= len(text)
