"""Runs: the prompt service as the server has it: with the library's tools where there is a library, and always the model here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from innkeeper.gate.bodies import texts_of_body
from innkeeper.inference.response.views import legacy
from innkeeper.library.prompts.llm_factory import LLMFactory
from innkeeper.library.prompts.prompt_service import AsyncPromptService, PreparedRun, PromptRun, event_of
from innkeeper.library.prompts.tool_config import LOCAL_TOOL, Secrets, ToolDAO, ToolNotFoundError, Tools, VaultDAO
from innkeeper.prompt.data import EMPTY, thaw
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.typed.once import once
from innkeeper.service.door_gate import DoorGate
from innkeeper.service.guard.grants import OPEN
from innkeeper.service.guard.work import current_ticket
from innkeeper.taverns.profiles.opened import Profiles

if TYPE_CHECKING:
    from innkeeper.inference.local.shared import LocalModels
    from innkeeper.library.library import Library
    from innkeeper.service.settings import Settings

PROFILE_DOORS: Final = "/v1/chat/completions, /v1/responses, /v1/messages or /v1/roleplay"
"""Where profiles are asked."""


class Runs:
    """See `innkeeper.service.connect.connect.PromptRuns`. Nothing is opened before the first call.

    ``local`` are the models that run beside this process, where others ask them, too; whoever made them closes them. ``gate``
    judges what is asked and answered.
    """

    def __init__(self, settings: Settings, local: LocalModels | None = None, gate: DoorGate | None = None) -> None:
        self._settings, self._local, self._gate = settings, local, gate or DoorGate(settings.gate)
        self._library: Library | None = None
        self._service = once(self._open)
        self._opened = False

    async def run(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer, as the document draws it."""
        with self._profiles_named(request):
            service = self._service()
            prepared = await self._prepared(service, request)
            ran = await service.run_prepared(prepared)
            await self._judge({**texts_of_body(thaw(prepared.body)), "model_output": ran.response.text})
        _answered(ran)
        return legacy.whole(ran.response)

    async def stream(self, request: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
        """The answer as events."""
        with self._profiles_named(request):
            service = self._service()
            prepared = await self._prepared(service, request)
            async with aclosing(service.stream_prepared(prepared, prepared.request(stream=True))) as events:
                async for event in events:
                    if isinstance(event, PromptRun):
                        await self._judge({**texts_of_body(thaw(prepared.body)), "model_output": event.response.text})
                        _answered(event)
                    shown = event_of(event)
                    if shown is not None:
                        yield shown

    async def _prepared(self, service: AsyncPromptService, request: Mapping[str, Any]) -> PreparedRun:
        """What a request will send, once it is judged. Raises `TierBlockedError`, and what preparing raises."""
        prepared = await asyncio.to_thread(service.prepare, request)
        await self._judge(texts_of_body(thaw(prepared.body)))
        return prepared

    async def _judge(self, texts: Mapping[str, str]) -> None:
        ticket = current_ticket()
        await self._gate.require(texts, self._gate.terms(OPEN if ticket is None else ticket.grant, None, EMPTY))

    @contextmanager
    def _profiles_named(self, request: Mapping[str, Any]) -> Iterator[None]:
        """Say of a name that is no tool's but a profile's where a profile is asked."""
        try:
            yield
        except ToolNotFoundError as error:
            name, known = request.get("tool_name"), False
            with suppress(InnkeeperError):
                known = name in Profiles(self._settings.profiles)
            if known:
                error.hint = f"{name!r} is a profile: ask it as a model at {PROFILE_DOORS}"
            raise

    async def close(self) -> None:
        """Let go of the library, of connections, and of models that run beside this process."""
        if self._opened:
            await self._service().close()
        if self._library is not None:
            self._library.close()

    def _open(self) -> AsyncPromptService:
        tools, vault = self._ports()
        self._opened = True
        return AsyncPromptService(tools, vault, LLMFactory(local=self._local, egress=self._settings.egress, named=True))

    def _ports(self) -> tuple[ToolDAO, VaultDAO]:
        """The tools and the vault of the library; without the extra, or without a database, the tool of the model here."""
        database = self._settings.database
        if find_spec("sqlalchemy") is None or not (database or _has_database()):
            return Tools(LOCAL_TOOL), Secrets()
        from innkeeper.library.library import Library

        self._library = Library.open(database, watch=False)
        return Tools(LOCAL_TOOL, db=self._library.db), Secrets(self._library.vault)


def _answered(ran: PromptRun) -> None:
    ticket = current_ticket()
    if ticket is not None:
        ticket.record.answered(ran.response)


def _has_database() -> bool:
    """Whether the environment names a database, or a file is there where one is by default."""
    from innkeeper.library.db.connection import find_target

    path = find_target().path
    return path is None or path.exists()
