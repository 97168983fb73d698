"""Who of a group answers next."""

import pytest

from innkeeper.prompt.determinism import Mulberry32
from innkeeper.taverns.risu.group import GroupMember, next_speakers

MEMBERS = (GroupMember("Anna", 0.5), GroupMember("Ben Ash", 0.5), GroupMember("Cid", 0))


@pytest.mark.parametrize(
    ("text", "last", "first"),
    [("What says Ben?", None, 1), ("anna!", 1, 0), ("annabel?", 0, 1), ("Cid?", 0, 1)],
)
def test_who_is_named_comes_first(text: str, last: int | None, first: int) -> None:
    """By a whole word of the name; neither who never speaks nor who has just spoken."""
    chosen = next_speakers(MEMBERS, text, last, Mulberry32(3))
    assert chosen[0] == first
    assert last not in chosen


@pytest.mark.parametrize("seed", range(20))
def test_somebody_answers(seed: int) -> None:
    """However quiet all of them are, and each once."""
    chosen = next_speakers(MEMBERS, "Well?", None, Mulberry32(seed))
    assert set(chosen) <= {0, 1}
    assert 0 < len(chosen) == len(set(chosen))


def test_the_order_of_the_list() -> None:
    """All that speak at all."""
    assert next_speakers(MEMBERS, "Cid?", 0, Mulberry32(1), in_order=True) == (0, 1)
    assert next_speakers((), "Well?", None, Mulberry32(1)) == ()
