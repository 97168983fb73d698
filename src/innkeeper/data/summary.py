"""Summary: what a batch is made of: tokens, trims, warnings by kind, cost. As a table, as a picture, as data."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import msgspec

from innkeeper.budget.diff import money
from innkeeper.prompt.report import Cell, ShowsTables, TextTable, svg_plot

_BINS: Final = 60


class Summary(ShowsTables, msgspec.Struct, frozen=True, kw_only=True):
    """Figures of rows that were built. ``tokens`` counts prompts by their number of tokens; ``cost`` is in US dollars.

    ``warnings`` and ``errors`` count rows by kind. ``cost`` is None where no model of them has a known price.
    """

    rows: int = 0
    evicted: int = 0
    cost: float | None = None
    tokens: dict[int, int] = {}
    warnings: dict[str, int] = {}
    errors: dict[str, int] = {}

    def quantile(self, share: float) -> int:
        """The tokens that so many of the prompts do not exceed; 0 without prompts."""
        reached, passed = share * sum(self.tokens.values()), 0
        for count, rows in self.tokens.items():
            passed += rows
            if passed >= reached:
                return count
        return 0

    def tables(self) -> tuple[TextTable, ...]:
        """The figures, and the kinds of warnings and errors."""
        total = sum(count * rows for count, rows in self.tokens.items())
        rows: list[tuple[Cell, ...]] = [
            ("rows", self.rows),
            ("prompts", sum(self.tokens.values())),
            ("tokens", total),
            ("tokens, smallest", self.quantile(0)),
            ("tokens, median", self.quantile(0.5)),
            ("tokens, 95 %", self.quantile(0.95)),
            ("tokens, largest", self.quantile(1)),
            ("trimmed prompts", self.evicted),
            ("cost", None if self.cost is None else money(self.cost)),
        ]
        kinds = (("warnings", self.warnings), ("errors", self.errors))
        tables = [TextTable(name, ("kind", "rows"), tuple(counts.items())) for name, counts in kinds if counts]
        return (TextTable("batch", ("", ""), tuple(rows)), *tables)

    def to_svg(self) -> str:
        """How many prompts have how many tokens, from none to the largest."""
        largest = self.quantile(1)
        bins = [0] * _BINS
        for count, rows in self.tokens.items():
            bins[min(count * _BINS // (largest + 1), _BINS - 1)] += rows
        most = max(bins) or 1
        return svg_plot(f"prompts by tokens, 0 to {largest:,}", {"prompts": [rows / most for rows in bins]})

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        shares = {"min": 0.0, "median": 0.5, "p95": 0.95, "max": 1.0}
        return {**facts, "tokens": {name: self.quantile(share) for name, share in shares.items()}}


class FigureSum:
    """Adds tables up; what it holds does not grow with their rows."""

    def __init__(self) -> None:
        self._tokens: Counter[int] = Counter()
        self._warnings: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._rows = self._evicted = 0
        self._cost: float | None = None

    def add(self, table: Any) -> None:
        """Add the rows of a result of `build_batch`."""
        facts = {name: table[name].to_pylist() for name in ("tokens", "evicted", "cost", "warnings", "error")}
        self._rows += table.num_rows
        self._tokens.update(count for count in facts["tokens"] if count is not None)
        self._evicted += sum(bool(count) for count in facts["evicted"])
        costs = [cost for cost in facts["cost"] if cost is not None]
        if costs:
            self._cost = (self._cost or 0.0) + sum(costs)
        self._warnings.update(kind for kinds in facts["warnings"] for kind in set(kinds or ()))
        errors = [msgspec.json.decode(text) for text in facts["error"] if text is not None]
        self._errors.update(f"{error['kind']}: {error['message'][:80]}" for error in errors)

    def built(self) -> Summary:
        """The figures so far."""
        return Summary(
            rows=self._rows,
            evicted=self._evicted,
            cost=self._cost,
            tokens=dict(sorted(self._tokens.items())),
            warnings=dict(self._warnings.most_common()),
            errors=dict(self._errors.most_common()),
        )
