"""Simulations: a chat's turns under each setting, and what a provider's cache makes of them."""

from __future__ import annotations

import pytest

from innkeeper.prompt import BuildRequest, LimitError, UsageError
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.taverns import timeline
from innkeeper.taverns.cache_simulation import simulate_cache

BOOK = {"entries": {"0": {"uid": 0, "key": ["reef"], "content": "The reef is near.", "position": 4, "depth": 4}}}


def request(tavern: str = "silly", turns: int = 24) -> BuildRequest:
    """A chat in which every third message of the user has a key."""
    history = [
        {"role": ("user", "assistant")[n % 2], "content": f"{n} {'reef' if n % 6 == 0 else 'sea'} " + "word " * 60}
        for n in range(2 * turns - 1)
    ]
    card = {"name": "Wenna", "description": "She keeps the inn. " * 30}
    fields = {
        "tavern": tavern,
        "character": card,
        "history": history,
        "model": "claude-sonnet-4-5",
        "context_window": 2500,
    }
    return BuildRequest.of({**fields, "lorebooks": [BOOK], "now": "2026-01-15T12:00:00+00:00"})


def test_settings_are_compared() -> None:
    """Each keeps more of the prompt than the one before, and what the cache serves is cheaper; a first turn reads nothing."""
    made = simulate_cache(request(), "anthropic")
    assert [layout.name for layout in made.layouts] == ["sliding", "stepped", "friendly", "frozen"]
    shares = [layout.reusable for layout in made.layouts]
    assert shares[0] < shares[1] <= shares[2]
    assert shares[3] > shares[1]
    for layout in made.layouts:
        assert len(layout.turns) == 24
        assert (layout.turns[0].read, layout.turns[0].reusable) == (0, 0.0)
        costs = layout.costs()
        assert costs is not None
    assert made.layouts[3].read > made.layouts[0].read
    assert any(turn.why for turn in made.layouts[0].turns)
    assert made.to_svg().count("<polyline") == 4
    assert made.to_dict()["layouts"][0]["reusable"] == shares[0]
    assert "▁" in made.table().to_text()


def test_other_taverns_have_fewer_settings() -> None:
    """A tavern that knows nothing of friendly prompts is simulated without them; without a price there is no cost."""
    made = simulate_cache(request("vibe", 4).with_(model="nobody"), "openai")
    assert [layout.name for layout in made.layouts] == ["sliding", "stepped"]
    assert made.layouts[0].costs() is None


@pytest.mark.parametrize(
    ("fields", "provider", "error"),
    [({"history": []}, "openai", UsageError), ({}, "nobody", UnknownNameError), ({}, "openai", LimitError)],
)
def test_what_cannot_be_simulated(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, object], provider: str, error: type[Exception]
) -> None:
    """No message of the user, an unknown provider, too many turns."""
    if error is LimitError:
        monkeypatch.setattr(timeline, "MAX_TIMELINE_TURNS", 2)
    with pytest.raises(error):
        simulate_cache(request(turns=3).with_(**fields), provider)
