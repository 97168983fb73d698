"""Contents of the library as the inspector shows them: of a database, with all versions, or of a snapshot, with labels alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.catalogue.rows import CatalogueModel, CatalogueNegative, CatalogueProvider
from innkeeper.library.errors import NotFoundError, suggesting
from innkeeper.library.rows import StoredTool
from innkeeper.library.templates.publish import TemplateProblem, problems_of
from innkeeper.library.templates.template import PRODUCTION, TemplateEntry, TemplateVersion
from innkeeper.library.tiers.rules import OperatorRules
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.tokens import default_counter

if TYPE_CHECKING:
    from innkeeper.library.library import Library
    from innkeeper.library.templates.store import LabelEvent


Source = Literal["database", "snapshot", "builtin"]


class LibraryTables(NamedTuple):
    """The rows beside the templates."""

    models: tuple[CatalogueModel, ...]
    providers: tuple[CatalogueProvider, ...]
    negatives: tuple[CatalogueNegative, ...]
    tools: tuple[StoredTool, ...] = ()


class DatabaseContents:
    """The templates of a database that is open to be read."""

    source: Source = "database"
    problem = None

    def __init__(self, library: Library, catalogue: Callable[[], Catalogue]) -> None:
        self.library, self.catalogue = library, catalogue
        self._store = library.authoring.store

    @property
    def rules(self) -> OperatorRules:
        """The operator's rules, as they are now."""
        return self.library.database.read_rules()

    @property
    def revision(self) -> int:
        """The number that grows with every change."""
        return self.library.db.revision()

    def entries(self, search: str, after: str, limit: int) -> tuple[TemplateEntry, ...]:
        """Templates by name."""
        return self._store.list(limit=limit, after=after, search=search or None)

    def entry(self, name: str) -> TemplateEntry:
        """One of them. Raises `NotFoundError`, with near names."""
        with suggesting(name, self._store.names):
            shown, labels = self._store.get(name), self._store.labels(name)
        latest, held = shown.version, labels.get(PRODUCTION)
        if held is not None and held != latest:
            shown = self._store.get(name, version=held)
        return TemplateEntry(name, self._store.description(name), latest, labels, shown)

    def versions(self, name: str) -> tuple[TemplateVersion, ...]:
        """The versions of one, oldest first. Raises `NotFoundError`."""
        return self._store.versions(name)

    def moves(self, name: str) -> tuple[LabelEvent, ...]:
        """The moves of its labels in their order. Raises `NotFoundError`."""
        return self._store.history(name)

    def part(self, name: str, version: int) -> TemplateVersion | None:
        """A version that others include or extend."""
        try:
            return self._store.get(name, version=version)
        except NotFoundError:
            return None

    def problems(self, version: TemplateVersion) -> tuple[TemplateProblem, ...]:
        """Everything that is wrong with a version, were it published."""
        return self.library.authoring.validate(version)

    def window(self, model: str | None) -> int | None:
        """The context window of a model, in tokens."""
        from innkeeper.library.models.stores import ModelStore

        return next((row.context_window for row in ModelStore(self.library.db).named((model,))), None)

    def defaults(self) -> Mapping[str, str]:
        """The default model's key for each task that has one."""
        from innkeeper.library.models.stores import ModelStore

        return ModelStore(self.library.db).defaults()

    def counts(self) -> Mapping[str, int]:
        """The rows of its tables, by the tables' names."""
        from innkeeper.library.db.engine import status_of

        return status_of(self.library.db).rows

    def tables(self) -> LibraryTables:
        """Its rows, each kind in its order."""
        from innkeeper.library.models.stores import ModelStore, NegativeStore, ProviderStore, ToolStore

        db = self.library.db
        return LibraryTables(
            ModelStore(db).list(), ProviderStore(db).list(), NegativeStore(db).list(), ToolStore(db).list()
        )


class SnapshotContents:
    """The templates of a catalogue that was kept, or that comes with Innkeeper."""

    def __init__(self, catalogue: Catalogue, source: Source, problem: InnkeeperError) -> None:
        self.source, self.problem = source, problem
        self._catalogue = catalogue
        self._versions: dict[str, dict[int, TemplateVersion]] = {}
        self._labels: dict[str, dict[str, int]] = {}
        for version in (*catalogue.pinned, *(row.version for row in catalogue.labelled)):
            self._versions.setdefault(version.name, {})[version.version] = version
        for row in catalogue.labelled:
            self._labels.setdefault(row.version.name, {})[row.label] = row.version.version

    @property
    def rules(self) -> OperatorRules:
        """The defaults: nobody's rules can be read."""
        return OperatorRules()

    @property
    def revision(self) -> int:
        """That of the catalogue."""
        return self._catalogue.revision

    def catalogue(self) -> Catalogue:
        """What requests are answered from."""
        return self._catalogue

    def entries(self, search: str, after: str, limit: int) -> tuple[TemplateEntry, ...]:
        """Templates by name."""
        names = sorted(name for name in self._versions if name > after)
        entries = (self.entry(name) for name in names)
        needle = search.casefold()
        return tuple(one for one in entries if needle in f"{one.name}\n{one.shown.system_prompt}".casefold())[:limit]

    def entry(self, name: str) -> TemplateEntry:
        """One of them. Raises `NotFoundError`, with near names."""
        versions, labels = self._require(name), self._labels.get(name, {})
        latest = max(versions)
        shown = versions[labels.get(PRODUCTION, latest)]
        return TemplateEntry(name, "", latest, labels, shown)

    def _require(self, name: str) -> dict[int, TemplateVersion]:
        with suggesting(name, lambda: self._versions):
            if name not in self._versions:
                raise NotFoundError(f"there is no template {name[:200]!r}")
        return self._versions[name]

    def versions(self, name: str) -> tuple[TemplateVersion, ...]:
        """The versions of one, oldest first. Raises `NotFoundError`."""
        return tuple(version for _, version in sorted(self._require(name).items()))

    def moves(self, name: str) -> tuple[LabelEvent, ...]:
        """None are kept. Raises `NotFoundError`."""
        self._require(name)
        return ()

    def part(self, name: str, version: int) -> TemplateVersion | None:
        """A version that others include or extend."""
        return self._versions.get(name, {}).get(version)

    def problems(self, version: TemplateVersion) -> tuple[TemplateProblem, ...]:
        """Everything that is wrong with a version, were it published."""
        window = self.window(version.key.reader)
        return problems_of(version, lookup=self.part, window=window, counter=default_counter())

    def window(self, model: str | None) -> int | None:
        """The context window of a model, in tokens."""
        return next((row.context_window for row in self._catalogue.models if row.model_key == model), None)

    def defaults(self) -> Mapping[str, str]:
        """None are kept."""
        return {}

    def counts(self) -> Mapping[str, int]:
        """Those of its tables, by the tables' names."""
        catalogue = self._catalogue
        facts = {
            "api_models": catalogue.models,
            "api_providers": catalogue.providers,
            "negative_prompts": catalogue.negatives,
        }
        return {"templates": len(self._versions), **{name: len(rows) for name, rows in facts.items()}}

    def tables(self) -> LibraryTables:
        """The rows that the catalogue holds."""
        return LibraryTables(self._catalogue.models, self._catalogue.providers, self._catalogue.negatives)


LibraryContents = DatabaseContents | SnapshotContents
"""What the inspector shows. Both have the same attributes."""
