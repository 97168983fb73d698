"""Prompts over HTTP: ``POST /v1/prompts/…``, ``GET /v1/prompts/plans/{number}``; profiles as models."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Final

import msgspec
from starlette.requests import Request as WebRequest
from starlette.responses import Response

from innkeeper.conversation.state import ConversationState
from innkeeper.gate.judgement import Judgement
from innkeeper.inference.routing.models import AnyOf, Models, RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.lazy import require
from innkeeper.prompt import fresh_seed, utc_now
from innkeeper.prompt.data import to_json
from innkeeper.prompt.errors import ConfigError, InnkeeperError
from innkeeper.prompt.typed.json_schema import json_schemas
from innkeeper.service.door_gate import GATE, TIER, DoorGate
from innkeeper.service.error_facts import refusal
from innkeeper.service.exchange import Request
from innkeeper.service.guard.application import response
from innkeeper.service.guard.guard import lower_headers
from innkeeper.service.guard.work import Ticket
from innkeeper.service.openapi.document import OBJECT, operation, parameter
from innkeeper.service.pages import Page, PageTable
from innkeeper.service.processes.pool import Pool
from innkeeper.service.prompts.answer import HIDDEN_HEADER, PREFIX, PROFILES_HEADER
from innkeeper.service.prompts.operations import OPERATIONS, PromptPair, PromptSource, previewed
from innkeeper.service.prompts.plans import PlanStore
from innkeeper.service.prompts.profile_models import ProfileModels
from innkeeper.service.prompts.tasks import PLANS, TURN, PreviewTask, TurnTask
from innkeeper.service.settings import Settings
from innkeeper.service.web import json_body, ticket_of
from innkeeper.taverns.profiles.opened import Profiles

if TYPE_CHECKING:
    from innkeeper.library.log.conversation_states import ConversationStates
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
        self.gate = DoorGate(settings.gate)
        self._pool, self._keys, self._stored = pool, settings.keys, stored
        self.plans = PlanStore()
        self.routes = self.models = RouteModels(Routes.read()) if models is None else models
        self._profiles: ProfileModels | None = None
        self.local = getattr(self.models, "local", None)
        """The models that run beside this process, where routes use them."""
        if not settings.profiles and stored is None:
            return
        if not isinstance(self.models, RouteModels):
            raise ConfigError("profiles want routes to be answered by", hint="pass models=RouteModels(...), or none")
        there = Profiles(settings.profiles, settings.profile_folder)
        if stored is not None:
            stored.changed = there.refresh
        states = _states(settings)
        if settings.states == "database":
            from innkeeper.library.log.stored_responses import StoredResponses

            self.plans = PlanStore(rows=StoredResponses(states.db))
        self._profiles = ProfileModels(there, self.models, pool, states=states, plans=self.plans, stored=stored)
        self.models = AnyOf(self._profiles, self.models)

    def pages(self) -> PageTable:
        """The pages."""
        bodies, schemas = json_schemas([each.request for each in OPERATIONS.values()], "#/components/schemas/{name}")
        pages = [
            Page(
                "POST",
                PREFIX + name,
                self._operate,
                operation(each.summary, "prompts", body=body, reply=OBJECT, error="OpenAIError"),
                each.judged or Judgement.NONE,
            )
            for (name, each), body in zip(OPERATIONS.items(), bodies, strict=True)
        ]
        return PageTable([*pages, Page("GET", f"{PLANS}{{number}}", self._plan, _PLAN, Judgement.STORED)], schemas)

    def followed(self) -> AbstractAsyncContextManager[None]:
        """Follow the stored profiles meanwhile."""
        return nullcontext() if self._stored is None else self._stored.followed()

    async def _operate(self, web: WebRequest) -> Response:
        ticket = ticket_of(web)
        patterns = ticket.grant.patterns("profile")
        hidden = () if self._stored is None else self._stored.hidden(ticket.grant.tenant, ticket.owner)
        headers = {
            **lower_headers(web.scope),
            PROFILES_HEADER: ",".join(("*",) if patterns is None else patterns),
            HIDDEN_HEADER: ",".join(hidden),
            **await self._terms(web, ticket),
        }
        asked = Request("POST", web.scope["path"], "", headers, await web.body())
        try:
            turns = await self._turns(web, ticket)
        except InnkeeperError as error:
            return response(refusal(PREFIX, error))
        if turns:
            body = msgspec.msgpack.encode(PreviewTask(body=asked.body, turns=turns))
            asked = msgspec.structs.replace(asked, method=TURN, body=body)
        return await self._answered(web, asked)

    async def _terms(self, web: WebRequest, ticket: Ticket) -> dict[str, str]:
        """The headers that tell a worker how to judge what it makes."""
        terms = self.gate.terms(ticket.grant, None, lower_headers(web.scope))
        return {GATE: "observe" if terms.observe else "on", TIER: (await self.gate.effective(terms)).value}

    async def _turns(self, web: WebRequest, ticket: Ticket) -> dict[str, TurnTask]:
        """Return the turns over profiles in a request, resolved as those that are sent; workers tell of faults in its form.

        Raises what reading and resolving a turn raise.
        """
        profiles, operation = self._profiles, OPERATIONS[web.scope["path"].removeprefix(PREFIX)]
        if profiles is None or b'"profile"' not in await web.body():
            return {}
        try:
            read = operation.read(await json_body(web))
        except InnkeeperError:
            return {}
        now, seed = utc_now().isoformat(), fresh_seed()  # one for both sides of a comparison
        sources = {"a": read.a, "b": read.b} if isinstance(read, PromptPair) else {"": read}
        turns = {}
        for side, source in sources.items():
            card = profiles.card(source.profile or "")
            if card is None or not ticket.may_ask(card) or source.request is not None:
                continue
            fields = {name: getattr(source, name) for name in ("model", "dialect", "context_window")}
            over = {name: value for name, value in fields.items() if value is not None}
            turn = await profiles.turn(
                previewed(source), ticket.caller, seed=seed, state=_state(source), now=source.now or now, **over
            )
            turns[side] = turn.task
        return turns

    async def _plan(self, web: WebRequest) -> Response:
        try:
            turn = await self.plans.get(ticket_of(web).caller, web.path_params["number"])
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


def _state(source: PromptSource) -> bytes | None:
    """Return the state that a preview begins with; None for that of the caller's conversation."""
    if source.state is None:
        return None
    return ConversationState.from_json(to_json(source.state, sort=False)).to_json()


def _states(settings: Settings) -> ConversationStates:
    """Where conversations are kept between turns. Raises `DatabaseError`, and `UnavailableError` without the library's extra."""
    require("sqlalchemy")
    from innkeeper.library.db.engine import Database
    from innkeeper.library.log.conversation_states import ConversationStates

    if settings.states == "memory":
        return ConversationStates.private()
    return ConversationStates(Database.open(settings.database))
