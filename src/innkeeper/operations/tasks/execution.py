"""Execution: carry out a text task: plan, route, ask a model, check its answer, record it.

A request is prepared once to learn its tier and size, and again for every deployment that the router tries, for its model,
window, dialect and tier. A refusal is an answer; no other model is asked instead. A text passes the gate before it is returned;
a blocked one is an error, and recorded.

    written = await tasks.write(task)
    answer = await tasks.finish(task, written)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from time import perf_counter
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

import msgspec

from innkeeper.gate.tier import TierDecision
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.errors import BudgetError, DecodeError
from innkeeper.inference.requests.request import GenerationRequest, provider_request
from innkeeper.inference.response.events import TextDelta
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.routing.models import ModelNotFoundError
from innkeeper.inference.routing.routed import RoutedAnswer, RoutedModels
from innkeeper.inference.routing.router import Attempt, NoRouteError, RouteRequest, is_allowed
from innkeeper.library.catalogue.resolver import Resolution
from innkeeper.library.errors import TierBlockedError
from innkeeper.library.library import Library
from innkeeper.library.log.enhancements import Done
from innkeeper.library.models.facts import facts_of
from innkeeper.library.prepare.request import Decided, PreparedPrompt, PrepareRequest
from innkeeper.library.templates.rendering import RenderedTemplate
from innkeeper.operations.tasks.answer import EMBEDDED_MODEL, TaskAnswer, Written, answer_of, done_of, once_each
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import InnkeeperError, LimitError, StrictModeError

MAX_TASK_TEXT: Final = 400_000
"""Characters of all texts of one task (`LimitError`)."""

LONG_TEXT: Final = 20_000
"""Characters from which texts are prepared in a thread instead of the event loop (no error)."""

_FRAME: Final = 8
"""Maximum tokens of a message in addition to its text."""

_INSTRUCT: Final = "qwen_instruct"
"""The document's enhancer family for models that follow instructions."""

_T = TypeVar("_T")


class TextTask(msgspec.Struct, frozen=True, kw_only=True):
    """A text for a model to write.

    ``prompt`` is the request; its models are set for each attempt. ``task`` is the router's (``enhancement``, ``roleplay``, …;
    empty: any). ``options`` are sampling settings under neutral names. ``model`` is the only model that may answer, ``routes``
    are patterns of allowed deployment names. ``money`` is the maximum cost of all attempts together, in US dollars. ``strict``: a
    degraded answer is an error.
    """

    prompt: PrepareRequest
    task: str = ""
    options: FrozenDict = EMPTY
    max_output_tokens: int | None = None
    model: str | None = None
    needs: frozenset[str] = frozenset()
    routes: tuple[str, ...] | None = None
    money: float | None = None
    strict: bool = False


class TextTasks:
    """Carries out tasks of one library. One instance belongs to one event loop.

    Args:
        library: decides about requests and records them.
        models: the router and its models.
    """

    def __init__(self, library: Library, models: RoutedModels) -> None:
        self.library, self.models = library, models
        self._alone: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()

    def alone(self, *name: str) -> asyncio.Lock:
        """Locks by name: a repeated call waits for the first and reuses its result."""
        return self._alone.setdefault(name, asyncio.Lock())

    async def run(self, task: TextTask) -> TaskAnswer:
        """`write`, then `finish`."""
        return await self.finish(task, await self.write(task))

    async def prepare(self, request: PrepareRequest, *, strict: bool = False) -> PreparedPrompt:
        """Prepare a request without asking a model. Raises as `Library.prepare`, and `LimitError`."""
        return await _beside(_checked(request), lambda: self.library.prepare(request, strict=strict, log=False))

    async def decide(self, request: PrepareRequest, *, strict: bool = False) -> Decided:
        """Return the decision that a request is routed by. Raises as `Library.decide`, and `LimitError`."""
        return await _beside(_checked(request), lambda: self.library.decide(request, strict=strict))

    async def write(self, task: TextTask) -> Written:
        """Let a model write the text of a task; only failures are recorded.

        Raises:
            TierBlockedError: the request does not pass the gate.
            BudgetError: it would exceed the maximum cost; no model was asked.
            NoRouteError, ProviderError: no model answered.
            StrictModeError: with ``strict``, the answer would be degraded.
            InnkeeperError: raised by `Library.prepare`.
        """
        flow = await self.flow(task, stream=False)
        async with aclosing(flow.texts()) as texts:
            async for _ in texts:
                pass
        return flow.written()

    async def flow(self, task: TextTask, *, stream: bool = True) -> Flow:
        """Let a model write the text of a task, as it comes or (without ``stream``) at once. Raises as `write`."""
        flow = Flow(self, task, stream=stream)
        await flow.begin()
        return flow

    async def check(self, written: Written, text: str) -> TierDecision:
        """Check an intermediate text of a model. Raises `TierBlockedError`, after recording it."""
        size = _size(written.prepared.request) + len(text)
        with _traced(written):
            return await _beside(size, lambda: self.library.check_output(written.prepared, text))

    async def finish(
        self,
        task: TextTask,
        *written: Written,
        text: str | None = None,
        dropped: Sequence[Mapping[str, Any]] = (),
        reasons: Iterable[str] = (),
        latency_ms: Mapping[str, float] = EMPTY,
        details: Mapping[str, Any] = EMPTY,
    ) -> TaskAnswer:
        """Check the final text, record it, and return the answer.

        Args:
            task: the task.
            *written: all texts that a model wrote for it, the latest last.
            text: the final text; by default the last one written.
            dropped: the dropped segments, for the log.
            reasons: further reasons for degradation.
            latency_ms: further times, by name.
            details: the task's own fields of the answer.

        Raises:
            TierBlockedError: the text does not pass; the log records that without the text.
            StrictModeError: with ``strict``, the answer is degraded.
        """
        last = written[-1]
        final = last.text if text is None else text
        answer = answer_of(self.library, written, final, reasons=reasons, latency_ms=latency_ms, details=details)
        done = done_of(answer, written, dropped)
        size = _size(last.prepared.request) + len(final)
        with _traced(*written):
            prepared = await _beside(size, lambda: self.library.record(last.prepared, done))
        notes = [note for note in prepared.notes if note not in last.prepared.notes]
        answer = msgspec.structs.replace(answer, prepared=prepared, reasons=once_each((*answer.reasons, *notes)))
        if task.strict and answer.degraded:
            raise _degraded(answer.reasons)
        return answer


class Flow:
    """A task while a model writes it: begin it, read `texts` to their end; `written` is the whole of it then."""

    def __init__(self, tasks: TextTasks, task: TextTask, *, stream: bool) -> None:
        self.tasks, self.task, self.stream = tasks, task, stream
        self.library = tasks.library
        self.prompt = task.prompt
        if task.prompt.request_id is None:
            self.prompt = msgspec.structs.replace(task.prompt, request_id=self.library.outside.fresh_id())
        self.decided: Decided | None = None
        self.prepared: PreparedPrompt | None = None
        self._routed: RoutedAnswer | None = None
        self._fold: ResponseFold | None = None
        self._began = 0.0

    async def begin(self) -> None:
        """Begin the answer. If no template answers, no model is asked."""
        task, models = self.task, self.tasks.models
        self.decided = decided = await self.tasks.decide(self.prompt, strict=task.strict)
        if decided.rendered is None:
            self.prepared = await self.tasks.prepare(self.prompt, strict=task.strict)
            return
        self._began = perf_counter()
        with self._recording():
            self._routed = await models.begin(self._request(decided, decided.rendered), self._planned)
        self._fold = ResponseFold("resp_task", self._routed.attempt.deployment.route.model, 0)

    async def texts(self) -> AsyncGenerator[str]:
        """Yield the text as it arrives, without refusals. Raises as `TextTasks.write`."""
        if self._routed is None or self._fold is None:
            return
        with self._recording():
            async with aclosing(self._routed.events) as events:
                async for event in events:
                    self._fold.take(event)
                    if isinstance(event, TextDelta) and event.text:
                        yield event.text

    def written(self) -> Written:
        """Return the complete text. Raises `DecodeError` if it is empty."""
        so_far = self.so_far()
        if self._routed is None or self._fold is None:
            return so_far
        took = round((perf_counter() - self._began) * 1000, 3)
        deployment = self._routed.attempt.deployment
        written = msgspec.structs.replace(so_far, response=self._fold.response(), deployment=deployment, model_ms=took)
        if not written.text.strip() and not written.refused:
            empty = DecodeError("the model wrote nothing", hint="ask again, or another model")
            empty.details["route_trace"] = self._routed.trace.to_dict()
            self._failed(empty)
            raise empty
        return written

    def so_far(self) -> Written:
        """Return the task without its text, for `TextTasks.check`."""
        assert self.prepared is not None  # noqa: S101 - it was prepared, or an answer has been planned
        return Written(prepared=self.prepared, trace=None if self._routed is None else self._routed.trace)

    def _request(self, decided: Decided, rendered: RenderedTemplate) -> RouteRequest:
        task, known = self.task, self.tasks.models.router.deployments
        own = {one.route.model for one in known if is_allowed(one.name, task.routes)}
        if task.model is not None and all(deployment.route.model != task.model for deployment in known):
            raise ModelNotFoundError(task.model, own)
        return RouteRequest(
            task=task.task,
            tier=decided.tier.effective,
            needs=task.needs,
            # Without the history, which is trimmed for each deployment's window.
            input_tokens=sum(
                self.library.counter.count(text, None) + _FRAME for text in (rendered.text, self.prompt.text)
            ),
            output_tokens=self._room(decided.resolution),
            money=task.money,
            model=task.model,
            routes=task.routes,
        )

    def _room(self, resolution: Resolution) -> int:
        """Return the maximum tokens that the model may write."""
        template = resolution.template
        limit = None if template is None else template.max_output_tokens or template.token_limit
        return self.task.max_output_tokens or limit or 0

    async def _planned(self, attempt: Attempt) -> ModelRequest:
        """Return the request of one attempt, planned for its deployment."""
        task, route, decided = self.task, attempt.deployment.route, self.decided
        assert decided is not None  # noqa: S101 - set before the router is asked
        degraded = [
            *(["fallback"] if attempt.number > 1 else ()),
            *([EMBEDDED_MODEL] if attempt.deployment.embedded else ()),
        ]
        if task.strict and degraded:
            raise _degraded(degraded)
        for_target = self.prompt.target_model or self.prompt.target_family
        family = self.prompt.enhancer_family
        if family is None and not facts_of(self.library.catalogue, route.model).known:
            family = _INSTRUCT
        request = msgspec.structs.replace(
            self.prompt,
            **{"enhancer_model" if for_target else "target_model": route.model},
            enhancer_family=family,
            content_mode=attempt.tier,
            dialect=route.dialect,
            context_window=attempt.deployment.context_window,
        )
        prepared = await self.tasks.prepare(request, strict=task.strict)
        tier = msgspec.structs.replace(
            prepared.tier,
            requested=decided.tier.requested,
            reasons=once_each((*decided.tier.reasons, *prepared.tier.reasons)),
        )
        self.prepared = msgspec.structs.replace(prepared, tier=tier)
        options = {**task.options, "max_tokens": self._room(prepared.resolution)}
        generation = GenerationRequest(
            surface="task",
            model=route.model,
            messages=prepared.messages,
            options=FrozenDict(options),
            stream=self.stream or route.is_local,
        )
        return provider_request(generation, route, ADAPTERS[route.adapter])

    @contextmanager
    def _recording(self) -> Iterator[None]:
        try:
            yield
        except InnkeeperError as error:
            self._failed(error)
            raise

    def _failed(self, error: InnkeeperError) -> None:
        """Record a task that failed; a blocked one is recorded already.

        Raises `BudgetError` instead, if only the maximum cost caused the failure.
        """
        trace: Any = error.trace.to_dict() if isinstance(error, NoRouteError) else error.details.get("route_trace")
        error.details["route_trace"] = trace
        if not isinstance(error, TierBlockedError):
            took = round((perf_counter() - self._began) * 1000, 3)
            spent = (trace or {}).get("spent") or None
            done = Done(
                attempts=(trace or {}).get("steps", ()),
                error=error,
                latency_ms={"model": took},
                cost_usd=spent,
                cost_source="estimate" if spent else None,
            )
            with suppress(InnkeeperError):  # a request that cannot be prepared has a row of its own
                prepared = self.prepared or self.library.prepare(self.prompt, log=False)
                self.library.record(prepared, done, strict=False)
        cheapest, money = error.details.get("cheapest"), self.task.money
        if isinstance(error, NoRouteError) and cheapest is not None and money is not None:
            raise BudgetError("the budget does not allow the request", estimate=cheapest, left=money) from error


@contextmanager
def _traced(*written: Written) -> Iterator[None]:
    """Add the route and the cost to an error."""
    try:
        yield
    except InnkeeperError as error:
        traces = [text.trace for text in written if text.trace is not None]
        if traces:
            spent = round(sum(trace.spent for trace in traces), 9)
            error.details["route_trace"] = {**traces[-1].to_dict(), "spent": spent}
        raise


def _degraded(reasons: Iterable[str]) -> StrictModeError:
    listed = list(reasons)
    hint = "leave strict out to take what there is"
    return StrictModeError(f"only a makeshift answers: {', '.join(listed)}", hint=hint, reasons=listed)


def _checked(request: PrepareRequest) -> int:
    """Return the size of a request. Raises `LimitError`."""
    size = _size(request)
    if size > MAX_TASK_TEXT:
        raise LimitError("characters of a task", limit="MAX_TASK_TEXT", allowed=MAX_TASK_TEXT, found=size)
    return size


def _size(request: PrepareRequest) -> int:
    """Return the characters of a request's texts."""
    values = sum(len(value) for value in request.values.values() if isinstance(value, str))
    history = sum(len(message.content) for message in request.history)
    parts = sum(len(part.text) for part in request.parts)
    parts += sum(map(len, request.overlays.values()))
    return len(request.text) + len(request.negative) + len(request.system or "") + values + history + parts


async def _beside(size: int, call: Callable[[], _T]) -> _T:
    """Run a call: at once for texts of ordinary size, in a thread for long ones."""
    return call() if size <= LONG_TEXT else await asyncio.to_thread(call)
