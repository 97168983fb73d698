"""Compare: two outputs joined by their rows' ids: what differs in prompt, tokens, cost and answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.budget.diff import money, signed
from innkeeper.data.rows import ID, REQUEST
from innkeeper.data.sources import open_rows
from innkeeper.prompt import FormatError, UsageError, Where
from innkeeper.prompt.data import parse_json
from innkeeper.prompt.report import ShowsTables, TextTable

_ROWS: Final = 1_024
_SHOWN: Final = 20
_ANSWER: Final = "answer"


class RowChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a row differs: ``added``, ``removed``, or ``changed`` in ``prompt`` or ``answer``.

    ``tokens`` and ``cost`` (US dollars) are what it has more.
    """

    id: str
    kind: str
    parts: tuple[str, ...] = ()
    tokens: int = 0
    cost: float = 0.0


class BatchComparison(ShowsTables, msgspec.Struct, frozen=True, kw_only=True):
    """The rows of both outputs, and those that differ, in the order of the second; removed ones come last."""

    rows: int
    same: int
    changes: tuple[RowChange, ...]

    def tables(self) -> tuple[TextTable, ...]:
        """How many rows differ by kind, and those whose tokens differ most."""
        kinds: dict[str, list[RowChange]] = {}
        for change in self.changes:
            kinds.setdefault(" and ".join((change.kind, *change.parts)) or change.kind, []).append(change)
        counts = [("same", self.same, "", "")]
        for kind, changes in kinds.items():
            tokens, cost = sum(change.tokens for change in changes), sum(change.cost for change in changes)
            counts.append((kind, len(changes), signed(tokens), money(cost)))
        largest = sorted(self.changes, key=lambda change: -abs(change.tokens))[:_SHOWN]
        rows = [(change.id, change.kind, ", ".join(change.parts), signed(change.tokens)) for change in largest]
        return (
            TextTable(f"{self.rows:,} rows", ("", "rows", "tokens", "cost"), tuple(counts)),
            TextTable("largest changes", ("row", "", "differs in", "tokens"), tuple(rows)),
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        return facts


class _RowFacts(NamedTuple):
    fingerprint: str | None
    tokens: int
    cost: float
    answer: str | None


def compare_batches(before: str | Path, after: str | Path) -> BatchComparison:
    """Compare two files that `run_batch` wrote, of any kind. Raises what reading them raises, `UsageError` for an id twice."""
    old = dict(_distinct(before))
    changes, same = [], 0
    for name, new in _distinct(after):
        known = old.pop(name, None)
        change = RowChange(name, "added", (), new.tokens, new.cost) if known is None else _change(name, known, new)
        if change is None:
            same += 1
        else:
            changes.append(change)
    changes += [RowChange(name, "removed", (), -facts.tokens, -facts.cost) for name, facts in old.items()]
    return BatchComparison(rows=same + len(changes), same=same, changes=tuple(changes))


def _change(name: str, old: _RowFacts, new: _RowFacts) -> RowChange | None:
    parts = [
        part
        for part, field in (("prompt", "fingerprint"), ("answer", "answer"))
        if getattr(old, field) != getattr(new, field)
    ]
    if not parts:
        return None
    return RowChange(name, "changed", tuple(parts), new.tokens - old.tokens, new.cost - old.cost)


def _distinct(path: str | Path) -> Iterator[tuple[str, _RowFacts]]:
    seen: set[str] = set()
    for row in _rows(path):
        name = str(row[ID])
        if name in seen:
            raise UsageError(
                f"two rows of {str(path)!r} have the id {name!r:.80}", hint="give each row an id of its own"
            )
        seen.add(name)
        yield name, _RowFacts(row["fingerprint"], int(row["tokens"]), float(row["cost"]), row.get(_ANSWER))


def _rows(path: str | Path) -> Iterator[Mapping[str, Any]]:
    """The rows of an output. Raises `FormatError` for a file that is none."""
    for table in open_rows([str(path)]).shards(_ROWS):
        for row in table.to_pylist():
            line = row.get(REQUEST)
            facts = row if line is None else parse_json(line, asset=str(path))
            if not isinstance(facts, Mapping) or "fingerprint" not in facts:
                raise FormatError(
                    "not an output of a batch: a row has no fingerprint",
                    where=Where(asset=str(path), line=row.get("line")),
                    hint="compare files that innkeeper batch wrote, in a form other than body",
                )
            figures = {name: float(facts.get(name) or 0) for name in ("tokens", "cost")}  # CSV has them as text
            yield {**facts, **figures}
