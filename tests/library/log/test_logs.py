"""Logs: rows that are added all or none, found newest first, and whose figures give true percentiles."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.logs import usage_logs
from innkeeper.library.errors import FieldError
from innkeeper.library.log.logs import LogStore, log_stats, since_moment
from innkeeper.prompt.errors import FormatError, UsageError


@pytest.fixture
def store(db: Database) -> LogStore:
    """The logs of an empty library."""
    return LogStore(db)


def test_newest_first_and_filtered(store: LogStore) -> None:
    """Rows come newest first by the order of their writing, filtered by column and moment."""
    store.add({"template_name": "a", "created_at": "2026-01-01T00:00:00Z"}, {"template_name": "b"})
    store.add(
        {"template_name": "a", "status": "failed", "resolution_trace": [{"level": "exact"}], "cost_usd": 0.000125}
    )
    newest = store.newest()
    assert [row.template_name for row in newest] == ["a", "b", "a"]
    assert (newest[0].resolution_trace, newest[0].cost_usd) == (({"level": "exact"},), 0.000125)
    assert [row.status for row in store.newest(template_name="a")] == ["failed", "ok"]
    assert len(store.newest(since="2026-01-02T00:00:00Z")) == 2
    assert len(store.newest(1)) == 1


def test_all_or_none(store: LogStore) -> None:
    """A batch with one bad row adds none."""
    with pytest.raises(FieldError):
        store.add({"template_name": "a"}, {"execution": "magic"})
    assert store.newest() == ()


def test_usage(store: LogStore) -> None:
    """Uses of models have a log of their own, without texts."""
    with store.db.transaction() as connection:
        store.insert_usage(connection, {"provider": "local", "tokens_total": 7})
        assert connection.execute(select(usage_logs.c.tokens_total)).scalar() == 7
        with pytest.raises(UsageError, match="no column 'request_payload'"):
            store.insert_usage(connection, {"request_payload": "text"})


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
