"""The worker's own service: ``/chat``, ``/enhance``, ``/generate``, ``/health`` and ``/worker/info``, behind the same guard.

A worker that makes pictures or videos has ``/generate`` alone beside the last two.
``/chat`` streams where that is asked for: the first event repeats the hash of the messages, the last says why it ended.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request as WebRequest
from starlette.responses import Response, StreamingResponse

from innkeeper.inference.requests.worker_protocol import (
    PROTOCOL,
    LegacyRequest,
    WorkerAnswer,
    WorkerRequest,
    read_request,
)
from innkeeper.inference.response.views.chat import envelope
from innkeeper.inference.response.views.view import ServerEvent
from innkeeper.jobs.worker.engine import Execution, WorkerEngine
from innkeeper.jobs.worker.media_engine import MediaEngine
from innkeeper.jobs.worker.media_protocol import MediaWork, read_work
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.app import address, library, listen, server_of
from innkeeper.service.error_facts import facts_of, openai_error
from innkeeper.service.guard.application import guarded_application
from innkeeper.service.guard.grants import Keys
from innkeeper.service.guard.work import Gate
from innkeeper.service.pages import Endpoint, Page, PageTable
from innkeeper.service.settings import Settings
from innkeeper.service.web import json_response, unless_gone, with_errors
from innkeeper.service.workers.agent import Membership, WorkerAgent

TYPE: Final = "pure_inference_engine"

_ENDPOINTS: Final = {
    "/chat": "POST: executes the messages; stream: true for a stream",
    "/enhance": "POST: the same, the answer as enhanced_prompt",
    "/generate": "POST: as /chat, or inputs and parameters of a text completion",
    "/health": "GET: whether it is well",
    "/worker/info": "GET: this",
}
_MEDIA_ENDPOINTS: Final = {
    "/generate": "POST: makes a picture or a video of exactly the input",
    **{path: _ENDPOINTS[path] for path in ("/health", "/worker/info")},
}
_EXAMPLE: Final = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 100}
_MEDIA_EXAMPLE: Final = {"mode": "t2i", "input": {"prompt": "a red barn", "seed": 7}}
_Around = Callable[[], Any]


def worker_app(engine: WorkerEngine | MediaEngine, settings: Settings, around: _Around | None = None) -> Starlette:
    """The service of a worker as an ASGI application.

    Args:
        engine: what executes; started and closed with the application.
        settings: its address, its keys and its limits.
        around: an asynchronous context manager that is entered once the engine has started: enrolment and heartbeats.
    """
    gate = Gate(calls=settings.max_calls, volume=settings.max_bodies, answers=settings.max_answers, keys=settings.keys)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            await engine.start()
            if around is None:
                yield
            else:
                async with around():
                    yield
        finally:
            await engine.close()

    pages = _ChatPages(engine) if isinstance(engine, WorkerEngine) else _MediaPages(engine)
    answered = {path: with_errors(page, _error) for path, page in pages.answered().items()}
    shown = {"/health": pages.health, "/worker/info": pages.info}
    table = [Page("POST", *item) for item in answered.items()] + [Page("GET", *item) for item in shown.items()]
    return guarded_application(PageTable(table).routes(), settings, gate, lifespan=lifespan)


def serve_worker(
    engine: WorkerEngine | MediaEngine,
    settings: Settings,
    ready: Callable[[str], None],
    join: Callable[[str], Membership] | None = None,
) -> None:
    """Execute requests until told to stop (SIGTERM, Ctrl-C); those under way are finished first.

    Args:
        engine: what executes.
        settings: its address, keys and limits. Who has joined a service takes calls with the key of its membership alone.
        ready: called once with the address, when the socket takes connections.
        join: makes of the address a membership, where the worker is to belong to a service.

    Raises:
        ConfigError: an address that is taken, or that others can reach while no key is set.
        UnavailableError: the service does not take the worker, or the extra ``serve`` is not installed.
    """
    library("uvicorn")
    listener = listen(settings)
    at = address(settings, listener)
    try:
        membership = None if join is None else join(at)
        own = settings if membership is None else msgspec.structs.replace(settings, keys=Keys(membership.call_key))
        around = None if membership is None else WorkerAgent(engine, membership).around
        app = worker_app(engine, own.checked(), around)
    except BaseException:
        listener.close()
        raise
    server = server_of(app, own, engine.drain)
    ready(at)
    server.run(sockets=[listener])


def _error(error: InnkeeperError) -> dict[str, Any]:
    return {"success": False, **openai_error(error)}


class _Pages:
    """What every worker shows."""

    endpoints: Mapping[str, str]
    fields: tuple[str, ...]
    example: Mapping[str, Any]

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def answered(self) -> dict[str, Endpoint]:
        """What is asked of the model, by path."""
        raise NotImplementedError

    async def health(self, _: WebRequest) -> Response:
        engine = self._engine
        facts: dict[str, Any] = {
            "status": "healthy" if engine.state.working else engine.state.value,
            "state": engine.state.value,
            "model_loaded": bool(engine.stats["model_loads"]),
            "uptime": round(engine.now() - engine.began, 3),
            "stats": engine.stats,
            "worker_type": TYPE,
            "no_hardcoded_prompts": True,
            "protocol": PROTOCOL,
        }
        return json_response(facts, 200 if engine.state.working else 503)

    async def info(self, _: WebRequest) -> Response:
        engine = self._engine
        needed, *optional = self.fields
        return json_response(
            {
                "worker_type": TYPE,
                "protocol": PROTOCOL,
                "state": engine.state.value,
                "model": next(iter(engine.backends)),
                "capabilities": dict(engine.report().capabilities),
                "models_loaded": dict.fromkeys(engine.backends, bool(engine.stats["model_loads"])),
                "slots": engine.slots,
                "endpoints": self.endpoints,
                "message_format": {"required": [needed], "optional": optional, "example": self.example},
            }
        )


class _MediaPages(_Pages):
    """A worker that makes pictures or videos."""

    endpoints = _MEDIA_ENDPOINTS
    fields = MediaWork.__struct_fields__
    example = _MEDIA_EXAMPLE

    def answered(self) -> dict[str, Endpoint]:
        """What is asked of the model, by path."""
        return {"/generate": self.generate}

    async def generate(self, web: WebRequest) -> Response:
        answer = await unless_gone(web.receive, self._engine.execute(read_work(await web.body())))
        return json_response(msgspec.to_builtins(answer))


class _ChatPages(_Pages):
    """A worker that executes messages."""

    endpoints = _ENDPOINTS
    fields = WorkerRequest.__struct_fields__
    example = _EXAMPLE

    def answered(self) -> dict[str, Endpoint]:
        """What is asked of the model, by path."""
        return {"/chat": self.chat, "/enhance": self.enhance, "/generate": self.generate}

    async def chat(self, web: WebRequest) -> Response:
        request = read_request(await web.body())
        assert isinstance(request, WorkerRequest)  # noqa: S101 - no other is read
        if request.stream is True:
            return await self._stream(request)
        answer = await unless_gone(web.receive, self._engine.execute(request))
        return json_response({"success": True, "response": answer.output, **answer.to_dict()})

    async def enhance(self, web: WebRequest) -> Response:
        request = read_request(await web.body())
        assert isinstance(request, WorkerRequest)  # noqa: S101 - as above
        answer = await unless_gone(web.receive, self._engine.execute(request))
        return json_response({"success": True, "enhanced_prompt": answer.output, **_generation(answer)})

    async def generate(self, web: WebRequest) -> Response:
        request = read_request(await web.body(), legacy=True)
        asked = request.request() if isinstance(request, LegacyRequest) else request
        answer = await unless_gone(web.receive, self._engine.execute(asked))
        name = "generated_text" if isinstance(request, LegacyRequest) else "response"
        return json_response({"success": True, name: answer.output, **_generation(answer)})

    async def _stream(self, request: WorkerRequest) -> Response:
        """A stream whose status is known: the first piece is there before anything is sent."""
        execution = self._engine.begin(request)
        pieces = execution.pieces()
        try:
            first = await anext(pieces, None)
        except BaseException:
            await pieces.aclose()
            raise
        return StreamingResponse(_events(execution, pieces, first), media_type="text/event-stream")


def _generation(answer: WorkerAnswer) -> Mapping[str, Any]:
    timing = {"generation_time": round(answer.gen_ms / 1000, 3), "tokens_generated": answer.completion_tokens}
    return {**timing, **answer.to_dict()}


async def _events(execution: Execution, pieces: AsyncGenerator[str], first: str | None) -> AsyncIterator[bytes]:
    async with aclosing(pieces):
        yield ServerEvent(execution.head).encode()
        try:
            if first is not None:
                yield ServerEvent({"delta": first}).encode()
                async for piece in pieces:
                    yield ServerEvent({"delta": piece}).encode()
        except InnkeeperError as error:
            yield ServerEvent(envelope(facts_of(error))).encode()
            return
        answer = execution.answer("").to_dict()
        yield ServerEvent(
            {name: answer[name] for name in ("finish_reason", "usage", "timings", "prompt_sha256")}
        ).encode()
        yield ServerEvent("[DONE]").encode()
