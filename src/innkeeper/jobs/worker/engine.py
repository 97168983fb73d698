"""WorkerEngine: executes requests of the protocol at its backends: messages as they came, and the sampling that is given.

A backend is a route to whoever speaks chat completions: the model on this machine, or any server. What is sent there is read back
before it goes: the hash in an answer is of the messages in those very bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from time import perf_counter
from typing import Any, Final

import msgspec
from msgspec import UNSET

from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.errors import ProviderTimeoutError
from innkeeper.inference.local.shared import LOCAL
from innkeeper.inference.requests.worker_protocol import PROTOCOL, WorkerAnswer, WorkerRequest, messages_sha256
from innkeeper.inference.response.events import Finished, ModelEvent, RefusalDelta, TextDelta, UsageReport
from innkeeper.inference.response.response import FinishReason, Usage
from innkeeper.inference.routing.models import ModelNotFoundError, RouteModels
from innkeeper.inference.routing.route import Route
from innkeeper.jobs.worker.slots import WorkerSlots
from innkeeper.library.workers.states import WorkerState
from innkeeper.library.workers.store import WorkerReport
from innkeeper.prompt.errors import ConfigError
from innkeeper.prompt.machine import random_bytes

_SPEAKING: Final = frozenset({"openai-chat", LOCAL})
_LOCAL_NAMES: Final = {"repetition_penalty": "repeat_penalty"}
"""What the engine on this machine calls an option."""


class WorkerEngine(WorkerSlots):
    """The requests of one worker. One instance belongs to one event loop.

    Args:
        backends: routes by the names of models under which they are asked; the first is asked where none is named.
        routes: who asks; closed with the engine.
        slots: requests that are executed at once.
        revisions: by the name of a model, what tells its weights from others.

    Raises:
        ConfigError: a backend that does not speak chat completions: messages would have to be rewritten for it.
    """

    def __init__(
        self,
        backends: Mapping[str, Route],
        routes: RouteModels,
        *,
        slots: int = 1,
        revisions: Mapping[str, str] | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        strange = [route.name for route in backends.values() if route.adapter not in _SPEAKING]
        if strange or not backends:
            hint = "name one like local, or NAME=http://127.0.0.1:8080:MODEL"
            raise ConfigError(f"a worker's backends speak chat completions, not {strange or 'nothing'}", hint=hint)
        super().__init__(slots, clock)
        self.backends, self.revisions = dict(backends), dict(revisions or {})
        self._routes = routes
        self._loaded: set[str] = set()

    async def start(self) -> None:
        """Load what must be loaded. Raises `UnavailableError`; the state says whether it can work."""
        for key, route in self.backends.items():
            await self._load(key, route)
        self.state = self.state.reported(WorkerState.READY)

    async def close(self) -> None:
        """Let go of connections and models."""
        self.state = WorkerState.DEAD
        await self._routes.close()

    async def execute(self, request: WorkerRequest) -> WorkerAnswer:
        """The whole answer. Raises `WorkerDrainingError`, `WorkerQueueError`, `ModelNotFoundError`, `ProviderError`."""
        execution = self.begin(request)
        async with aclosing(execution.pieces()) as pieces:
            output = "".join([piece async for piece in pieces])
        return execution.answer(output)

    def begin(self, request: WorkerRequest) -> Execution:
        """A request that is executed when its pieces are asked for. Raises what `execute` raises before a model is asked."""
        self.require_open()
        key = next(iter(self.backends)) if request.model is UNSET else request.model
        if key not in self.backends:
            raise ModelNotFoundError(key, self.backends)
        return Execution(self, key, request)

    def report(self) -> WorkerReport:
        """What the register is told."""
        listed = [{"key": key, "revision": self.revisions.get(key, "")} for key in self.backends]
        facts = {"chat": True, "enhancement": True, "generation": True, "streaming": True, "models": listed}
        capabilities = {**facts, "hardcoded_prompts": False, "prompt_modification": False, "pure_inference": True}
        return WorkerReport(self.state, {**capabilities, "protocol": PROTOCOL}, self.slots)

    # ------------------------------------------------------------------------------------------ for its own executions

    async def ask(self, key: str, sent: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """The events of a backend."""
        await self._load(key, self.backends[key])
        return (await self._routes.ask(self.backends[key], sent)).events

    async def _load(self, key: str, route: Route) -> None:
        if key not in self._loaded:
            opened = await self._routes.ask(route, ModelRequest(model=route.model, content=b""))
            await opened.events.aclose()  # nothing is sent before the first event is asked for
            self._loaded.add(key)
            self.stats["model_loads"] += 1


class Execution:
    """One request: its pieces as they come, and what is known of it before and after."""

    def __init__(self, engine: WorkerEngine, key: str, request: WorkerRequest) -> None:
        self.key, self.request = key, request
        self.request_id = random_bytes(8).hex() if request.request_id is UNSET else request.request_id
        self._engine, self._began = engine, engine.now()
        self._sent = _body(engine.backends[key], request)
        self.prompt_sha256 = messages_sha256(msgspec.json.decode(self._sent.content)["messages"])
        self._usage = Usage()
        self._finish: FinishReason | None = None
        self._times = {"queue_ms": 0.0, "load_ms": 0.0, "gen_ms": 0.0}

    @property
    def head(self) -> dict[str, Any]:
        """What is known before the first word."""
        revision = self._engine.revisions.get(self.key, "")
        facts = {"request_id": self.request_id, "model": self.key, "model_revision": revision}
        return {**facts, "prompt_sha256": self.prompt_sha256}

    async def pieces(self) -> AsyncGenerator[str]:
        """What the model says, a refusal as it is. Raises `ProviderError`."""
        await self._engine.enter()
        failed: BaseException | None = None
        try:
            self._passed("queue_ms")
            async with asyncio.timeout(self._left()):
                events = await self._engine.ask(self.key, self._sent)
            self._passed("load_ms")
            async with aclosing(events):
                while True:
                    async with asyncio.timeout(self._left()):
                        event = await anext(events, None)
                    if event is None:
                        break
                    if piece := self._read(event):
                        yield piece
        except TimeoutError:
            failed = ProviderTimeoutError("the deadline of the request is over", phase="total")
            raise failed from None
        except BaseException as error:
            failed = error
            raise
        finally:
            self._passed("gen_ms")
            self._engine.leave(failed)

    def answer(self, output: str) -> WorkerAnswer:
        """All of it, once the pieces have come."""
        return WorkerAnswer(
            request_id=self.request_id,
            model=self.key,
            model_revision=self._engine.revisions.get(self.key, ""),
            output=output,
            finish_reason=self._finish,
            prompt_tokens=self._usage.input_tokens,
            completion_tokens=self._usage.output_tokens,
            prompt_sha256=self.prompt_sha256,
            **self._times,
        )

    def _left(self) -> float | None:
        """Seconds until the deadline, None where there is none."""
        asked = self.request.deadline_ms
        return None if asked is UNSET else max(0.0, asked / 1000 - (self._engine.now() - self._start))

    @property
    def _start(self) -> float:
        return self._began - sum(self._times.values()) / 1000

    def _passed(self, stage: str) -> None:
        now = self._engine.now()
        self._times[stage] = round((now - self._began) * 1000, 3)
        self._began = now

    def _read(self, event: ModelEvent) -> str:
        if isinstance(event, (TextDelta, RefusalDelta)):
            self._finish = "refusal" if isinstance(event, RefusalDelta) else self._finish
            return event.text
        if isinstance(event, UsageReport):
            self._usage = event.usage
        elif isinstance(event, Finished):
            self._finish = self._finish or event.reason
        return ""


def _body(route: Route, request: WorkerRequest) -> ModelRequest:
    """What a backend is sent: the messages and the sampling, and nothing else."""
    names = _LOCAL_NAMES if route.is_local else {}
    sampling = {names.get(name, name): value for name, value in request.sampling().items()}
    body = {"model": route.model, "messages": msgspec.to_builtins(request.messages), **sampling}
    return ModelRequest.of(ADAPTERS[route.adapter], body, stream=request.stream is True)
