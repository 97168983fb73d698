"""Logs: rows that are added all or none, found newest first, and whose figures give true percentiles."""

import pytest

from innkeeper.library.engine import Database
from innkeeper.library.errors import RowError
from innkeeper.library.logs import LogStore
from innkeeper.prompt.errors import UsageError


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
    assert [row["template_name"] for row in newest] == ["a", "b", "a"]
    assert (newest[0]["resolution_trace"], newest[0]["cost_usd"]) == (({"level": "exact"},), 0.000125)
    assert [row["status"] for row in store.newest(template_name="a")] == ["failed", "ok"]
    assert len(store.newest(since="2026-01-02T00:00:00Z")) == 2
    assert len(store.newest(1)) == 1


def test_all_or_none(store: LogStore) -> None:
    """A batch with one bad row adds none."""
    with pytest.raises(RowError):
        store.add({"template_name": "a"}, {"execution": "magic"})
    assert store.newest() == ()


def test_figures_in_order(store: LogStore) -> None:
    """Figures are all values, sorted, so that a percentile is read off and not estimated."""
    for value in (30, 10.5, 20, None):
        store.add({"execution_time_ms": value, "use_case": "chat"})
    assert store.figures("execution_time_ms") == (10.5, 20.0, 30.0)
    assert store.figures("execution_time_ms", use_case="other") == ()
    with pytest.raises(UsageError, match="no figure"):
        store.figures("status")


def test_usage(store: LogStore) -> None:
    """Uses of models have a log of their own, without texts."""
    store.add_usage({"provider": "local", "tokens_total": 7})
    assert store.newest_usage(provider="local")[0]["tokens_total"] == 7
    with pytest.raises(UsageError, match="no column 'request_payload'"):
        store.add_usage({"request_payload": "text"})
