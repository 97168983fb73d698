"""Differences between cards."""

import json
from typing import Any

from hypothesis import given, settings

from innkeeper.content import ABSENT, Character, Difference, diff, diff_trees
from tests.content.builders import card, values


def test_differences_in_order() -> None:
    """Each place that differs, in the order of the first card, then what only the second has."""
    one = Character.of(card(tags=["a", "b"], creator="me"))
    two = Character.of(card(tags=["a"], description="Another.", nickname="Mi"))
    assert diff(one, two) == (
        Difference("data.description", "A clockmaker.", "Another."),
        Difference("data.tags[1]", "b", ABSENT),
        Difference("data.creator", "me", ABSENT),
        Difference("data.nickname", ABSENT, "Mi"),
    )
    assert [item.kind for item in diff(one, two)] == ["changed", "removed", "removed", "added"]


def test_a_difference_is_data() -> None:
    """What is absent is left out; null is not absent."""
    assert Difference("a", ABSENT, None).to_dict() == {"path": "a", "kind": "added", "after": None}
    assert Difference("a", 1, ABSENT).to_dict() == {"path": "a", "kind": "removed", "before": 1}


def test_types_count() -> None:
    """A number and a flag, and a whole number and a fraction, are not the same."""
    assert len(diff_trees({"a": 1, "b": 1}, {"a": True, "b": 1.0})) == 2


@settings(max_examples=80)
@given(one=values, two=values)
def test_no_difference_means_equal(one: Any, two: Any) -> None:
    """There is no difference exactly where the JSON is the same."""
    assert diff_trees(one, one) == ()
    same = json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)
    assert (diff_trees(one, two) == ()) is same
