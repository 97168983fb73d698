"""Answers: how every model surface answers: a body is read, a model is asked, and what comes is written, whole or as it comes.

Nothing is sent before the first event is there, so that what goes wrong before is a status. A client that goes away takes its
model with it: whatever waits for the provider is cancelled at once.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, NamedTuple

import msgspec
from starlette.requests import Request as WebRequest
from starlette.responses import Response

from innkeeper.inference.requests.raw import read_raw
from innkeeper.inference.requests.request import GenerationRequest
from innkeeper.inference.response.choices import Choice, ChoicesFold, ChoicesStream, ChoicesView, together
from innkeeper.inference.response.events import ModelEvent
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse
from innkeeper.inference.response.views.view import ErrorFacts, ServerEvent, StreamView, View
from innkeeper.inference.routing.models import ModelAnswer, ModelCard, ModelNotFoundError, Models, answered
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import InnkeeperError, UsageError, Where
from innkeeper.prompt.machine import fresh_id, utc_now
from innkeeper.prompt.note import Note
from innkeeper.prompt.text import shorten
from innkeeper.service.door_gate import DoorGate, DoorTerms
from innkeeper.service.error_facts import INTERNAL, facts_of
from innkeeper.service.guard.grants import Grant
from innkeeper.service.guard.work import CallRecord, Ticket
from innkeeper.service.web import LARGE, EventStream, Stop, failure, json_body, json_response, ticket_of, unless_gone

LOG: Final = logging.getLogger("innkeeper.service")
EXPLAIN: Final = "x-innkeeper-explain"
"""The header that asks for the translated body and all notes in the answer."""

MODE: Final = "x-innkeeper-mode"
"""The header that says whether a body is translated (`CANONICAL`) or sent as it is (`RAW`)."""

ROUTE: Final = "x-innkeeper-route"
"""The header that names the route of a raw body, whose model is the provider's own."""

CANONICAL: Final = "canonical"
RAW: Final = "raw"

_MAX_NOTES: Final = 2_000


class Surface(NamedTuple):
    """How one surface reads requests and writes answers and errors. ``protocol`` is the adapter that speaks it.

    ``forwarded`` are headers that go on to who speaks the protocol.
    """

    protocol: str
    read: Callable[[Mapping[str, Any]], GenerationRequest]
    view: View
    envelope: Callable[[ErrorFacts], dict[str, Any]]
    forwarded: tuple[str, ...] = ()


Prepared = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""What makes a body ready to be read."""

OnFinished = Callable[[GenerationRequest, ModelResponse], Awaitable[None]]
"""What is called with an answer that is whole."""


class ActiveCompletion(NamedTuple):
    """An answer that has begun: its events from the first on, what they are put together in, and how it was asked."""

    fold: ResponseFold | ChoicesFold
    events: AsyncGenerator[Any]
    first: ModelEvent | Choice | None
    answer: ModelAnswer
    ticket: Ticket
    stop: Stop
    explain: bool

    @property
    def record(self) -> CallRecord:
        """What is known of the call."""
        return self.ticket.record

    @property
    def at(self) -> tuple[str, str]:
        """Whose it is, and its id."""
        return self.ticket.owner, self.fold.id

    @property
    def headers(self) -> dict[str, str]:
        """What is told of the answer before it is there."""
        notes = {"x-innkeeper-notes": _header(self.answer.notes)} if self.answer.notes else {}
        return {**self.answer.headers, **notes}

    async def rest(self) -> AsyncGenerator[Any]:
        """All events, the first too; whoever makes them is stopped with it, and what there was of them is recorded."""
        try:
            async with aclosing(self.events) as events:
                if self.first is not None:
                    yield self.first
                async for event in events:
                    yield event
        finally:
            self.record.answered(self.fold.response())


class CompletionHandler:
    """What the surfaces share: the models, and how one request is answered.

    Args:
        models: who answers.
        gate: judges what is asked and answered.
    """

    def __init__(self, models: Models, gate: DoorGate | None = None) -> None:
        self.models, self.gate = models, gate or DoorGate()
        self.running: dict[tuple[str, str], ActiveCompletion] = {}
        """The answers that are under way, by owner and id."""

    def allow(self, ticket: Ticket, model: str) -> None:
        """Let a call ask a model.

        Raises `ScopeError` where its key may not, `ModelNotFoundError` where it is not to know of it.
        """
        card = self.models.card(model)
        if card is None:
            ticket.grant.check("route", model)
        if card is None or not ticket.may_know(card):
            raise ModelNotFoundError(model, [card.name for card in self._cards(ticket)])
        ticket.grant.check(card.kind, model)

    def cards(self, web: WebRequest) -> list[ModelCard]:
        """The models that a call may ask."""
        return self._cards(ticket_of(web))

    def _cards(self, ticket: Ticket) -> list[ModelCard]:
        return [card for card in self.models.cards() if ticket.may_ask(card)]

    def cancel(self, owner: str, response_id: str) -> ModelResponse | None:
        """Stop an answer that is under way; what there is of it, None where there is no such answer."""
        running = self.running.get((owner, response_id))
        if running is None:
            return None
        running.stop.set()
        return running.fold.response(cancelled=True)

    async def reply(
        self,
        web: WebRequest,
        surface: Surface,
        *,
        prepared: Prepared | None = None,
        changed: Callable[[GenerationRequest], Awaitable[GenerationRequest]] | None = None,
        finished: OnFinished | None = None,
    ) -> Response:
        """Answer a request.

        Args:
            web: the request as it came.
            surface: how it is read and answered.
            prepared: what becomes of its body before it is read.
            changed: what becomes of it before a model is asked.
            finished: called with the answer when it is whole.
        """
        try:
            request = await _read(web, surface, prepared)
            request = request if changed is None else await changed(request)
            stop = Stop()
            if request.stream:
                running = await unless_gone(web.receive, self._begin(request, web, stop), stop)
                return self._stream(running, surface, request, finished)
            running, whole = await unless_gone(web.receive, self._whole(request, web, stop), stop)
            if finished is not None:
                await finished(request, whole)
            body = _written(surface.view, running, whole)
            headers = running.headers
            reply = json_response(_explained(body, running) if running.explain else body, headers=headers)
            ticket_of(web).carry(len(reply.body))
        except InnkeeperError as error:
            ticket_of(web).record.failed(error)
            return failure(error, surface.envelope)
        return reply

    async def _begin(self, request: GenerationRequest, web: WebRequest, stop: Stop) -> ActiveCompletion:
        """The answer when its first event is there, one of those that can be cancelled from then on."""
        ticket = ticket_of(web)
        self.allow(ticket, request.model)
        _check_metered(request, ticket.grant)
        ticket.widen(request.choices - 1)
        try:
            answers = await answered(self.models, request, ticket.caller)
        except ModelNotFoundError:
            raise ModelNotFoundError(request.model, [card.name for card in self._cards(ticket)]) from None
        terms = self.gate.terms(ticket.grant, self.models.card(request.model), web.headers)
        answers = await self._judged(request, answers, terms)
        began = answers[0]
        ticket.record.operation = "chat"
        ticket.record.mode = "" if request.raw is None else "raw"
        ticket.record.body_sha256 = began.headers.get("x-innkeeper-body-sha256", "")
        now, number = int(utc_now().timestamp()), f"resp_{fresh_id()}"
        bodies = [b"" if answer.sent is None else answer.sent.content for answer in answers]
        folds = [ResponseFold(number, request.model, now, request.echo, body) for body in bodies]
        explain = web.headers.get(EXPLAIN, "") not in ("", "0")
        events, first = await (
            _opened(began.events) if len(folds) == 1 else together([answer.events for answer in answers])
        )
        fold = folds[0] if len(folds) == 1 else ChoicesFold(folds)
        running = ActiveCompletion(fold, events, first, began, ticket, stop, explain)
        self.running[running.at] = running
        return running

    async def _judged(
        self, request: GenerationRequest, answers: Sequence[ModelAnswer], terms: DoorTerms
    ) -> tuple[ModelAnswer, ...]:
        """The answers, behind the gate. Raises `TierBlockedError`; none of them is asked for then."""
        try:
            return tuple([await self.gate.answer(request, each, terms) for each in answers])
        except BaseException:
            for each in answers:
                await each.events.aclose()
            raise

    async def _whole(
        self, request: GenerationRequest, web: WebRequest, stop: Stop
    ) -> tuple[ActiveCompletion, ModelResponse]:
        running = await self._begin(request, web, stop)
        try:
            async with aclosing(running.rest()) as events:
                async for event in events:
                    running.fold.take(event)
        finally:
            del self.running[running.at]
        return running, running.fold.response()

    def _stream(
        self, running: ActiveCompletion, surface: Surface, request: GenerationRequest, finished: OnFinished | None
    ) -> Response:
        writer = _writer(surface.view, running.fold, include_usage=request.include_usage)

        async def over() -> None:
            del self.running[running.at]
            await running.events.aclose()

        async def done() -> None:
            if finished is not None:
                await finished(request, writer.fold.response())

        return EventStream(_pieces(running, writer, done), running.headers, running.stop, over)


async def _opened(events: AsyncGenerator[ModelEvent]) -> tuple[AsyncGenerator[ModelEvent], ModelEvent | None]:
    """The events of an answer, and the first of them."""
    try:
        return events, await anext(events, None)
    except BaseException:
        await events.aclose()
        raise


async def _read(web: WebRequest, surface: Surface, prepared: Prepared | None) -> GenerationRequest:
    """What a call asks for, in the mode that it names, and the headers that go on. Raises `UsageError`, `InputError`."""
    request = await _read_body(web, surface, prepared)
    headers = {name: ",".join(values) for name in surface.forwarded if (values := web.headers.getlist(name))}
    return msgspec.structs.replace(request, headers=FrozenDict(headers)) if headers else request


async def _read_body(web: WebRequest, surface: Surface, prepared: Prepared | None) -> GenerationRequest:
    mode = web.headers.get(MODE, CANONICAL)
    if mode not in (CANONICAL, RAW):
        raise UsageError(f"there is no mode {mode!r:.60}", where=Where(path=MODE), hint=f"modes: {CANONICAL}, {RAW}")
    if mode == CANONICAL:
        body = await json_body(web)
        return surface.read(body if prepared is None else await prepared(body))
    content, route = await web.body(), web.headers.get(ROUTE, "")
    if len(content) > LARGE:
        return await asyncio.to_thread(read_raw, content, surface.protocol, route)
    return read_raw(content, surface.protocol, route)


def _check_metered(request: GenerationRequest, grant: Grant) -> None:
    """Let a raw body pass unless its usage, which is counted, would not be told. Raises `UsageError`."""
    silent = request.stream and request.surface in _SILENT and not request.include_usage
    if request.raw is not None and silent and (grant.spend is not None or grant.tokens is not None):
        raise UsageError(
            "the use of this key is counted, and this stream would not tell it",
            where=Where(path="stream_options.include_usage"),
            hint="send stream_options: {include_usage: true}",
        )


_SILENT: Final = frozenset({"openai-chat", "text-completion"})
"""Protocols whose streams tell their usage where they are asked to."""


def _writer(view: View, fold: ResponseFold | ChoicesFold, *, include_usage: bool) -> StreamView | ChoicesStream:
    if isinstance(fold, ChoicesFold):
        return ChoicesView(view).stream(fold, include_usage=include_usage)
    return view.stream(fold, include_usage=include_usage)


def _written(view: View, running: ActiveCompletion, whole: ModelResponse) -> dict[str, Any]:
    fold = running.fold
    return ChoicesView(view).whole(fold.responses()) if isinstance(fold, ChoicesFold) else view.whole(whole)


async def _pieces(
    running: ActiveCompletion, writer: StreamView | ChoicesStream, done: Callable[[], Awaitable[None]]
) -> AsyncGenerator[bytes]:
    """The bytes of a stream, those of one event of the model together."""
    yield _joined(writer.start())
    failed: ErrorFacts | None = None
    try:
        async with aclosing(running.rest()) as events:
            async for event in events:
                sent = writer.take(event)
                if sent:
                    yield _joined(sent)
        last = writer.end()
        last = _end_explained(last, running) if running.explain else last
        await done()
    except InnkeeperError as error:
        failed = facts_of(error)
        running.record.failed(error)
    except Exception as error:  # noqa: BLE001 - a defect of ours, in the middle of an answer
        running.record.error = type(error).__name__
        LOG.error("stream: internal error: %s", type(error).__name__)  # noqa: TRY400 - its text may quote a prompt
        failed = INTERNAL
    yield _joined(last if failed is None else writer.fail(failed))


def _joined(events: list[ServerEvent]) -> bytes:
    return b"".join([event.encode() for event in events])


def _header(notes: tuple[Note, ...]) -> str:
    """Notes as a header can carry them: a JSON list of sentences in ASCII, cut where it gets too long."""
    listed: list[str] = []
    for note in notes:
        sentence = shorten(note.message, 200)
        if len(json.dumps([*listed, sentence])) > _MAX_NOTES:
            listed.append(f"and {len(notes) - len(listed)} more")
            break
        listed.append(sentence)
    return json.dumps(listed)


def _explained(body: Mapping[str, Any], running: ActiveCompletion) -> dict[str, Any]:
    sent = running.answer.sent
    facts = {
        "notes": [*body.get("innkeeper", {}).get("notes", ()), *(note.message for note in running.answer.notes)],
        "body": None if sent is None else sent.body,
        "body_sha256": None if sent is None else sent.sha256,
    }
    return {**body, "innkeeper": facts}


def _end_explained(events: list[ServerEvent], running: ActiveCompletion) -> list[ServerEvent]:
    """The end of a stream, its last object explained: the response where it has one."""
    at = next((at for at in reversed(range(len(events))) if isinstance(events[at].data, Mapping)), None)
    last = {} if at is None else events[at].data
    if at is None or not isinstance(last, Mapping):
        return events
    inner = last.get("response")
    data = {**last, "response": _explained(inner, running)} if isinstance(inner, Mapping) else _explained(last, running)
    return [*events[:at], events[at]._replace(data=data), *events[at + 1 :]]
