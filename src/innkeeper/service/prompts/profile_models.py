"""ProfileModels: profiles as models. A client's messages become a prompt, a route answers it, the answer is finished.

`ProfileModels.turn` is the one place where profile, route, client and state become a turn: what is sent, shown and counted is
built of it. A worker builds the prompt, and its body is sent unchanged. The answer is passed on while it comes, without lines of
others. If scripts of the profile may rewrite it, it is passed on when it is whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.conversation.state import ClientConversation, StateStore, conversation_scope, turns_of
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.requests.raw import refuse_raw
from innkeeper.inference.requests.request import GenerationRequest, check_references
from innkeeper.inference.routing.models import EmbeddingsError, ModelAnswer, ModelCard, ModelNotFoundError, RouteModels
from innkeeper.inference.routing.route import Route
from innkeeper.prompt import Note, NoteKind, fresh_seed, utc_now
from innkeeper.prompt.data import plain_data
from innkeeper.prompt.errors import InnkeeperError, Where
from innkeeper.prompt.typed.once import unpack
from innkeeper.service.exchange import Request
from innkeeper.service.processes.pool import Pool
from innkeeper.service.prompts.plans import PlanStore, StoredTurn
from innkeeper.service.prompts.stored_profiles import StoredFolders
from innkeeper.service.prompts.tasks import (
    COUNTS,
    REPLIES,
    TURN,
    TURNS,
    ReplyMade,
    ReplyTask,
    TurnMade,
    TurnTask,
    error_of,
    note_facts,
    notes_of,
)
from innkeeper.service.reply_events import finished_events
from innkeeper.taverns.profiles.opened import Profiles
from innkeeper.taverns.profiles.profile import Profile
from innkeeper.tokens.table.catalogue import known_window

PLAN_PATH: Final = "/v1/prompts/plans/"
"""The path of plans: the header ``x-innkeeper-plan`` has the whole of it."""

_PROFILE: Final = "profile"


class ClientTurn(NamedTuple):
    """A turn of a client: what a worker builds, the route that answers it, and the conversation that it belongs to."""

    task: TurnTask
    route: Route
    conversation: ClientConversation


class ProfileModels:
    """Profiles by their names. One instance belongs to one event loop.

    Args:
        profiles: the profiles; this process reads their documents, not their files.
        routes: asks models; profiles may name its routes.
        pool: the workers that build.
        states: keeps the states of conversations.
        plans: keeps turns, so that their plans can be shown.
        stored: the stored profiles among them, some of which are for single callers.
    """

    def __init__(
        self,
        profiles: Profiles,
        routes: RouteModels,
        pool: Pool,
        *,
        states: StateStore,
        plans: PlanStore | None = None,
        stored: StoredFolders | None = None,
    ) -> None:
        self._profiles, self._routes, self._known, self._pool = profiles, routes, routes.routes, pool
        self._states: StateStore = states
        self.plans = PlanStore() if plans is None else plans
        self._stored = stored
        self._cards: dict[str, tuple[Profile, ModelCard]] = {}

    def cards(self) -> tuple[ModelCard, ...]:
        """The profiles."""
        cards = [self._card(name) for name in self._profiles]
        return tuple(cards if self._stored is None else map(self._owned, cards))

    def card(self, name: str) -> ModelCard | None:
        """The profile of this name."""
        return self._owned(self._card(name)) if name in self._profiles else None

    def _owned(self, card: ModelCard) -> ModelCard:
        """Return a profile's card with its callers, if it is not for all."""
        row = None if self._stored is None else self._stored.row(card.name)
        return card if row is None else card._replace(tenant=row.tenant, only=row.owner)

    def _card(self, name: str) -> ModelCard:
        """Return a profile as lists show it; one that cannot be read raises its error when it is asked."""
        try:
            profile = self._profiles.document(name)
            known = self._cards.get(name)
            if known is None or known[0] is not profile:
                route = self._known.of_profile(profile, self._routes.addresses)
                window = profile.context_window or route.window or known_window(route.model)
                known = self._cards[name] = (
                    profile,
                    ModelCard(name, _PROFILE, route.model, window, _PROFILE, tier=profile.tier, gate=profile.gate),
                )
        except InnkeeperError:
            return ModelCard(name, _PROFILE, kind=_PROFILE)
        return known[1]

    async def count_tokens(self, request: GenerationRequest, caller: str) -> int:
        """Return the tokens of the prompt that would be sent. Raises as `answer`."""
        turn = await self.turn(request, caller)
        return unpack(await self._work(COUNTS, msgspec.msgpack.encode(turn.task), caller), int)

    async def embeddings(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """None. Raises `EmbeddingsError`."""
        raise EmbeddingsError(f"the profile {body.get('model')!r:.60} makes no embeddings", where=Where(path="model"))

    async def close(self) -> None:
        """Close the store of states; the routes belong to the caller."""
        self._states.close()

    async def answer(self, request: GenerationRequest, caller: str) -> ModelAnswer:
        """Begin to answer as a profile. Raises `ModelNotFoundError`, what building and the route raise."""
        task, route, conversation = await self.turn(request, caller)
        packed = msgspec.msgpack.encode(task)
        made = unpack(await self._work(TURNS, packed, caller), TurnMade)
        notes = notes_of(made.notes)

        async def keep(state: bytes) -> None:
            if not request.choice:  # the chat goes on from the first answer
                await self._from_store(lambda: conversation.keep(state))

        async def finish(text: str) -> str:
            asked = ReplyTask(task=task, state=made.state, speaker=made.speaker, text=text)
            after = unpack(await self._work(REPLIES, msgspec.msgpack.encode(asked), caller), ReplyMade)
            await keep(after.state)
            return after.text

        await keep(made.state)
        number = await self.plans.put(caller, StoredTurn(packed, made.digest))
        sent = ModelRequest(model=route.model, content=made.content, stream=request.stream, notes=notes)
        answer = await self._routes.ask(route, sent, profile=request.model)
        known = "continued" if task.state else "new"
        headers = {
            **answer.headers,
            "x-innkeeper-profile": request.model,
            "x-innkeeper-plan": PLAN_PATH + number,
            "x-innkeeper-conversation": f"{known}; turn={turns_of(made.state)}",
        }
        events = finished_events(answer.events, made.rules, finish, stops=request.stream)
        return ModelAnswer(events, headers, notes, sent, {**answer.asked, "profile": request.model})

    async def turn(
        self,
        request: GenerationRequest,
        caller: str,
        *,
        seed: int | None = None,
        state: bytes | None = None,
        **over: Any,
    ) -> ClientTurn:
        """Resolve a request to a profile into the turn that is built for it: route, options, moment, chance, and state.

        ``seed`` counts where neither profile nor request says another, ``state`` in place of the conversation's, and ``over``
        in place of the turn's own fields. Raises `ModelNotFoundError`, `UnknownReferenceError`, as `Routes.of_profile`, and what
        the store raises.
        """
        if request.model not in self._profiles:
            raise ModelNotFoundError(request.model, self._profiles)
        refuse_raw(request, "the profile")
        check_references(request)
        profile = self._profiles.document(request.model)
        route = self._known.of_profile(profile, self._routes.addresses)
        scope, named = _scope(request, caller)
        conversation = ClientConversation(self._states, scope, request.messages, named=named)
        before = await self._from_store(conversation.load) if state is None else state
        fields = {**_turn(request, profile, route, conversation.keys, seed), **over}
        task = TurnTask(
            profile=request.model,
            turn=msgspec.json.encode(fields, enc_hook=plain_data),
            state=before or b"",
            adapter=route.adapter,
            stream=request.stream,
            notes=note_facts((*request.notes, *_ignored(request), *(() if state is not None else conversation.notes))),
        )
        return ClientTurn(task, route, conversation)

    async def _work(self, path: str, body: bytes, caller: str) -> bytes:
        reply = await self._pool.answer(Request(TURN, path, body=body), caller)
        if reply.status != _DONE:
            raise error_of(reply)
        return reply.body

    async def _from_store(self, ask: Callable[[], Any]) -> Any:
        """Call a store: at once in memory, in a thread for a database."""
        return ask() if self._states.in_memory else await asyncio.to_thread(ask)


_DONE: Final = 200


def _scope(request: GenerationRequest, caller: str) -> tuple[str, bool]:
    """Return the scope of this conversation among the caller's, and whether the client has named it."""
    named = request.metadata.get("conversation")
    if isinstance(named, str) and named:
        return conversation_scope(caller, request.model, "conversation", named), True
    return conversation_scope(caller, request.model, "user", request.user or ""), False


def _turn(
    request: GenerationRequest, profile: Profile, route: Route, keys: tuple[str, ...], request_seed: int | None
) -> dict[str, Any]:
    """Return the fields of the turn: the client's input, the route's settings, and the seed."""
    seed = request.options.get("seed")
    if type(seed) is not int:
        seed = int(keys[-1][:8], 16) if profile.seed == "messages" and keys else request_seed
    return {
        "messages": request.messages,
        "options": {name: value for name, value in request.options.items() if not name.startswith("stream")},
        "tools": request.tools,
        **route.turn_fields(profile.dialect),
        "now": utc_now().isoformat(),
        "seed": fresh_seed() if seed is None else seed,
    }


def _ignored(request: GenerationRequest) -> tuple[Note, ...]:
    """Return notes on fields that have no effect with a profile."""
    fields = [f"the field {name!r:.60} has no effect with a profile" for name in request.extra]
    kinds = [f"a tool of type {str(tool.get('type'))!r:.60} is not offered" for tool in request.hosted]
    return tuple(Note(NoteKind.IGNORED, message) for message in (*fields, *kinds))
