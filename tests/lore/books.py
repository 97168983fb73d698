"""Small books and scans for the tests of lore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innkeeper.content.lorebook import Lorebook
from innkeeper.lore import LoreInput, LoreResult, LoreScope, LoreSettings, ScanSources, ScopedBook, compile_lore, scan
from innkeeper.prompt.determinism import Mulberry32


def entry(uid: int, *keys: str, **fields: Any) -> dict[str, Any]:
    """A world-info entry with these keys; its content is ``E<uid>`` unless given."""
    return {
        "uid": uid,
        "key": list(keys),
        "content": f"E{uid}",
        "order": 100,
        "useProbability": True,
        "probability": 100,
    } | fields


def book(*entries: dict[str, Any]) -> Lorebook:
    """A book of world-info entries."""
    return Lorebook.of({"entries": {str(item["uid"]): item for item in entries}})


def scoped_books() -> list[ScopedBook]:
    """A book in each scope with orders 1 and 3, or 2 and 4, and uids that say the scope."""
    orders = {LoreScope.GLOBAL: (1, 3), LoreScope.CHARACTER: (2, 4), LoreScope.PERSONA: (1, 2), LoreScope.CHAT: (2, 1)}
    return [
        ScopedBook(scope, scope, book(*(entry(number, "k", order=order) for number, order in enumerate(pair))))
        for scope, pair in orders.items()
    ]


def run(
    entries: Sequence[dict[str, Any]],
    *messages: str,
    settings: LoreSettings | None = None,
    sources: ScanSources | None = None,
    **fields: Any,
) -> LoreResult:
    """Scan ``messages`` (newest first) with one global book called ``B``. One token a character."""
    chosen = settings or LoreSettings(depth=10)
    given: dict[str, Any] = {
        "settings": chosen,
        "messages": messages,
        "sources": sources or ScanSources(),
        "budget": 1000,
        "length": len(messages),
        "random": Mulberry32(1),
        "count": len,
        "substitute": str,
        "report": lambda _what, _why: None,
    }
    lore = compile_lore([ScopedBook("B", LoreScope.GLOBAL, book(*entries))], chosen)
    return scan(lore, LoreInput(**{**given, **fields}))


def fired(result: LoreResult) -> list[Any]:
    """The ids of what fired, in activation order."""
    return [item.uid for item in result.activated]


def verdict(result: LoreResult, uid: int) -> Any:
    """The verdict about one entry."""
    return next(item for item in result.verdicts if item.uid == uid)
