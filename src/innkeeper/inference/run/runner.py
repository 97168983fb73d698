"""PromptRunner: from a chat to a provider's answer, one request at a time (1-vibetavern-pipeline, *PromptRunner*).

`AsyncPromptRunner` is the same for event loops: what it shares is in `BaseRunner`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.portal import cancelled_by
from innkeeper.inference.run.base import BaseRunner
from innkeeper.inference.run.callers import AWAITED, Caller, completed, settle, until_cancelled
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.request import PromptRequest, PromptResult
from innkeeper.prompt import UsageError
from innkeeper.prompt.run.extensions import AWAIT

if TYPE_CHECKING:
    from innkeeper.inference.client.chat import AsyncChatStream, ChatStream


@dataclass(frozen=True, slots=True)
class PromptRunner(BaseRunner):
    """Builds prompts, checks them against the model, sends them once. It holds no state of a chat.

    ``client`` needs ``chat_completions(**request) -> response`` with a ``body``, and for streams ``chat_stream(...)`` as
    `Client` has it. Retries and fallbacks are the business of others. ``cancel`` is an event or a
    function that says when a request is not wanted any more: `Client` looks at it while it waits, too.
    """

    def __post_init__(self) -> None:
        BaseRunner.__post_init__(self)
        if inspect.iscoroutinefunction(self.client.chat_completions):
            msg = f"{type(self.client).__name__} is asynchronous"
            raise UsageError(msg, hint="use AsyncPromptRunner, or a Client")

    build_request = BaseRunner._build_request  # noqa: SLF001 - its own base

    def perform(
        self, prompt_request: PromptRequest, on_delta: Callable[[str], Any] | None = None, *, cancel: Any = None
    ) -> PromptResult:
        """Send the request, once, and read the answer.

        ``on_delta`` is called with each piece of its text while it comes, with calls of tools, too; at once where client or model
        cannot stream.

        Raises the client's errors; `DecodeError` for an answer of no use; `RequestCancelledError`.
        """
        return completed(self._perform(prompt_request, on_delta, cancel))

    def perform_stream(
        self,
        prompt_request: PromptRequest,
        on_delta: Callable[[str], Any] | None = None,
        *,
        include_usage: bool = True,
        cancel: Any = None,
    ) -> PromptResult:
        """Send the request as a stream; ``on_delta`` is called with each piece of text. See `stream` for an iterator.

        Raises `PreflightError` for tools, a response format, or a model that cannot stream; `RequestCancelledError`.
        """
        return completed(self._perform_stream(prompt_request, on_delta, cancel, include_usage=include_usage))

    def stream(self, prompt_request: PromptRequest, *, include_usage: bool = True, cancel: Any = None) -> PromptStream:
        """The same as an iterator of text, whose ``result`` is there when it has ended. Leaving it early stops the provider."""
        return PromptStream(self, prompt_request, self._pieces(prompt_request, include_usage=include_usage), cancel)


@dataclass(frozen=True, slots=True)
class AsyncPromptRunner(BaseRunner):
    """`PromptRunner` for event loops, over an `AsyncClient` or another client whose methods are awaited.

    Prompts are built in a thread, so that a long chat holds nobody up. Hooks of the build, ``on_delta`` and ``cancel`` may be
    of either kind: what they return is awaited where it can be. A task that is cancelled closes its connection.
    """

    caller: ClassVar[Caller] = AWAITED

    def __post_init__(self) -> None:
        BaseRunner.__post_init__(self)
        if isinstance(self.client, Client):
            msg = f"{type(self.client).__name__} would hold up the event loop"
            raise UsageError(msg, hint="use AsyncClient, or PromptRunner")

    async def build_request(self, runner_config: RunnerConfig, history: Any = None, **inputs: Any) -> PromptRequest:
        """`PromptRunner.build_request`, which see for the inputs, in a thread."""
        import asyncio

        loop = asyncio.get_running_loop()

        def wait(value: Awaitable[Any]) -> Any:
            return asyncio.run_coroutine_threadsafe(settle(value), loop).result()

        token = AWAIT.set(wait)
        try:
            return await asyncio.to_thread(self._build_request, runner_config, history, **inputs)
        finally:
            AWAIT.reset(token)

    async def perform(
        self, prompt_request: PromptRequest, on_delta: Callable[[str], Any] | None = None, *, cancel: Any = None
    ) -> PromptResult:
        """See `PromptRunner.perform`; ``on_delta`` is awaited before the next piece is read."""
        return await self._perform(prompt_request, on_delta, cancel)

    async def perform_stream(
        self,
        prompt_request: PromptRequest,
        on_delta: Callable[[str], Any] | None = None,
        *,
        include_usage: bool = True,
        cancel: Any = None,
    ) -> PromptResult:
        """See `PromptRunner.perform_stream`; ``on_delta`` is awaited before the next piece is read."""
        return await self._perform_stream(prompt_request, on_delta, cancel, include_usage=include_usage)

    def stream(
        self, prompt_request: PromptRequest, *, include_usage: bool = True, cancel: Any = None
    ) -> AsyncPromptStream:
        """See `PromptRunner.stream`."""
        pieces = self._pieces(prompt_request, include_usage=include_usage)
        return AsyncPromptStream(self, prompt_request, pieces, cancel)


class _StreamedAnswer:
    """What the two streams share: the answer so far, and its `result`."""

    def __init__(self, runner: BaseRunner, prompt_request: PromptRequest, pieces: Any, cancel: Any) -> None:
        self._runner = runner
        self._request = prompt_request
        self._pieces = pieces
        self._cancel = cancel
        self._started = runner.timer()
        self._result: PromptResult | None = None

    def _end(self) -> None:
        elapsed = self._runner.elapsed_ms(self._started)
        self._result = self._runner.read(self._request, self._pieces.reply.response, elapsed)

    @property
    def partial(self) -> str:
        """The text so far."""
        return str(self._pieces.partial)

    @property
    def result(self) -> PromptResult:
        """The whole answer. Raises `UsageError` while the stream has not ended."""
        if self._result is None:
            msg = "the stream has not ended"
            raise UsageError(msg, hint="iterate to its end first; `partial` is the text so far")
        return self._result


class PromptStream(_StreamedAnswer):
    """The pieces of an answer's text, and then its `result`. Use it in a ``with`` block to stop early."""

    _pieces: ChatStream

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            with cancelled_by(self._cancel):
                return next(self._pieces)
        except StopIteration:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop here."""
        self._pieces.close()


class AsyncPromptStream(_StreamedAnswer):
    """`PromptStream` as an asynchronous iterator."""

    _pieces: AsyncChatStream

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        try:
            return await until_cancelled(anext(self._pieces), self._cancel)
        except StopAsyncIteration:
            self._end()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop here; the connection is closed."""
        await self._pieces.close()
