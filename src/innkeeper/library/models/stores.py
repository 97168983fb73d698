"""The stores of named rows: negative prompts, providers, models, tools, secrets, settings.

All share `RowStore`; every change is recorded in the audit events, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from sqlalchemy import delete, insert, select, update

from innkeeper.inference.routing.price import ModelPricing
from innkeeper.library.catalogue.rows import CatalogueModel, CatalogueNegative, CatalogueProvider
from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import by_priority, checked, first_row, record, typed_rows
from innkeeper.library.db.tables.logs import audit_events
from innkeeper.library.db.tables.templates import (
    api_model_defaults,
    api_models,
    api_providers,
    negative_prompts,
    route_policies,
    secrets,
    settings,
    tools,
)
from innkeeper.library.errors import AlreadyExistsError, ConflictError, FieldError, NotFoundError, suggesting, with_near
from innkeeper.library.models.definitions import check_address, check_definition
from innkeeper.library.models.facts import TokenizerSpec
from innkeeper.library.models.json_columns import ModelCapabilities, RateLimits, check_json
from innkeeper.library.rows import RoutePolicyRow, SecretRow, SettingRow, StoredRow, StoredTool
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import UsageError, Where

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.engine import Connection


R = TypeVar("R", bound=StoredRow)


class RowStore(Generic[R]):
    """The rows of one table, as its structs."""

    table: ClassVar[Table]
    row: type[R]
    key: ClassVar[str] = "id"
    """The column by which a row is named."""

    json_columns: ClassVar[Mapping[str, Any]] = EMPTY
    """What JSON columns hold, by their names, where that is known: a struct or another type."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def add(self, values: Mapping[str, Any], *, who: str = "") -> R:
        """Add a row; an ``id`` is made where none is given.

        Raises:
            AlreadyExistsError: a row has the key, or what must be unique, already.
            FieldError: a value that its column does not take.
        """
        with self.db.publishing() as connection:
            return self._add(connection, values, who)

    def put(self, values: Mapping[str, Any], *, who: str = "") -> R:
        """Add a row, or change those columns of the row with the same key that ``values`` names. Raises `FieldError`."""
        with self.db.publishing() as connection:
            if self._find(connection, values.get(self.key)) is None:
                return self._add(connection, values, who)
            return self.update(
                values[self.key], {n: v for n, v in values.items() if n not in {"id", self.key}}, who=who
            )

    def update(self, key: str, changes: Mapping[str, Any], *, who: str = "") -> R:
        """Change some columns of a row and leave the others as whoever wrote them last. Raises `NotFoundError`, `FieldError`."""
        with self.db.publishing() as connection:
            before = self._get(connection, key)
            values = self._checked({**changes, **self._stamp()}, whole=False)
            connection.execute(update(self.table).where(self.table.c[self.key] == key).values(values))
            after = self._get(connection, values.get(self.key, key))
            self._admit(after, who)
            self._record(connection, "change", (before, after), who)
        return after

    def remove(self, key: str, *, who: str = "") -> R:
        """Take a row out and return what it was. Raises `NotFoundError`."""
        with self.db.publishing() as connection:
            before = self._get(connection, key)
            connection.execute(delete(self.table).where(self.table.c[self.key] == key))
            self._record(connection, "remove", (before, None), who)
        return before

    def get(self, key: str) -> R:
        """The row with this key. Raises `NotFoundError`."""
        with self.db.reading() as connection:
            return self._get(connection, key)

    def list(self, **where: Any) -> tuple[R, ...]:
        """The rows whose columns have these values, by priority where there is one, else by key."""
        conditions = [self.table.c[name] == value for name, value in checked(self.table, where, whole=False).items()]
        query = select(self.table).where(*conditions)
        ordered = (
            by_priority(query, self.table) if "priority" in self.table.c else query.order_by(self.table.c[self.key])
        )
        with self.db.reading() as connection:
            return typed_rows(connection.execute(ordered), self.row)

    def _add(self, connection: Connection, values: Mapping[str, Any], who: str) -> R:
        fresh = {"id": self.db.fresh_id()} if "id" in self.table.c and "id" not in values else {}
        row = {**fresh, **self._stamp(new=True), **values}
        try:
            connection.execute(insert(self.table), self._checked(row))
        except Exception as error:
            raise self._taken(error, row) from error
        after = self._get(connection, row[self.key])
        self._admit(after, who)
        self._record(connection, "add", (None, after), who)
        return after

    def _checked(self, values: Mapping[str, Any], *, whole: bool = True) -> dict[str, Any]:
        row = checked(self.table, values, whole=whole)
        for name, kind in self.json_columns.items():
            if row.get(name) is not None:
                check_json(self.table.name, name, row[name], kind)
        return row

    def _admit(self, row: R, who: str) -> None:
        """Raise where a row, as it would stand, may not be saved; the transaction is undone then."""

    def _taken(self, error: Exception, row: Mapping[str, Any]) -> Exception:
        from innkeeper.library.db.connection import translate

        translated = translate(error, self.db.location) if hasattr(error, "orig") else error
        if isinstance(translated, AlreadyExistsError):
            message = f"{self.table.name} has a row like {row[self.key]!r} already"
            return AlreadyExistsError(message, where=Where(asset=self.table.name))
        return translated

    def _stamp(self, *, new: bool = False) -> dict[str, str]:
        now = self.db.now()
        names = ("created_at", "updated_at") if new else ("updated_at",)
        return {name: now for name in names if name in self.table.c}

    def _find(self, connection: Connection, key: Any) -> R | None:
        if key is None:
            return None
        return first_row(connection.execute(select(self.table).where(self.table.c[self.key] == key)), self.row)

    def _get(self, connection: Connection, key: Any) -> R:
        row = self._find(connection, key)
        if row is None:
            what = self.table.name.removeprefix("api_").removesuffix("s").replace("_", " ")
            raise NotFoundError(f"there is no {what} {key!r}", where=Where(asset=self.table.name))
        return row

    def _record(self, connection: Connection, action: str, change: tuple[R | None, R | None], who: str) -> None:
        before, after = (None if row is None else row.to_dict() for row in change)
        resource = (self.table.name, str((after or before or EMPTY).get(self.key)))
        details = EMPTY if change[1] is None else self._details(connection, change[1])
        record(connection, self.db.now(), who, f"{self.table.name}.{action}", resource, (before, after), details)

    def _details(self, _connection: Connection, _row: R) -> Mapping[str, Any]:
        """What the audit event of a change notes beside the row."""
        return EMPTY


class NegativeStore(RowStore[CatalogueNegative]):
    """Fragments of negative prompts."""

    table = negative_prompts
    row = CatalogueNegative

    def _admit(self, row: CatalogueNegative, who: str) -> None:
        super()._admit(row, who)
        if not row.negative_prompt.strip():
            raise UsageError("a fragment must not be empty", hint="give it a text")

    def _taken(self, error: Exception, row: Mapping[str, Any]) -> Exception:
        taken = super()._taken(error, row)
        if isinstance(taken, AlreadyExistsError):
            text = row["negative_prompt"][:80]
            message = f"the family {row['model_type']!r} has the fragment {text!r} in this tier and mode already"
            return AlreadyExistsError(message, where=taken.where)
        return taken


class ProviderStore(RowStore[CatalogueProvider]):
    """Providers of models. ``secret_name`` names a secret of the vault, never its value."""

    table = api_providers
    row = CatalogueProvider
    key = "name"
    json_columns: ClassVar = {"rate_limits": RateLimits}

    def _admit(self, row: CatalogueProvider, who: str) -> None:
        super()._admit(row, who)
        check_address(self.table.name, row.base_url)

    def remove(self, key: str, *, who: str = "") -> CatalogueProvider:
        """Take a provider out. Raises `NotFoundError`, and `ConflictError` for one that still has models."""
        with self.db.publishing():
            models = ModelStore(self.db).list(provider_id=self.get(key).id)
            if models:
                keys = ", ".join(row.model_key for row in models[:5])
                raise ConflictError(f"{key!r} has {len(models)} models: {keys}", hint="remove them first")
            return super().remove(key, who=who)


TASKS: Final = (
    *("t2i", "i2i", "i2i_multi", "t2v", "i2v", "extend", "multi", "upscale"),
    *("roleplay", "reasoning", "enhancement", "embedding", "vision"),
)
"""What a model may do, by the requirement document; ``chat`` is a modality."""


class ModelStore(RowStore[CatalogueModel]):
    """Models by their key. A task has at most one default model, by construction."""

    table = api_models
    row = CatalogueModel
    key = "model_key"
    json_columns: ClassVar = {
        "tasks": tuple[str, ...],
        "capabilities": ModelCapabilities,
        "pricing": ModelPricing,
        "tokenizer": TokenizerSpec,
    }

    def _admit(self, row: CatalogueModel, who: str) -> None:
        super()._admit(row, who)
        where = Where(asset="api_models", path="tasks")
        for task in row.tasks:
            if task not in TASKS:
                error = FieldError(f"{task[:40]!r} is no task", where=where, hint=f"tasks: {', '.join(TASKS)}")
                raise with_near(error, task, TASKS)
        if row.context_window is not None and row.context_window < 1:
            raise FieldError("a context window is at least one token", where=Where("api_models", path="context_window"))

    def for_task(self, task: str, *, modality: str | None = None) -> tuple[CatalogueModel, ...]:
        """The active models that do a task: its default first, then by priority."""
        query = by_priority(select(api_models).where(api_models.c.is_active), api_models)
        with self.db.reading() as connection:
            rows = typed_rows(connection.execute(query), CatalogueModel)
            default = select(api_model_defaults.c.model_id).where(api_model_defaults.c.task == task)
            first = connection.execute(default).scalar()
        fit = (row for row in rows if task in row.tasks and modality in {None, row.modality})
        return tuple(sorted(fit, key=lambda row: row.id != first))

    def named(self, keys: Iterable[str | None]) -> tuple[CatalogueModel, ...]:
        """The models with these keys; those that there are not are left out."""
        known_keys = sorted({key for key in keys if key})
        if not known_keys:
            return ()
        query = select(api_models).where(api_models.c.model_key.in_(known_keys)).order_by(api_models.c.model_key)
        with self.db.reading() as connection:
            return typed_rows(connection.execute(query), CatalogueModel)

    def set_default(self, task: str, model_key: str) -> None:
        """Make a model the default for a task that it does. Raises `NotFoundError`, `FieldError`."""
        with self.db.publishing() as connection:
            model = self._get(connection, model_key)
            if task not in model.tasks:
                hint = f"its tasks: {', '.join(model.tasks) or 'none'}"
                raise FieldError(f"{model_key!r} does not do {task!r}", where=Where(asset="api_models"), hint=hint)
            connection.execute(delete(api_model_defaults).where(api_model_defaults.c.task == task))
            values = checked(api_model_defaults, {"task": task, "model_id": model.id})
            connection.execute(insert(api_model_defaults), values)

    def defaults(self) -> dict[str, str]:
        """The default model's key for each task that has one."""
        joined = api_model_defaults.join(api_models, api_models.c.id == api_model_defaults.c.model_id)
        query = select(api_model_defaults.c.task, api_models.c.model_key).select_from(joined)
        with self.db.reading() as connection:
            return dict(sorted((row.task, row.model_key) for row in connection.execute(query)))


class RoutePolicyStore(RowStore[RoutePolicyRow]):
    """How requests are routed: in which order, how often, for how long and for how much. A null column is the default."""

    table = route_policies
    row = RoutePolicyRow
    json_columns: ClassVar = {"criteria": tuple[str, ...]}
    key = "name"

    def _admit(self, row: RoutePolicyRow, who: str) -> None:
        super()._admit(row, who)
        where = Where(asset="route_policies", path="criteria")
        if not {*row.criteria} <= {*CRITERIA} or len({*row.criteria}) < len(row.criteria):
            raise FieldError("criteria are an order", where=where, hint=f"each at most once: {', '.join(CRITERIA)}")
        if any((bound := getattr(row, name)) is not None and bound <= 0 for name in _BOUNDS):
            raise FieldError("a bound is more than 0", where=where, hint=f"bounds: {', '.join(_BOUNDS)}")


CRITERIA: Final = ("busy", "price", "priority")
"""What deployments are ordered by."""

_BOUNDS: Final = ("attempts", "strikes", "seconds", "first_seconds", "open_seconds", "money")


class ToolStore(RowStore[StoredTool]):
    """Tools: what a model may call (``definition``), and who runs one: provider, model, secret, settings.

    ``secret_name`` names a secret of the vault, never its value.
    """

    table = tools
    row = StoredTool
    key = "name"

    def _admit(self, row: StoredTool, who: str) -> None:
        super()._admit(row, who)
        check_definition(row.definition)
        for url in (row.base_url, row.settings.get("base_url")):
            check_address(self.table.name, url if isinstance(url, str) else None)
        if row.provider is not None:
            with suggesting(row.provider, lambda: (each.name for each in ProviderStore(self.db).list())):
                ProviderStore(self.db).get(row.provider)


class SecretStore(RowStore[SecretRow]):
    """Encrypted secrets. What it lists and records is only that they exist; `ciphertext` is for the vault alone."""

    table = secrets
    row = SecretRow
    key = "name"

    def ciphertext(self, name: str) -> bytes:
        """The encrypted value, as it was stored. Raises `NotFoundError`."""
        with self.db.reading() as connection:
            self._get(connection, name)
            return self._sealed(connection, name)

    def recorded_digest(self, name: str) -> str | None:
        """The SHA-256 of the ciphertext that was stored last, by the audit event of it; None where an event does not tell."""
        actions = [f"{self.table.name}.{action}" for action in ("add", "change", "remove")]
        here = (audit_events.c.resource_type == self.table.name) & (audit_events.c.resource_id == name)
        query = select(audit_events.c.details).where(here, audit_events.c.action.in_(actions))
        with self.db.reading() as connection:
            details = connection.execute(query.order_by(audit_events.c.id.desc()).limit(1)).scalar()
        return details.get("ciphertext_sha256") if isinstance(details, Mapping) else None

    def _details(self, connection: Connection, row: SecretRow) -> Mapping[str, Any]:
        return {"ciphertext_sha256": sha256(self._sealed(connection, row.name)).hexdigest()}

    def _sealed(self, connection: Connection, name: str) -> bytes:
        return bytes(connection.execute(select(secrets.c.ciphertext).where(secrets.c.name == name)).scalar_one())


class SettingsStore(RowStore[SettingRow]):
    """Settings: a JSON value a key."""

    table = settings
    row = SettingRow
    key = "key"

    def set(self, key: str, value: Any, *, who: str = "") -> None:
        """Set a value. Raises `FieldError` for a null value, `UsageError` for what is not data."""
        self.put({"key": key, "value": value, "updated_by": who}, who=who)

    def value(self, key: str, default: Any = None) -> Any:
        """The value of a key, or ``default`` where it is not set."""
        with self.db.reading() as connection:
            row = self._find(connection, key)
        return default if row is None else row.value
