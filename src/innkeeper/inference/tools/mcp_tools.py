"""Tools of an MCP server that runs on this machine: a `Toolbox` of them while the server runs.

::

    with open_mcp_tools(["innkeeper", "mcp", "cards"]) as tools:
        ToolLoopRunner.build(client, config, tools).run("What is in wenna.png?")

`open_mcp_tools_async` is the same for event loops. A command is a program that runs with the rights of whoever starts it: it is
named by the user, never by a card or an answer. What it says is not trusted: names and results are text, its time and the size of
what it says are bounded, and whatever it does, a call gives an envelope.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from innkeeper.inference.tools.definition import ToolDefinition, ToolRegistry
from innkeeper.inference.tools.dispatcher import failure
from innkeeper.inference.tools.mcp_process import ServerProcess
from innkeeper.inference.tools.toolbox import Toolbox
from innkeeper.lazy import require
from innkeeper.prompt import InnkeeperError, LimitError, Note, NoteKind, UnavailableError, UsageError
from innkeeper.prompt.data import freeze
from innkeeper.prompt.text import printable, shorten

MAX_MCP_TOOLS: Final = 512
"""Tools that one MCP server may offer (`LimitError`)."""

MCP_START_SECONDS: Final = 30.0
"""Seconds that an MCP server has to start and to list its tools."""

MCP_CALL_SECONDS: Final = 60.0
"""Seconds that one call of a tool of an MCP server may take, unless the caller says otherwise."""

_MESSAGE: Final = 500
"""How much of an error of a server is told, in characters."""

_CHARACTERS: Final = re.compile(r"[^A-Za-z0-9_-]")
_NAME_LENGTH: Final = 64


@contextmanager
def open_mcp_tools(
    command: str | Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    call_seconds: float = MCP_CALL_SECONDS,
    start_seconds: float = MCP_START_SECONDS,
) -> Iterator[Toolbox]:
    """The tools of a server that a command starts; the block ends it. Ctrl-C stops a call at once.

    Args:
        command: the program and its arguments, or one text that is split as a shell would; no shell sees it.
        env: variables of the environment for it, besides ``PATH``, ``HOME`` and the like.
        cwd: the folder it starts in.
        call_seconds: how long one call may take.
        start_seconds: how long it may take to start.

    Raises:
        UnavailableError: the library ``mcp`` is not installed, the command cannot be run, or it does not speak MCP in time.
        LimitError: it offers more than `MAX_MCP_TOOLS`.
        UsageError: the command is empty.
    """
    from anyio.from_thread import start_blocking_portal

    opened = open_mcp_tools_async(command, env=env, cwd=cwd, call_seconds=call_seconds, start_seconds=start_seconds)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened) as tools:

        def waiting(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(**arguments: Any) -> Any:
                future = portal.start_task_soon(lambda: function(**arguments))
                try:
                    return future.result()
                except BaseException:  # Ctrl-C: the call is given up, the server told
                    future.cancel()
                    raise

            return call

        yield Toolbox(
            tools.registry, {name: waiting(function) for name, function in tools.functions.items()}, tools.notes
        )


@asynccontextmanager
async def open_mcp_tools_async(
    command: str | Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    call_seconds: float = MCP_CALL_SECONDS,
    start_seconds: float = MCP_START_SECONDS,
) -> AsyncIterator[Toolbox]:
    """`open_mcp_tools` for event loops: the functions of the toolbox are asynchronous."""
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if not words:
        raise UsageError("the command of an MCP server is empty")
    require("mcp")
    server = _McpServer(ServerProcess(words, env, cwd), call_seconds)
    await server.start(start_seconds)
    try:
        yield server.toolbox()
    finally:
        await server.stop()


class _McpServer:
    """A session with a server, in a task of its own: what goes wrong in it reaches nobody but who asks it something."""

    def __init__(self, process: ServerProcess, call_seconds: float) -> None:
        self._process = process
        self._call_seconds = call_seconds
        self._name = shorten(process.command[0], 80)
        self._client: Any = None
        self._tools: list[Any] = []
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self, seconds: float) -> None:
        """Run the command, and list its tools. Raises as `open_mcp_tools`."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._serve(ready, seconds))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(ready)
        except TimeoutError:
            await self._cancel()
            raise self._unavailable(f"did not answer within {seconds:g} s") from None
        except BaseException:
            await self._cancel()
            raise

    async def stop(self) -> None:
        """End the session and the process."""
        self._over.set()
        if self._task is not None:
            with suppress(Exception):
                await self._task

    def toolbox(self) -> Toolbox:
        """Its tools, under names that every provider takes. Those that cannot be used are left out, with a note."""
        refused = list(self._process.refused)
        registry: list[ToolDefinition] = []
        functions: dict[str, Callable[..., Any]] = {}
        for each in self._tools:
            name = _CHARACTERS.sub("_", each.name)[:_NAME_LENGTH]
            if name in functions:
                refused.append(f"a second tool is called {name!r}")
                continue
            try:
                schema = freeze(dict(each.input_schema))
            except InnkeeperError as error:
                refused.append(f"the tool {name!r}: {error.message}")
                continue
            registry.append(ToolDefinition(name, printable(each.description or each.title or ""), schema))
            functions[name] = self._function(each.name, name)
        notes = [Note(NoteKind.WARNING, f"the MCP server {self._name!r}: {why}; it is left out") for why in refused]
        return Toolbox(ToolRegistry(registry), functions, tuple(notes))

    def _function(self, theirs: str, ours: str) -> Callable[..., Coroutine[Any, Any, dict[str, Any]]]:
        async def call(**arguments: Any) -> dict[str, Any]:
            return await self._call(theirs, ours, arguments)

        return call

    async def _serve(self, ready: asyncio.Future[None], seconds: float) -> None:
        from mcp import Client

        try:
            async with Client(self._process.streams(), read_timeout_seconds=seconds, cache=None) as client:
                self._client = client
                self._tools = await _listed(client)
                if not ready.done():
                    ready.set_result(None)
                await self._over.wait()
        except asyncio.CancelledError:
            ready.cancel()
            raise
        except BaseException as error:  # noqa: BLE001 - told to whoever waits; there is nobody else
            if not ready.done():
                ready.set_exception(self._error(_first(error)))
            self._client = None

    async def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(BaseException):
                await self._task

    async def _call(self, theirs: str, ours: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The envelope of one call."""
        if self._client is None:
            return failure(ours, "TOOL_UNAVAILABLE", self._ended())
        try:
            async with asyncio.timeout(self._call_seconds):
                result = await self._client.call_tool(theirs, arguments, read_timeout_seconds=self._call_seconds)
        except Exception as error:  # noqa: BLE001 - whatever the library makes of what a server sends
            return failure(ours, *self._why(error))
        return _envelope(ours, result)

    def _why(self, error: Exception) -> tuple[str, str]:
        """Why a call gave no result: a code and a sentence."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

        code = error.code if isinstance(error, MCPError) else None
        if isinstance(error, TimeoutError) or code == REQUEST_TIMEOUT:
            return "TOOL_TIMEOUT", f"the tool gave no result within {self._call_seconds:g} s"
        if code == CONNECTION_CLOSED or self._process.problem is not None or self._process.exit_code is not None:
            return "TOOL_UNAVAILABLE", self._ended()
        hint = (
            shorten(str(error), _MESSAGE) if code is not None else f"its answer cannot be used ({type(error).__name__})"
        )
        return "TOOL_ERROR", hint

    def _ended(self) -> str:
        if self._process.problem is not None:
            return f"the MCP server was given up: {self._process.problem.message}"
        code = self._process.exit_code
        return "the MCP server has ended" + ("" if code is None else f" (exit code {code})")

    def _error(self, error: BaseException) -> InnkeeperError:
        """What starting has failed with, as one of ours."""
        if isinstance(error, InnkeeperError):
            return error
        if isinstance(error, OSError):
            reason = error.strerror or type(error).__name__
            hint = "name a program that is installed, as in --mcp 'innkeeper mcp cards'"
            return UnavailableError(f"the MCP server {self._name!r} cannot be run: {reason}", hint=hint)
        return self._unavailable(f"does not answer as one: {shorten(str(error), _MESSAGE) or type(error).__name__}")

    def _unavailable(self, what: str) -> UnavailableError:
        words, code = self._process.last_words, self._process.exit_code
        hint = f"it said: {words.splitlines()[-1]}" if words else "run the command by hand to see what it does"
        ended = "" if code is None else f" (it ended with exit code {code})"
        return UnavailableError(f"the MCP server {self._name!r} {what}{ended}", hint=hint, stderr=words)


async def _listed(client: Any) -> list[Any]:
    """All tools of a server, page by page. Raises `LimitError`."""
    tools: list[Any] = []
    cursor: str | None = None
    for _ in range(MAX_MCP_TOOLS):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if len(tools) > MAX_MCP_TOOLS:
            break
        if not cursor:
            return tools
    raise LimitError(
        "what an MCP server offers", limit="MAX_MCP_TOOLS", allowed=MAX_MCP_TOOLS, hint="use a server with fewer tools"
    )


def _envelope(name: str, result: Any) -> dict[str, Any]:
    """What a tool gave: its structured result, else its texts. What is neither is named in a warning."""
    texts = [part.text for part in result.content if part.type == "text"]
    left = [part for part in result.content if part.type != "text"]
    if result.is_error:
        return failure(name, "TOOL_ERROR", shorten("\n".join(texts), _MESSAGE) or "the tool failed")
    structured = result.structured_content
    data = {"text": "\n".join(texts)} if structured is None else structured
    warnings = [f"left out: {part.type} ({getattr(part, 'mime_type', None) or 'no type'})" for part in left]
    data = data if isinstance(data, Mapping) else {"value": data}
    return {"ok": True, "tool_name": name, "data": dict(data), "warnings": warnings, "errors": []}


def _first(error: BaseException) -> BaseException:
    """The error in a group of one or more."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
