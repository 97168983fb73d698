"""The stores of the catalogue: negative prompts, providers, models, tools, secrets, settings, characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, ClassVar, Final

from sqlalchemy import delete, insert, select

from innkeeper.library.admission import admit, card_texts
from innkeeper.library.engine import Database
from innkeeper.library.errors import RowError
from innkeeper.library.row_store import RowStore
from innkeeper.library.rows import by_priority, checked, frozen_rows
from innkeeper.library.tables import (
    api_model_defaults,
    api_models,
    api_providers,
    characters,
    negative_prompts,
    secrets,
    settings,
    tools,
)
from innkeeper.library.tier_gate import Entry, TierGate
from innkeeper.prompt.errors import Where
from innkeeper.prompt.frozen import FrozenDict

__all__ = [
    "CharacterStore",
    "ModelStore",
    "NegativeStore",
    "ProviderStore",
    "SecretStore",
    "SettingsStore",
    "ToolStore",
]


class NegativeStore(RowStore):
    """Fragments of negative prompts."""

    table = negative_prompts

    def pick(
        self, model_type: str, content_mode: str = "sfw", generation_mode: str = "txt2img"
    ) -> tuple[FrozenDict, ...]:
        """The active fragments for a model family, tier and generation mode, in their order."""
        here = {"model_type": model_type, "content_mode": content_mode, "generation_mode": generation_mode}
        return self.list(**here, is_active=True)


class ProviderStore(RowStore):
    """Providers of models. ``secret_name`` names a secret of the vault, never its value."""

    table = api_providers
    key = "name"


class ModelStore(RowStore):
    """Models by their key. A task has at most one default model, by construction."""

    table = api_models
    key = "model_key"

    def _admit(self, row: FrozenDict, who: str) -> None:
        super()._admit(row, who)
        if not all(isinstance(task, str) for task in row["tasks"]):
            raise RowError("tasks must be texts", where=Where(asset="api_models", path="tasks"))
        if not isinstance(row["tokenizer"], (Mapping, NoneType)):
            raise RowError("tokenizer must be an object", where=Where(asset="api_models", path="tokenizer"))

    def for_task(self, task: str, *, modality: str | None = None) -> tuple[FrozenDict, ...]:
        """The active models that do a task: its default first, then by priority."""
        query = by_priority(select(api_models).where(api_models.c.is_active), api_models)
        with self.db.reading() as connection:
            rows = frozen_rows(connection.execute(query))
            first = self._default(connection, task)
        fit = (row for row in rows if task in row["tasks"] and modality in {None, row["modality"]})
        return tuple(sorted(fit, key=lambda row: row["id"] != first))

    def named(self, keys: Iterable[str | None]) -> tuple[FrozenDict, ...]:
        """The models with these keys; those that there are not are left out."""
        wanted = sorted({key for key in keys if key})
        if not wanted:
            return ()
        query = select(api_models).where(api_models.c.model_key.in_(wanted)).order_by(api_models.c.model_key)
        with self.db.reading() as connection:
            return frozen_rows(connection.execute(query))

    def set_default(self, task: str, model_key: str) -> None:
        """Make a model the default for a task that it does. Raises `UnknownRowError`, `RowError`."""
        with self.db.publishing() as connection:
            model = self._get(connection, model_key)
            if task not in model["tasks"]:
                hint = f"its tasks: {', '.join(model['tasks']) or 'none'}"
                raise RowError(f"{model_key!r} does not do {task!r}", where=Where(asset="api_models"), hint=hint)
            connection.execute(delete(api_model_defaults).where(api_model_defaults.c.task == task))
            values = checked(api_model_defaults, {"task": task, "model_id": model["id"]})
            connection.execute(insert(api_model_defaults), values)

    def defaults(self) -> dict[str, str]:
        """The default model's key for each task that has one."""
        joined = api_model_defaults.join(api_models, api_models.c.id == api_model_defaults.c.model_id)
        query = select(api_model_defaults.c.task, api_models.c.model_key).select_from(joined)
        with self.db.reading() as connection:
            return dict(sorted((row.task, row.model_key) for row in connection.execute(query)))

    def _default(self, connection: Any, task: str) -> str | None:
        query = select(api_model_defaults.c.model_id).where(api_model_defaults.c.task == task)
        found: str | None = connection.execute(query).scalar()
        return found


class ToolStore(RowStore):
    """Tools that models may call."""

    table = tools
    key = "name"


class SecretStore(RowStore):
    """Encrypted secrets. What it lists and records is only that they exist; `ciphertext` is for the vault alone."""

    table = secrets
    key = "name"
    hidden: ClassVar[frozenset[str]] = frozenset({"ciphertext"})

    def ciphertext(self, name: str) -> bytes:
        """The encrypted value, as it was stored. Raises `UnknownRowError`."""
        with self.db.reading() as connection:
            return bytes(self._get(connection, name)["ciphertext"])


class SettingsStore(RowStore):
    """Settings: a JSON value a key."""

    table = settings
    key = "key"

    def set(self, key: str, value: Any, *, who: str = "") -> None:
        """Set a value. Raises `RowError` for a null value, `UsageError` for what is not data."""
        self.put({"key": key, "value": value, "updated_by": who}, who=who)

    def value(self, key: str, default: Any = None) -> Any:
        """The value of a key, or ``default`` where it is not set."""
        with self.db.reading() as connection:
            found = self._find(connection, key)
        return default if found is None else found["value"]


_NO_TEXTS: Final = frozenset(
    {"id", "user_id", "content_rating", "role", "moderation_status", "consistency_method", "created_at", "updated_at"}
)
"""Columns of ``characters`` that nobody writes texts in."""


class CharacterStore(RowStore):
    """Characters: private and of the general tier unless said otherwise; the adult tier needs a declared adult age.

    Each is judged as a whole, in its own tier, before it is saved. ``gate`` is asked instead of the operator's in the database.
    What is blocked is not saved: `add`, `put` and `update` raise `TierBlockedError`, and an audit event tells of it.
    """

    table = characters

    def __init__(self, db: Database, gate: TierGate | None = None) -> None:
        super().__init__(db)
        self._gate = gate

    def _admit(self, row: FrozenDict, who: str) -> None:
        texts, resource = card_texts(row, _NO_TEXTS), (self.table.name, str(row["id"]))
        admit(self.db, Entry.CARD, texts, row["content_rating"], resource=resource, who=who, gate=self._gate)

    def of_user(self, user_id: str) -> tuple[FrozenDict, ...]:
        """A user's own characters by name."""
        return tuple(sorted(self.list(user_id=user_id), key=lambda row: (row["name"], row["id"])))
