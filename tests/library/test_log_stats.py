"""LogStats: figures of the log are those of its rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from innkeeper.library.engine import Database
from innkeeper.library.log_stats import log_stats, since_moment
from innkeeper.library.logs import LogStore
from innkeeper.prompt.errors import FormatError

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def test_figures(db: Database) -> None:
    """Calls, shares, outcomes and exact percentiles, for each template and for all."""
    rows = [
        {"template_name": "a", "execution_time_ms": float(ms), "cache_hit": ms > 1, "fallback_level": 0, "status": "ok"}
        for ms in range(1, 101)
    ]
    rows += [{"template_name": None, "status": status} for status in ("blocked", "error", "degraded")]
    LogStore(db).add(*rows, {"template_name": "b", "input_tokens": 7, "cost_usd": 0.5, "fallback_level": 5})
    everything, (first, second, third) = log_stats(db)
    assert (first.template, first.calls, first.hit_rate, first.fallback) == ("a", 100, 0.99, 0)
    assert first.milliseconds.at == {50: 50, 90: 90, 95: 95, 99: 99}
    assert (second.template, second.blocked, second.failed, second.degraded, second.hit_rate) == (None, 1, 1, 1, None)
    assert (third.tokens.at[50], third.cost_usd, third.fallback) == (7, 0.5, 5)
    assert everything.calls == 104
    assert log_stats(db, since="2100-01-01T00:00:00Z")[0].calls == 0


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("24h", "2026-01-14T12:00:00.000000Z"),
        ("7 days", "2026-01-08T12:00:00.000000Z"),
        ("30m", "2026-01-15T11:30:00.000000Z"),
        ("2026-01-01", "2026-01-01T00:00:00.000000Z"),
    ],
)
def test_since(text: str, moment: str) -> None:
    """A time is a short word, an interval or a moment."""
    assert since_moment(text, NOW) == moment


@pytest.mark.parametrize("text", ["yesterday", "2026-99-99", "h"])
def test_no_time(text: str) -> None:
    """What is no time is an error that says how to write one."""
    with pytest.raises(FormatError):
        since_moment(text, NOW)
