"""Golden turns: the same card, message and answer give the same message at every door, shown as it is kept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conversation.doors import DOORS, Inn, golden_turns, opened_inn

TURNS = golden_turns()


@pytest.fixture(scope="module")
def inn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inn]:
    """One service for all."""
    with opened_inn(tmp_path_factory.mktemp("inn"), TURNS) as inn:
        yield inn


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", TURNS)
def test_a_turn_is_the_same_at_every_door(inn: Inn, name: str, door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message that is kept, and the pieces that a door shows while the answer comes."""
    turn = TURNS[name]
    seen = inn.ask(door, name, turn, monkeypatch)
    assert seen.kept == turn.kept
    assert seen.shown in (None, turn.shown)
