"""Moderation: what people write for others, cards and scenes, passes the tier gate before it is saved.

A text is judged in its own tier, whether the installation has that tier or not, together with all other texts of its row. One
that is blocked leaves an audit event and nothing else; none is ever changed (dynamic-prompting reference 3.2, S1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from innkeeper.gate.gate import TextKind, TierGate
from innkeeper.gate.tier import Decision
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import TierBlockedError
from innkeeper.library.tiers.rules import rules_of
from innkeeper.prompt.errors import InnkeeperError, Where

if TYPE_CHECKING:
    from innkeeper.library.db.engine import Database


def moderate(
    db: Database,
    entry: TextKind,
    texts: Mapping[str, str],
    tier: Any,
    *,
    resource: tuple[str, str],
    who: str = "",
    gate: TierGate | None = None,
) -> None:
    """Let texts be saved for a tier, or not.

    Args:
        db: where the operator's policy and lists are read, and the event is recorded.
        entry: what they are, ``card`` or ``scene``.
        texts: by the name of their column.
        tier: for which tier they are.
        resource: the table and the row, for the event.
        who: who saves them.
        gate: asked instead of the operator's.

    Raises `TierBlockedError`; the event is recorded once the transaction has ended.
    """
    if not texts:
        return
    asked = gate or rules_of(db).gate
    decision, event = asked.check_saved({f"{entry}:{name}": text for name, text in texts.items()}, tier)
    if decision.decision is not Decision.BLOCK:
        return
    db.afterwards(lambda: _record(db, who, resource, event))
    where = Where(asset=resource[0])
    raise TierBlockedError(
        decision.decision.value, decision.effective.value, decision.categories, decision.reasons, where=where
    )


def _record(db: Database, who: str, resource: tuple[str, str], event: Mapping[str, Any]) -> None:
    """The block stands where it cannot be recorded."""
    try:
        AuditStore(db).append("tier.block", actor=who, resource=resource, details=event)
    except InnkeeperError:
        return


def row_texts(row: Mapping[str, Any], without: Collection[str]) -> dict[str, str]:
    """Every text of a row by its column, those of JSON columns on lines of their own; ``without`` are columns to leave out."""
    texts = {name: "\n".join(_leaves(value)) for name, value in row.items() if name not in without}
    return {name: text for name, text in texts.items() if text.strip()}


def _leaves(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting += [*item.values(), *item.keys()]
        elif isinstance(item, (list, tuple)):
            waiting += reversed(item)
