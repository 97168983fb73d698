"""Overview: where the library is, how much is in it, and what whoever looks may do."""

from __future__ import annotations

import msgspec

from innkeeper.service.inspector.library.shelf import Shelf, StoredShelf
from innkeeper.service.inspector.views.library import LibraryCounts, LibraryRights, LibraryView
from innkeeper.service.inspector.views.workspace import problem_of

__all__ = ["overview"]


def overview(shelf: Shelf, *, admin: bool) -> LibraryView:
    """The library at a glance; only an administrator is told where it is, and how much others did."""
    there = isinstance(shelf, StoredShelf)
    policy, rows = shelf.rules.policy, shelf.counts()
    problem = None if shelf.problem is None else problem_of(shelf.problem)
    if problem is not None and not admin:
        problem = msgspec.structs.replace(problem, where=None)
    return LibraryView(
        source=shelf.source,
        place=shelf.library.db.place if admin and isinstance(shelf, StoredShelf) else "",
        writable=there and admin,
        rights=LibraryRights(write=admin, oversee=admin),
        revision=shelf.revision,
        ceiling=policy.ceiling.value,
        policy=policy.version,
        counts=LibraryCounts(
            templates=rows.get("templates", 0),
            models=rows.get("api_models", 0),
            providers=rows.get("api_providers", 0),
            tools=rows.get("tools", 0),
            negatives=rows.get("negative_prompts", 0),
            calls=rows.get("enhancement_logs", 0) if admin else 0,
            secrets=rows.get("secrets", 0) if admin else 0,
        ),
        problem=problem,
    )
