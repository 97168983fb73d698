"""CacheView: the catalogue in memory, the snapshot beside it and the cache of texts, to look at and to build anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from innkeeper.library.errors import SnapshotError
from innkeeper.library.shelf import KeptShelf
from innkeeper.library.snapshot import SnapshotFile, snapshot_of
from innkeeper.library.tier import Tier
from innkeeper.prompt.errors import InnkeeperError

if TYPE_CHECKING:
    from innkeeper.library.library import Library

__all__ = ["CacheView", "SnapshotFacts"]


class SnapshotFacts(msgspec.Struct, frozen=True):
    """The snapshot in its file. ``problem`` says why it cannot be used, and is empty where it can."""

    path: str
    problem: str = ""
    revision: int | None = None
    templates: int = 0
    content_sha256: str = ""


class CacheView:
    """Made by `Library.cache`."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def show(self) -> dict[str, Any]:
        """What is in memory and in the snapshot, how often memory answered, by which rules; JSON-ready."""
        library = self._library
        found = library.catalogue
        labels: dict[str, int] = {}
        for row in found.labelled:
            labels[row.label] = labels.get(row.label, 0) + 1
        tally, texts, rules = library.sources.tally, library.texts.figures(), library.rules
        unkept = library.sources.unkept
        return {
            "revision": found.revision,
            "source": found.source.value,
            "degraded": list(found.degraded),
            "templates": len(found),
            "labels": dict(sorted(labels.items())),
            "negatives": len(found.negatives),
            "models": len(found.models),
            "providers": len(found.providers),
            "ceiling": found.ceiling.value,
            "age_s": library.cache_age(),
            "resolutions": tally.total,
            "hit_rate": round(tally.hit_rate, 6),
            "texts": {**msgspec.structs.asdict(texts), "hit_rate": round(texts.hit_rate, 6)},
            "rules": {"policy": rules.policy.version, "lexicon": rules.gate.detector.lexicon_version},
            "problems": [*rules.problems, *(() if unkept is None else (f"snapshot:{unkept.kind}",))],
            "snapshot": msgspec.structs.asdict(self.snapshot()),
        }

    def snapshot(self) -> SnapshotFacts:
        """The snapshot in its file, verified."""
        path = self._library.snapshot
        try:
            kept = SnapshotFile(path, ceiling=Tier.NSFW).load()
        except SnapshotError as error:
            return SnapshotFacts(str(path), error.message)
        return SnapshotFacts(str(path), "", kept.revision, len(kept), snapshot_of(kept).content_sha256)

    def rebuild(self) -> dict[str, Any]:
        """Read everything from the database, verify it, and keep it as the snapshot, in its file and in the database.

        Raises:
            DatabaseError: the database does not answer; memory and snapshot stay as they were.
            MissingFileError: the file cannot be written.
        """
        from innkeeper.library.database_source import DatabaseSnapshots

        library = self._library
        shelf = library._shelf  # noqa: SLF001 - a part of the library
        fresh = shelf.load()
        KeptShelf(library.snapshot, shelf).store(fresh)
        problem = ""
        try:
            DatabaseSnapshots(library.db).store(fresh)
        except InnkeeperError as error:
            problem = error.kind
        library.refresh()
        made = snapshot_of(fresh)
        facts = {"revision": fresh.revision, "templates": len(fresh), "path": str(library.snapshot)}
        return {**facts, "content_sha256": made.content_sha256, "size": len(made.payload), "problem": problem}
