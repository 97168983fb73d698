"""Prompts over HTTP: ``POST /v1/prompts/build|explain|diff|count``, ``GET /v1/prompts/plans/{number}``; profiles as models."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Final

import msgspec
from starlette.requests import Request as WebRequest
from starlette.responses import Response

from innkeeper.conversation.state import StateStore
from innkeeper.inference.routing.models import AnyOf, Models, RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.lazy import require
from innkeeper.prompt.errors import ConfigError, InnkeeperError
from innkeeper.service.error_facts import refusal
from innkeeper.service.exchange import Request
from innkeeper.service.guard.application import response
from innkeeper.service.guard.guard import lower_headers
from innkeeper.service.openapi.document import OBJECT, operation, parameter
from innkeeper.service.pages import Page, PageTable
from innkeeper.service.processes.pool import Pool
from innkeeper.service.prompts.answer import HIDDEN_HEADER, PREFIX, PROFILES_HEADER
from innkeeper.service.prompts.operations import OPERATIONS
from innkeeper.service.prompts.plans import PlanStore
from innkeeper.service.prompts.profile_models import ProfileModels
from innkeeper.service.prompts.tasks import PLANS, TURN
from innkeeper.service.settings import Settings
from innkeeper.service.web import ticket_of
from innkeeper.taverns.profiles.opened import Profiles

if TYPE_CHECKING:
    from innkeeper.service.prompts.stored_profiles import StoredFolders


class PromptSurface:
    """Prompts of one application: the routes, and ``models``, which are those that are given with the profiles beside them.

    Args:
        settings: the folders of profiles, and what callers may do.
        pool: the workers.
        models: what answers; the model on this machine where left out.
        stored: the stored profiles, where they are served.

    Raises:
        ConfigError: there are profiles, and what answers has no routes.
        UnavailableError: a folder has no profile.
        UsageError: two profiles have one name.
    """

    def __init__(
        self, settings: Settings, pool: Pool, models: Models | None = None, stored: StoredFolders | None = None
    ) -> None:
        self._pool, self._keys, self._stored = pool, settings.keys, stored
        self.plans = PlanStore()
        self.models: Models = RouteModels(Routes.read()) if models is None else models
        self.local = getattr(self.models, "local", None)
        """The models that run beside this process, where routes use them."""
        if not settings.profiles and stored is None:
            return
        if not isinstance(self.models, RouteModels):
            raise ConfigError("profiles want routes to be answered by", hint="pass models=RouteModels(...), or none")
        there = Profiles(settings.profiles, settings.profile_folder)
        if stored is not None:
            stored.changed = there.refresh
        profiles = ProfileModels(there, self.models, pool, states=_states(settings), plans=self.plans, stored=stored)
        self.models = AnyOf(profiles, self.models)

    def pages(self) -> PageTable:
        """The pages."""
        bodies, schemas = msgspec.json.schema_components(
            [each.request for each in OPERATIONS.values()], ref_template="#/components/schemas/{name}"
        )
        pages = [
            Page(
                "POST",
                PREFIX + name,
                self._operate,
                operation(each.summary, "prompts", body=body, reply=OBJECT, error="OpenAIError"),
            )
            for (name, each), body in zip(OPERATIONS.items(), bodies, strict=True)
        ]
        return PageTable([*pages, Page("GET", f"{PLANS}{{number}}", self._plan, _PLAN)], schemas)

    def followed(self) -> AbstractAsyncContextManager[None]:
        """Follow the stored profiles meanwhile."""
        return nullcontext() if self._stored is None else self._stored.followed()

    async def _operate(self, web: WebRequest) -> Response:
        ticket = ticket_of(web)
        patterns = ticket.grant.profile
        hidden = () if self._stored is None else self._stored.hidden(ticket.grant.tenant, ticket.owner)
        headers = {
            **lower_headers(web.scope),
            PROFILES_HEADER: ",".join(("*",) if patterns is None else patterns),
            HIDDEN_HEADER: ",".join(hidden),
        }
        return await self._answered(web, Request("POST", web.scope["path"], "", headers, await web.body()))

    async def _plan(self, web: WebRequest) -> Response:
        try:
            turn = self.plans.get(ticket_of(web).caller, web.path_params["number"])
        except InnkeeperError as error:
            return response(refusal(PREFIX, error))
        return await self._answered(web, Request(TURN, PLANS, turn.digest, lower_headers(web.scope), turn.task))

    async def _answered(self, web: WebRequest, asked: Request) -> Response:
        ticket = ticket_of(web)
        try:
            reply = await self._pool.answer(asked, ticket.caller)
            ticket.carry(len(reply.body))
        except InnkeeperError as error:
            return response(refusal(PREFIX, error))
        return response(reply)


_PLAN: Final = operation(
    "The plan behind an answer.",
    "prompts",
    reply=OBJECT,
    error="OpenAIError",
    parameters=[parameter("number", "what `x-innkeeper-plan` says")],
)


def _states(settings: Settings) -> StateStore:
    """Where conversations are kept between turns. Raises `DatabaseError`, and `UnavailableError` without the library's extra."""
    require("sqlalchemy")
    from innkeeper.library.db.engine import Database
    from innkeeper.library.log.conversation_states import ConversationStates

    if settings.states == "memory":
        return ConversationStates.private()
    return ConversationStates(Database.open(settings.database))
