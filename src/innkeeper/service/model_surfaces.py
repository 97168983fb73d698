"""The model surfaces of one application, beside one another: who answers, and the routes."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from threading import Thread
from typing import Final

from innkeeper.gate.gate import warm_gate
from innkeeper.inference.routing.models import Models, RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.prompt.machine import utc_now
from innkeeper.service.answers import CompletionHandler
from innkeeper.service.anthropic.routes import anthropic_pages
from innkeeper.service.door_gate import DoorGate
from innkeeper.service.openai.routes import openai_pages
from innkeeper.service.openai.store import ResponseStore, responses_in_memory
from innkeeper.service.pages import PageTable
from innkeeper.service.settings import Settings

_LATE: Final = ("aiohttp", "httpx", "innkeeper.dialects.registry", "innkeeper.inference.adapters.registry")
"""What is imported when it is first used otherwise: in the middle of a call, while all others wait."""


def warm() -> None:
    """Import what the first call needs."""
    for name in _LATE:
        with suppress(ModuleNotFoundError):
            import_module(name)
    Thread(
        target=warm_gate, daemon=True, name="innkeeper-gate"
    ).start()  # a call that comes before it ends waits for it


class ModelRoutes:
    """The model surfaces. Close them with the application.

    Args:
        models: who answers; the model on this machine where left out.
        store: where responses are kept; in memory where left out.
        gate: judges what is asked and answered; the packaged lists, and nothing doubtful, where left out.
    """

    def __init__(
        self, models: Models | None = None, store: ResponseStore | None = None, gate: DoorGate | None = None
    ) -> None:
        self._gate = gate
        self.models = RouteModels(Routes.read()) if models is None else models
        self._store = responses_in_memory() if store is None else store

    def tables(self) -> tuple[PageTable, ...]:
        """The pages of each surface."""
        completions, started = CompletionHandler(self.models, self._gate), int(utc_now().timestamp())
        return openai_pages(completions, self._store, started), anthropic_pages(completions)

    async def close(self) -> None:
        """Let go of connections and models."""
        await self.models.close()
        await self._store.close()


def response_store(settings: Settings) -> ResponseStore:
    """Where responses are kept. Raises `DatabaseError`, and `UnavailableError` without the library's extra."""
    if settings.states == "memory":
        return responses_in_memory()
    from innkeeper.lazy import require

    require("sqlalchemy")
    from innkeeper.library.db.engine import Database
    from innkeeper.library.log.stored_responses import StoredResponses

    rows = StoredResponses(Database.open(settings.database))
    return ResponseStore(lambda: rows)
