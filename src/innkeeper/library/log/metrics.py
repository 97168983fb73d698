"""Metrics: counters, gauges and histograms of this process, and percentiles that are what they say.

Two kinds of percentiles are told apart. *Exact* ones are read from all values by nearest rank: the smallest value that at least
p percent of the values do not exceed. Those of a *histogram* are upper edges of its buckets, which are at most 26 percent apart.
"""

from __future__ import annotations

import bisect
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

import msgspec

PERCENTILES: Final = (50, 90, 95, 99)
"""Those that are shown."""

EDGES: Final = tuple(round(10 ** (step / 10), 6) for step in range(-30, 71))
"""Upper edges of buckets: ten a decade, from 0.001 to 10,000,000."""

MOST_SERIES: Final = 2_000
"""Series of one metric; what comes after them is counted under ``other``, so that no input fills the memory."""

Labels = tuple[tuple[str, str], ...]
_OTHER: Final[Labels] = (("other", "true"),)


class Percentiles(msgspec.Struct, frozen=True):
    """Figures of some values. ``method`` is ``exact`` or ``histogram``; ``at`` has the percentiles by their number."""

    count: int
    method: str
    mean: float | None = None
    least: float | None = None
    most: float | None = None
    at: dict[int, float] = {}


def nearest_rank(ordered: Sequence[float], percent: float) -> float:
    """The percentile of values in ascending order by nearest rank; there must be one at least.

    >>> nearest_rank([15, 20, 35, 40, 50], 30)
    20
    """
    rank = math.ceil(len(ordered) * percent / 100)
    return ordered[max(rank, 1) - 1]


def percentiles(ordered: Sequence[float], percents: Sequence[int] = PERCENTILES) -> Percentiles:
    """The exact figures of values in ascending order."""
    if not ordered:
        return Percentiles(0, "exact")
    at = {percent: nearest_rank(ordered, percent) for percent in percents}
    return Percentiles(len(ordered), "exact", math.fsum(ordered) / len(ordered), ordered[0], ordered[-1], at)


@dataclass(slots=True)
class Histogram:
    """Counts of values by bucket: memory stays the same however many there are."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(EDGES) + 1))
    total: float = 0.0
    count: int = 0
    least: float = math.inf
    most: float = -math.inf

    def add(self, value: float) -> None:
        """Count a value; what is no number is left aside."""
        if not math.isfinite(value):
            return
        self.counts[bisect.bisect_left(EDGES, value)] += 1
        self.total += value
        self.count += 1
        self.least, self.most = min(self.least, value), max(self.most, value)

    def percentiles(self, percents: Sequence[int] = PERCENTILES) -> Percentiles:
        """Upper edges of the buckets in which the percentiles lie, none above the largest value."""
        if not self.count:
            return Percentiles(0, "histogram")
        at = {percent: self._edge(percent) for percent in percents}
        return Percentiles(self.count, "histogram", self.total / self.count, self.least, self.most, at)

    def _edge(self, percent: int) -> float:
        rank = max(math.ceil(self.count * percent / 100), 1)
        bucket = next(index for index, below in enumerate(accumulate(self.counts)) if below >= rank)
        return min(EDGES[bucket], self.most) if bucket < len(EDGES) else self.most


class Metrics:
    """The metrics of one library in this process. Threads may share it."""

    def __init__(self) -> None:
        self._counters: dict[str, dict[Labels, int]] = {}
        self._histograms: dict[str, dict[Labels, Histogram]] = {}
        self._gauges: dict[str, float] = {}
        self._lock = threading.Lock()

    def count(self, name: str, by: int = 1, **labels: object) -> None:
        """Count up a counter."""
        with self._lock:
            series = self._counters.setdefault(name, {})
            key = _series_labels(series, labels)
            series[key] = series.get(key, 0) + by

    def observe(self, name: str, value: float, **labels: object) -> None:
        """Add a value to a histogram."""
        with self._lock:
            series = self._histograms.setdefault(name, {})
            series.setdefault(_series_labels(series, labels), Histogram()).add(value)

    def gauge(self, name: str, value: float) -> None:
        """Set a gauge."""
        with self._lock:
            self._gauges[name] = value

    def value(self, name: str, **labels: object) -> int:
        """A counter: the sum of all series that have these labels."""
        required = {(key, str(value)) for key, value in labels.items()}
        with self._lock:
            return sum(count for labels_of, count in self._counters.get(name, {}).items() if required <= set(labels_of))

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-ready and in a fixed order."""
        with self._lock:
            return {
                "counters": {
                    name: _rows(series, lambda count: {"value": count})
                    for name, series in sorted(self._counters.items())
                },
                "histograms": {
                    name: _rows(series, lambda histogram: msgspec.to_builtins(histogram.percentiles(), str_keys=True))
                    for name, series in sorted(self._histograms.items())
                },
                "gauges": dict(sorted(self._gauges.items())),
            }


def _series_labels(series: Mapping[Labels, object], labels: Mapping[str, object]) -> Labels:
    key = tuple(sorted((name, "" if value is None else str(value)) for name, value in labels.items()))
    return key if key in series or len(series) < MOST_SERIES else _OTHER


def _rows(series: Mapping[Labels, Any], shown: Any) -> list[dict[str, Any]]:
    return [{"labels": dict(key), **shown(series[key])} for key in sorted(series)]
