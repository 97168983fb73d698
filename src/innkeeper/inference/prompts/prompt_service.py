"""PromptService: from a tool's name and an input to one canonical response (5-prompt-sequence-flow, *CLI Flow*, *gRPC Flow*).

The way is the same from every surface: the tool's configuration, its secret, its model, the body that the model's dialect writes,
one call, one `ModelResponse`. What the request says counts before what the tool says; what neither says is not sent.
`PromptService` is for blocking callers, whose threads may share it, `AsyncPromptService` for one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, closing
from hashlib import sha256
from threading import Lock
from typing import Any, Final, Generic, Self, TypeVar

import msgspec

from innkeeper.dialects.registry import DIALECTS
from innkeeper.inference.adapters.generation import ModelRequest
from innkeeper.inference.client.model_clients import AsyncModelClient, ModelClient
from innkeeper.inference.prompts.llm_factory import LLM, LLMFactory
from innkeeper.inference.prompts.run_request import PromptRunRequest, tools_of
from innkeeper.inference.prompts.tool_config import ToolConfig, ToolDAO, VaultDAO
from innkeeper.inference.response.events import CallDelta, ModelEvent, ReasoningDelta, RefusalDelta, TextDelta
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse
from innkeeper.inference.response.views import legacy
from innkeeper.inference.routing.meter import MeteredCall, admitted, metered
from innkeeper.library.outside import MACHINE, Outside
from innkeeper.prompt.data import FrozenDict, freeze
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note


class PreparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run before it is sent: the model, the body as it goes out, what the request said, and what could not be carried."""

    llm: LLM
    body: FrozenDict
    echo: FrozenDict
    notes: tuple[Note, ...] = ()

    def request(self, *, stream: bool = False) -> ModelRequest:
        """What goes over the wire."""
        return ModelRequest.of(self.llm.adapter, self.body, stream=stream)


class PromptRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run: the response, what could not be carried to the model, and the SHA-256 of what it was sent."""

    response: ModelResponse
    notes: tuple[Note, ...]
    sha256: str


def prepared(config: ToolConfig, request: PromptRunRequest, llm: LLM) -> PreparedRun:
    """The body for a tool's model, and what the request says in its response. Raises `ConfigError`, `FormatError`."""
    top = (Message("system", request.instructions),) if request.instructions else ()
    tools = (*tools_of(config.tools, "tools"), *request.tools)
    said = {
        "temperature": _first(request.temperature, config.temperature),
        "max_tokens": _first(request.max_output_tokens, config.max_output_tokens),
        "top_p": _first(request.top_p, config.top_p),
        "tool_choice": request.tool_choice,
    }
    options = {**config.settings, **{name: value for name, value in said.items() if value is not None}}
    dialect = DIALECTS[llm.dialect]
    payload = dialect.request((*top, *request.messages), model=llm.model, options=options, tools=tools)
    echo = {
        "instructions": request.instructions or None,
        "temperature": said["temperature"],
        "top_p": said["top_p"],
        "max_output_tokens": said["max_tokens"],
        "metadata": request.metadata,
        "tool_choice": request.tool_choice or "auto",
        "tools": [{"type": "function", **msgspec.to_builtins(tool)} for tool in tools],
    }
    return PreparedRun(llm=llm, body=freeze(payload.body), echo=freeze(echo), notes=payload.notes)


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


C = TypeVar("C", ModelClient, AsyncModelClient)


class _Base(Generic[C]):
    """What both services share: the ports, the way from a request to what is sent, and connections that stay open."""

    def __init__(
        self, tools: ToolDAO, vault: VaultDAO, factory: LLMFactory | None = None, outside: Outside = MACHINE
    ) -> None:
        self._tools, self._vault, self._outside = tools, vault, outside
        self._factory = factory or LLMFactory()
        self._lock = Lock()
        self._clients: dict[tuple[Any, ...], C] = {}

    def prepare(self, request: Mapping[str, Any] | PromptRunRequest) -> PreparedRun:
        """What a request will send.

        Raises:
            FormatError: the request is none.
            ToolNotFoundError: there is no such tool.
            NotFoundError, VaultError: its secret is not there, or cannot be opened.
            ConfigError, UnknownNameError: its configuration names no model, or a provider that nobody knows.
        """
        asked = request if isinstance(request, PromptRunRequest) else PromptRunRequest.of(request)
        config = self._tools.get_tool_by_name(asked.tool_name)
        secret = self._vault.get_secret(config.api_key_secret) if config.api_key_secret else None
        return prepared(config, asked, self._factory.new_llm(config, secret, model=asked.model))

    def _client(self, llm: LLM, opened: Callable[[], C]) -> C:
        """The client of a model: one for each address and key, of which there are as many as tools name."""
        named = llm.options.get("name", "")
        key = (llm.adapter.name, llm.base_url, sha256(llm.key.reveal().encode()).digest(), id(llm.local), named)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = opened()
            return self._clients[key]

    def _let_go(self) -> list[C]:
        self._factory.close()
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        return clients

    def _fold(self, run: PreparedRun) -> ResponseFold:
        created = self._outside.now().epoch_ms // 1000
        return ResponseFold(f"resp_{self._outside.fresh_id()}", run.llm.model, created, run.echo)


class PromptService(_Base[ModelClient]):
    """The service for blocking callers.

    Args:
        tools: where tools are looked up.
        vault: where their secrets are.
        factory: what makes models of their configurations.
        outside: the time and the identifiers of responses; the machine's where left out.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, request: Mapping[str, Any] | PromptRunRequest) -> PromptRun:
        """One answer. Raises what `prepare` raises, and `ProviderError` and its kin."""
        run = self.prepare(request)
        sent, fold = run.request(), self._fold(run)
        with closing(self._client(run.llm, run.llm.open).events(sent)) as events:
            for event in events:
                fold.take(event)
        return PromptRun(response=fold.response(), notes=run.notes, sha256=sent.sha256)

    def stream(self, request: Mapping[str, Any] | PromptRunRequest) -> Iterator[ModelEvent | PromptRun]:
        """The events of the answer as they come, and at the end the whole of it."""
        run = self.prepare(request)
        sent, fold = run.request(stream=True), self._fold(run)
        with closing(self._client(run.llm, run.llm.open).events(sent)) as events:
            for event in events:
                fold.take(event)
                yield event
        yield PromptRun(response=fold.response(), notes=run.notes, sha256=sent.sha256)

    def close(self) -> None:
        """Close the connections, and let go of models that run beside this process."""
        for client in self._let_go():
            client.close()


class AsyncPromptService(_Base[AsyncModelClient]):
    """`PromptService` for event loops. Tools and secrets are looked up in a thread, since databases are waited for there."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self, request: Mapping[str, Any] | PromptRunRequest) -> PromptRun:
        """One answer. Cancelling it stops the provider."""
        run, sent, answer = await self._begin(request, stream=False)
        fold = self._fold(run)
        async with aclosing(answer) as events:
            async for event in events:
                fold.take(event)
        return PromptRun(response=fold.response(), notes=run.notes, sha256=sent.sha256)

    async def stream(self, request: Mapping[str, Any] | PromptRunRequest) -> AsyncGenerator[ModelEvent | PromptRun]:
        """The events of the answer as they come, and at the end the whole of it. Cancelling it stops the provider."""
        run, sent, answer = await self._begin(request, stream=True)
        fold = self._fold(run)
        async with aclosing(answer) as events:
            async for event in events:
                fold.take(event)
                yield event
        yield PromptRun(response=fold.response(), notes=run.notes, sha256=sent.sha256)

    async def _begin(
        self, request: Mapping[str, Any] | PromptRunRequest, *, stream: bool
    ) -> tuple[PreparedRun, ModelRequest, AsyncGenerator[ModelEvent]]:
        """Check that the running call may use the tool, which is a route by its name, and return what answers and is metered."""
        name = request.tool_name if isinstance(request, PromptRunRequest) else str(request.get("tool_name") or "")
        call = MeteredCall(name, "", "")
        meter = admitted(
            call
        )  # before the tool is looked up: a key that may not use it does not learn whether it is there
        run = await asyncio.to_thread(self.prepare, request)
        sent, client = run.request(stream=stream), self._client(run.llm, run.llm.open_async)
        return run, sent, metered(client.events(sent), meter, call._replace(sent_bytes=len(sent.content)))

    async def close(self) -> None:
        """Close the connections, and let go of models that run beside this process."""
        for client in self._let_go():
            await client.close()


_DELTAS: Final = {TextDelta: "output_text.delta", RefusalDelta: "refusal.delta", ReasoningDelta: "reasoning.delta"}


def event_of(event: ModelEvent | PromptRun) -> dict[str, Any] | None:
    """An event as the streams of the prompt service have it (``PromptRunEvent``); None for one that they do not show."""
    if isinstance(event, PromptRun):
        return {"type": "completed", "response": legacy.whole(event.response)}
    if isinstance(event, CallDelta):
        call = {"name": event.name} if event.name else {}
        pieces = {"arguments_raw": event.arguments} if event.arguments else {}
        named = {"call_id": event.call_id} if event.call_id else {}
        return {"type": "tool_call.delta", "tool_call": {**call, **pieces}, **named}
    if isinstance(event, (TextDelta, RefusalDelta, ReasoningDelta)) and event.text:
        return {"type": _DELTAS[type(event)], "text": event.text}
    return None
