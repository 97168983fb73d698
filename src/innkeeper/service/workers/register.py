"""The register of workers: the store at which they enrol, opened before the first call that needs it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from innkeeper.operations.workers import WorkerRegistry
from innkeeper.prompt.errors import UnavailableError
from innkeeper.prompt.once import once
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.library.library import Library


class WorkerRegister:
    """Gives the workers of the database that the settings name. Nothing is opened before the first call.

    Args:
        settings: whose database it is, and which hosts the operator allows.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._library: Library | None = None
        self.workers = once(self._open)

    def close(self) -> None:
        """Let go of the library."""
        if self._library is not None:
            self._library.close()

    def _open(self) -> WorkerRegistry:
        if find_spec("sqlalchemy") is None or self._settings.database is None:
            hint = "start the service with --database"
            raise UnavailableError("workers are kept in a library's database, and this service has none", hint=hint)
        from innkeeper.library.library import Library
        from innkeeper.library.workers.store import WorkerStore

        self._library = Library.open(self._settings.database, watch=False)
        return WorkerRegistry(WorkerStore(self._library.db), self._settings.egress.allowed)
