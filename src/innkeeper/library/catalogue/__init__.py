"""The catalogue that requests are answered from: how it is resolved, where it is read, and how it stays current."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.catalogue.catalogue import AnswerSource as AnswerSource
    from innkeeper.library.catalogue.catalogue import Catalogue as Catalogue
    from innkeeper.library.catalogue.database_source import DatabaseSource as DatabaseSource
    from innkeeper.library.catalogue.database_source import Follower as Follower
    from innkeeper.library.catalogue.database_source import Watcher as Watcher
    from innkeeper.library.catalogue.library_database import CacheView as CacheView
    from innkeeper.library.catalogue.resolver import Execution as Execution
    from innkeeper.library.catalogue.resolver import LevelOutcome as LevelOutcome
    from innkeeper.library.catalogue.resolver import Resolution as Resolution
    from innkeeper.library.catalogue.resolver import ResolutionStep as ResolutionStep
    from innkeeper.library.catalogue.resolver import ResolveRequest as ResolveRequest
    from innkeeper.library.catalogue.resolver import resolve as resolve
    from innkeeper.library.catalogue.snapshot import Snapshot as Snapshot
    from innkeeper.library.catalogue.snapshot import SnapshotFile as SnapshotFile
    from innkeeper.library.catalogue.snapshot import catalogue_of as catalogue_of
    from innkeeper.library.catalogue.snapshot import snapshot_of as snapshot_of
    from innkeeper.library.catalogue.sources import CatalogueSource as CatalogueSource
    from innkeeper.library.catalogue.sources import Sources as Sources

_HOMES: Final = {
    "AnswerSource": "catalogue",
    "CacheView": "library_database",
    "Catalogue": "catalogue",
    "CatalogueSource": "sources",
    "DatabaseSource": "database_source",
    "Execution": "resolver",
    "Follower": "database_source",
    "LevelOutcome": "resolver",
    "Resolution": "resolver",
    "ResolutionStep": "resolver",
    "ResolveRequest": "resolver",
    "Snapshot": "snapshot",
    "SnapshotFile": "snapshot",
    "Sources": "sources",
    "Watcher": "database_source",
    "catalogue_of": "snapshot",
    "resolve": "resolver",
    "snapshot_of": "snapshot",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
