"""Talk: a prompt is sent to a model, its answer streamed; with the answer comes the plan that made it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from functools import partial
from typing import Any

import msgspec
from starlette.responses import Response, StreamingResponse

from innkeeper.conversation.client_turn import CLIENT_OPTIONS
from innkeeper.dialects import DIALECTS
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.capabilities import Capabilities
from innkeeper.inference.client.judged import judged_events, texts_of
from innkeeper.inference.requests.request import GenerationRequest, provider_request
from innkeeper.inference.response.events import ModelEvent, TextDelta
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse, Usage
from innkeeper.inference.response.views.view import ServerEvent, json_bytes
from innkeeper.inference.routing.models import ModelCard, RouteModels
from innkeeper.inference.routing.route import OWN, Route
from innkeeper.prompt import Message
from innkeeper.prompt.data import EMPTY, freeze, to_json
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.typed.once import decode, unpack
from innkeeper.service.inspector.inspection.planning import AnswerText, RouteTurn, Sending
from innkeeper.service.inspector.session.messages import EngineCall
from innkeeper.service.inspector.session.session import WorkspaceSession
from innkeeper.service.inspector.views.talk import TalkAnswer, TalkCall, TalkDelta, TalkModel, TalkRequest
from innkeeper.service.inspector.views.workspace import ProblemView, Variation, problem_of
from innkeeper.service.reply_events import finished_events
from innkeeper.taverns.profiles.profile import Profile


class InspectorTalk:
    """What answers prompts of a workspace.

    Args:
        models: what answers.
        usual: the route of requests that name none.
    """

    def __init__(self, models: RouteModels, usual: str) -> None:
        self._models, self._usual = models, usual

    def models(self, may_ask: Callable[[ModelCard], bool]) -> tuple[TalkModel, ...]:
        """The models that somebody may ask, with what a request to each may say."""
        return tuple(_model(card, self._models.route(card.name)) for card in self._models.cards() if may_ask(card))

    @property
    def routes(self) -> tuple[str, ...]:
        """The names of the routes."""
        return tuple(card.name for card in self._models.cards())

    async def close(self) -> None:
        """Let all connections and models go."""
        await self._models.close()

    async def answer(self, session: WorkspaceSession, body: bytes, _: Any = None) -> Response:
        """The answer as server-sent events: deltas of text, then the whole with its plan, or an error.

        Raises what building and asking raise, before anything is sent.
        """
        asked = decode(body, TalkRequest)
        if asked.instructions is not None:
            return await self._answer_text(asked)
        profile = await self._profile(session)
        route = self._route(asked.route, profile)
        turn = route.turn_fields(None if profile is None else profile.dialect)
        turn |= {"options": asked.options, "tools": [*asked.tools]}
        call = RouteTurn(
            message=asked.message, adapter=route.adapter, turn=turn, variation=asked.variation or Variation()
        )
        answer, packed = await session.ask(EngineCall("plan"), to_json(call))
        if not answer.is_ok:
            return Response(packed, answer.status, media_type=answer.media_type)
        prompt = unpack(packed, Sending)
        sent = ModelRequest(model=route.model, content=prompt.content, stream=True)
        events = await self._ask(route, sent)
        events = finished_events(events, prompt.rules, partial(_finished, session, prompt))
        return StreamingResponse(_events(events, prompt.inspection), media_type="text/event-stream")

    async def _answer_text(self, asked: TalkRequest) -> Response:
        """The answer to instructions in place of the prompt."""
        texts = (("system", asked.instructions), ("user", asked.message))
        messages = tuple(Message(role=role, content=text) for role, text in texts if text)
        options = freeze({name: value for name, value in asked.options.items() if name in CLIENT_OPTIONS})
        route = self._models.route(asked.route or self._usual)
        request = GenerationRequest(surface="", model=route.name, messages=messages, options=options, stream=True)
        sent = provider_request(request, route, ADAPTERS[route.adapter])
        return StreamingResponse(_events(await self._ask(route, sent)), media_type="text/event-stream")

    async def _ask(self, route: Route, sent: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """The events of an answer, while body and answer may pass."""
        made = await self._models.ask(route, sent)
        return judged_events(texts_of(sent), lambda: made.events)

    async def _profile(self, session: WorkspaceSession) -> Profile | None:
        """Return the profile among the files of a workspace."""
        answer, body = await session.ask(EngineCall("profile"))
        fields = msgspec.json.decode(body) if answer.is_ok else None
        return None if fields is None else Profile.of(fields)

    def _route(self, name: str | None, profile: Profile | None) -> Route:
        """Return the route that is asked for, else a profile's own, else the usual one."""
        if name is not None or profile is None:
            return self._models.route(name or self._usual)
        return self._models.routes.of_profile(profile, self._models.addresses, self._usual)


async def _finished(session: WorkspaceSession, prompt: Sending, text: str) -> str:
    """An answer after the scripts of its tavern."""
    body = msgspec.msgpack.encode(AnswerText(prompt.request, prompt.rules.own, text))
    answer, finished = await session.ask(EngineCall("finish"), body)
    if not answer.is_ok:
        raise _UnfinishedError(decode(finished, dict[str, ProblemView])["error"])
    return finished.decode("utf-8", "surrogatepass")


async def _events(answered: AsyncGenerator[ModelEvent], plan: bytes = b"null") -> AsyncIterator[bytes]:
    """The events of an answer, at its end with the plan; whoever answers is stopped when nobody takes them any more."""
    fold = ResponseFold("", "", 0)
    try:
        async with aclosing(answered) as events:
            async for event in events:
                fold.take(event)
                if isinstance(event, TextDelta) and event.text:
                    yield ServerEvent(msgspec.to_builtins(TalkDelta(event.text)), "delta").encode()
    except (InnkeeperError, _UnfinishedError) as error:
        problem = error.problem if isinstance(error, _UnfinishedError) else problem_of(error)
        yield ServerEvent(msgspec.to_builtins(problem), "error").encode()
        return
    # The plan is JSON already, written by another process: it is not read again.
    answer = json_bytes(msgspec.to_builtins(_answer(fold.response())))
    yield ServerEvent(b'%b,"plan":%b}' % (answer.removesuffix(b"}"), plan), "end").encode()


def _answer(response: ModelResponse) -> TalkAnswer:
    usage = response.usage or Usage()
    return TalkAnswer(
        message=response.text,
        thoughts=response.reasoning,
        refusal=response.refusal,
        calls=tuple(TalkCall(call.name, call.arguments) for call in response.calls),
        finish=response.finish,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
    )


def _model(card: ModelCard, route: Route) -> TalkModel:
    """Return a route as the page shows it, with the options of a client that its dialect writes."""
    table = getattr(DIALECTS[route.dialect], "table", EMPTY)
    able = Capabilities.of(route.provider or OWN, route.model)
    return TalkModel(
        name=card.name,
        provider=route.provider,
        model=route.model,
        dialect=route.dialect,
        window=card.context_window,
        options=tuple(name for name in table if name in CLIENT_OPTIONS),
        tools=able.supports_tools,
        schema="response_format" in table,
    )


class _UnfinishedError(Exception):
    """The process of the workspace cannot finish an answer."""

    def __init__(self, problem: ProblemView) -> None:
        super().__init__(problem.message)
        self.problem = problem
