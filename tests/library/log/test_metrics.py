"""Metrics: percentiles are what they say, memory is bounded, threads lose nothing."""

from __future__ import annotations

import math
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.log.metrics import EDGES, MOST_SERIES, Histogram, Metrics, nearest_rank, percentiles

VALUES = st.lists(st.floats(min_value=0.001, max_value=1e7), min_size=1, max_size=200)


@given(VALUES, st.integers(min_value=1, max_value=100))
def test_nearest_rank(values: list[float], percent: int) -> None:
    """It is the smallest value that at least p percent of the values do not exceed."""
    ordered = sorted(values)
    found = nearest_rank(ordered, percent)
    share = sum(value <= found for value in values) / len(values)
    assert share * 100 >= percent - 1e-9
    below = [value for value in ordered if value < found]
    assert not below or sum(value <= below[-1] for value in values) / len(values) * 100 < percent


@given(VALUES)
def test_histogram_is_near_the_truth(values: list[float]) -> None:
    """A histogram's percentile is never below the true one, and at most a bucket above it."""
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    told, true = histogram.percentiles(), percentiles(sorted(values))
    assert (told.method, true.method) == ("histogram", "exact")
    assert (told.count, told.least, told.most) == (true.count, true.least, true.most)
    for place, exact in true.at.items():
        assert exact <= told.at[place] * (1 + 1e-6)
        assert told.at[place] <= exact * 1.27


def test_the_ends_of_a_histogram() -> None:
    """Values beyond the last edge are kept at their size; what is no number is left aside; an empty one has no figures."""
    histogram = Histogram()
    assert histogram.percentiles().at == {}
    for value in (math.nan, math.inf, EDGES[-1] * 10):
        histogram.add(value)
    assert histogram.count == 1
    assert histogram.percentiles().at[50] == EDGES[-1] * 10
    assert percentiles([]).count == 0


def test_metrics_are_told_in_order() -> None:
    """Counters, histograms and gauges come out sorted, with their labels."""
    metrics = Metrics()
    metrics.count("b_total", kind="y")
    metrics.count("b_total", 2, kind="x")
    metrics.count("a_total")
    metrics.observe("ms", 5, stage="render")
    metrics.gauge("revision", 7)
    told = metrics.to_dict()
    assert list(told["counters"]) == ["a_total", "b_total"]
    assert [row["labels"] for row in told["counters"]["b_total"]] == [{"kind": "x"}, {"kind": "y"}]
    assert told["histograms"]["ms"][0]["at"]["50"] == 5
    assert told["gauges"] == {"revision": 7}
    assert (metrics.value("b_total"), metrics.value("b_total", kind="x"), metrics.value("none")) == (3, 2, 0)


def test_series_are_bounded() -> None:
    """However many labels come, memory holds a bounded number, and the sum is right."""
    metrics = Metrics()
    for number in range(MOST_SERIES + 500):
        metrics.count("many_total", model=number)
    assert len(metrics.to_dict()["counters"]["many_total"]) <= MOST_SERIES + 1
    assert metrics.value("many_total") == MOST_SERIES + 500
    assert metrics.value("many_total", other="true") == 500


@pytest.mark.parametrize("threads", [4])
def test_threads_lose_nothing(threads: int) -> None:
    """Counts of several threads add up."""
    metrics = Metrics()

    def work() -> None:
        for _ in range(500):
            metrics.count("n_total")
            metrics.observe("ms", 1)

    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert metrics.value("n_total") == threads * 500
    assert metrics.to_dict()["histograms"]["ms"][0]["count"] == threads * 500
