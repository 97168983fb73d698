"""PromptService: from a tool's name and an input to one canonical response (5-prompt-sequence-flow, *CLI Flow*, *gRPC Flow*).

The way is the same from every surface: the tool's configuration, its secret, its model, the body that the model's dialect writes,
one call, one `ModelResponse`. What the request says counts before what the tool says; what neither says is not sent.
`PromptService` is for blocking callers, whose threads may share it, `AsyncPromptService` for one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from hashlib import sha256
from typing import Any, Final, Self

import msgspec

from innkeeper.dialects.registry import DIALECTS
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.client.model_clients import AsyncModelClient
from innkeeper.inference.client.portal import portal
from innkeeper.inference.errors import DecodeError
from innkeeper.inference.response.events import CallDelta, ModelEvent, ReasoningDelta, RefusalDelta, TextDelta
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse
from innkeeper.inference.response.views import legacy
from innkeeper.inference.routing.meter import MeteredCall, admitted, metered
from innkeeper.library.outside import MACHINE, Outside
from innkeeper.library.prompts.llm_factory import LLM, LLMFactory
from innkeeper.library.prompts.run_request import PromptRunRequest, tools_of
from innkeeper.library.prompts.tool_config import ToolConfig, ToolDAO, VaultDAO
from innkeeper.prompt.data import FrozenDict, freeze
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note


class PreparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run before it is sent: the model, the body as it goes out, what the request says, and what could not be carried.

    ``tool`` and ``provider`` are the tool's, which is a route by its name for whoever is charged.
    """

    tool: str
    provider: str
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
    chosen = {
        "temperature": _first(request.temperature, config.temperature),
        "max_tokens": _first(request.max_output_tokens, config.max_output_tokens),
        "top_p": _first(request.top_p, config.top_p),
        "tool_choice": request.tool_choice,
    }
    options = {**config.settings, **{name: value for name, value in chosen.items() if value is not None}}
    dialect = DIALECTS[llm.dialect]
    payload = dialect.request((*top, *request.messages), model=llm.model, options=options, tools=tools)
    echo = {
        "instructions": request.instructions or None,
        "temperature": chosen["temperature"],
        "top_p": chosen["top_p"],
        "max_output_tokens": chosen["max_tokens"],
        "metadata": request.metadata,
        "tool_choice": request.tool_choice or "auto",
        "tools": [{"type": "function", **msgspec.to_builtins(tool)} for tool in tools],
    }
    return PreparedRun(
        tool=config.name,
        provider=config.provider.strip().lower(),
        llm=llm,
        body=freeze(payload.body),
        echo=freeze(echo),
        notes=payload.notes,
    )


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


class AsyncPromptService:
    """`PromptService` for event loops. Tools and secrets are looked up in a thread, since databases are waited for there."""

    def __init__(
        self, tools: ToolDAO, vault: VaultDAO, factory: LLMFactory | None = None, outside: Outside = MACHINE
    ) -> None:
        self._tools, self._vault, self._outside = tools, vault, outside
        self._factory = factory or LLMFactory()
        self._clients: dict[tuple[Any, ...], AsyncModelClient] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

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

    async def run(self, request: Mapping[str, Any] | PromptRunRequest) -> PromptRun:
        """One answer. Cancelling it stops the provider."""
        return await self.run_prepared(await asyncio.to_thread(self.prepare, request))

    async def stream(self, request: Mapping[str, Any] | PromptRunRequest) -> AsyncGenerator[ModelEvent | PromptRun]:
        """The events of the answer as they come, and at the end the whole of it. Cancelling it stops the provider."""
        run = await asyncio.to_thread(self.prepare, request)
        async with aclosing(self.stream_prepared(run, run.request(stream=True))) as events:
            async for event in events:
                yield event

    async def run_prepared(self, run: PreparedRun) -> PromptRun:
        """One answer to a request that is prepared."""
        async with aclosing(self.stream_prepared(run, run.request())) as events:
            async for event in events:
                if isinstance(event, PromptRun):
                    return event
        raise DecodeError("the answer has no end")

    async def stream_prepared(self, run: PreparedRun, sent: ModelRequest) -> AsyncGenerator[ModelEvent | PromptRun]:
        """The events of the answer to a request that is prepared, and at the end the whole of it.

        The meter of the running call decides whether the tool may be asked, and books what the answer uses.
        """
        call = MeteredCall(run.tool, run.provider, run.llm.model, sent=sent.content)
        meter = admitted(call)
        answer = metered(self._client(run.llm).events(sent), meter, call)
        created = self._outside.now().epoch_ms // 1000
        fold = ResponseFold(f"resp_{self._outside.fresh_id()}", run.llm.model, created, run.echo)
        async with aclosing(answer) as events:
            async for event in events:
                fold.take(event)
                yield event
        yield PromptRun(response=fold.response(), notes=run.notes, sha256=sent.sha256)

    async def close(self) -> None:
        """Close the connections, and let go of models that run beside this process."""
        self._factory.close()
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.close()

    def _client(self, llm: LLM) -> AsyncModelClient:
        """The client of a model: one for each address and key, of which there are as many as tools name."""
        named = llm.options.get("name", "")
        key = (llm.adapter.name, llm.base_url, sha256(llm.key.reveal().encode()).digest(), id(llm.local), named)
        if key not in self._clients:
            self._clients[key] = llm.open()
        return self._clients[key]


class PromptService:
    """The service for blocking callers, whose threads may share it; what it asks runs in the process's `Portal`.

    Args:
        tools: where tools are looked up.
        vault: where their secrets are.
        factory: what makes models of their configurations.
        outside: the time and the identifiers of responses; the machine's where left out.
    """

    def __init__(
        self, tools: ToolDAO, vault: VaultDAO, factory: LLMFactory | None = None, outside: Outside = MACHINE
    ) -> None:
        self._service = AsyncPromptService(tools, vault, factory, outside)
        self.prepare = self._service.prepare

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, request: Mapping[str, Any] | PromptRunRequest) -> PromptRun:
        """One answer. Raises what `AsyncPromptService.prepare` raises, and `ProviderError` and its kin."""
        return portal().call(self._service.run_prepared(self.prepare(request)))

    def stream(self, request: Mapping[str, Any] | PromptRunRequest) -> Iterator[ModelEvent | PromptRun]:
        """The events of the answer as they come, and at the end the whole of it."""
        run = self.prepare(request)
        yield from portal().iterate(self._service.stream_prepared(run, run.request(stream=True)))

    def close(self) -> None:
        """Close the connections, and let go of models that run beside this process."""
        portal().finish(self._service.close())


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
