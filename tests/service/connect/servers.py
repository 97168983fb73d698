"""A prompt service without a model: it says what it was asked, behind real servers of both kinds."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from innkeeper.library.errors import NotFoundError
from innkeeper.prompt.errors import FormatError, Where
from innkeeper.service.connect.connect import connect_app
from innkeeper.service.connect.grpc_server import GrpcServer
from innkeeper.service.guard.work import Gate
from innkeeper.service.settings import Settings

__all__ = ["ANSWER", "EchoRuns", "Servers", "running"]

ANSWER: dict[str, Any] = {
    "id": "01J",
    "object": "response",
    "model": "m",
    "created": 1_700_000_000,
    "output": [
        {"type": "output_text", "text": "Hé 🙂"},
        {"type": "tool_call", "tool_call": {"name": "sum", "arguments": {"a": 1, "b": [True, None]}}, "call_id": "c1"},
    ],
    "usage": {"input_tokens": 0, "output_tokens": 2, "total_tokens": 2},
}


class EchoRuns:
    """Remembers what it was asked and answers `ANSWER`; the tool ``none`` is not there, ``defect`` is a defect of ours."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []

    async def run(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer."""
        self.asked.append(request)
        self._check(request)
        return ANSWER

    async def stream(self, request: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
        """The answer in three events."""
        self.asked.append(request)
        for text in ("Hé", " 🙂"):
            yield {"type": "output_text.delta", "text": text}
        self._check(request)
        yield {"type": "completed", "response": ANSWER}

    @staticmethod
    def _check(request: Mapping[str, Any]) -> None:
        name = request.get("tool_name", "")
        if not name:
            raise FormatError("tool_name is required", where=Where(path="tool_name"))
        if name == "none":
            raise NotFoundError("no tool 'none'", hint="innkeeper admin tool list")
        if name == "defect":
            raise RuntimeError("a prompt: secret words")


class Servers(NamedTuple):
    """Where they listen, and what they asked."""

    http: str
    grpc: str
    runs: EchoRuns


@contextmanager
def running(settings: Settings | None = None) -> Iterator[Servers]:
    """Both servers in a thread of their own."""
    chosen, runs, door = settings or Settings(), EchoRuns(), socket.create_server(("127.0.0.1", 0))
    app = Starlette(routes=[Mount("/prompt.v1.PromptService", connect_app(runs, chosen))])
    web = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    gate = Gate(calls=chosen.max_calls, volume=chosen.max_bodies, keys=chosen.keys)
    grpc = GrpcServer(runs, chosen, gate)
    ready, ports = threading.Event(), list[int]()

    async def serve() -> None:
        ports.append(await grpc.start("127.0.0.1:0"))
        ready.set()
        await web.serve(sockets=[door])
        await grpc.stop(0)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(120)
        yield Servers(f"http://127.0.0.1:{door.getsockname()[1]}", f"127.0.0.1:{ports[0]}", runs)
    finally:
        web.should_exit = True
        thread.join(120)
