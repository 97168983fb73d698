"""The process of an MCP server: started by a command of the user's, talked to over its standard input and output, and ended.

It gets a few variables of the environment and no more, so no keys; it is a session of its own, so that Ctrl-C reaches it through
us alone; and no line of it is read past a limit. What it writes to its standard error is kept for error messages, its end only.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from innkeeper.prompt import LimitError
from innkeeper.prompt.text import printable, redact, shorten

MAX_MCP_LINE_BYTES: Final = 8 * 1024 * 1024
"""Bytes of one message of an MCP server (no error: the server is given up, its tools answer ``TOOL_UNAVAILABLE``)."""

STDERR_LINES: Final = 8
"""How many of the last lines of a server's standard error are kept."""

_STDERR_BYTES: Final = 500
"""How much of a line of standard error is kept."""

_NAME: Final = 64
"""How much of the name of a tool that is left out is told."""

_GRACE: Final = 2.0
"""Seconds that a server has to end by itself once its input is closed; then as many after it was asked to."""

_POLL: Final = 0.01

_INHERITED: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR"),
    *("APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE"),
    *("SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE"),
)
"""The variables of the environment that a server gets: what any program needs, no keys."""


class ServerProcess:
    """One run of a server. ``problem`` is why nothing more is read of it, where that is no end of its own.

    ``refused`` says which of its tools are left out.

    Raises `OSError` where the command cannot be run.
    """

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str] | None = None, cwd: str | Path | None = None
    ) -> None:
        self.command = list(command)
        self.problem: LimitError | None = None
        self.refused: list[str] = []
        self._env = env
        self._cwd = cwd
        self._words: deque[bytes] = deque(maxlen=STDERR_LINES)
        self._process: Any = None

    @property
    def last_words(self) -> str:
        """The end of its standard error, safe to print, without secrets."""
        return redact(printable("\n".join(line.decode("utf-8", "replace") for line in self._words)))

    @property
    def exit_code(self) -> int | None:
        """The code that it ended with; None while it runs."""
        code: int | None = None if self._process is None else self._process.returncode
        return code

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """The two streams of messages that a client of the ``mcp`` library wants. Leaving the block ends the process."""
        import anyio

        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        environment = {**inherited, **(self._env or {})}
        self._process = await anyio.open_process(self.command, env=environment, cwd=self._cwd, start_new_session=True)
        to_client, from_server = anyio.create_memory_object_stream[Any](0)
        from_client, to_server = anyio.create_memory_object_stream[Any](0)
        async with anyio.create_task_group() as tasks, to_client, from_server, from_client, to_server:
            tasks.start_soon(self._read, to_client)
            tasks.start_soon(self._write, to_server, to_client)
            tasks.start_soon(self._listen)
            try:
                yield from_server, from_client
            finally:
                with anyio.CancelScope(shield=True):
                    await self._stop()
                tasks.cancel_scope.cancel()

    async def _read(self, to_client: Any) -> None:
        """Pass on its messages; what is no message is passed over."""
        import anyio
        import mcp  # noqa: F401 - a library is entered at its top
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            try:
                async with to_client:
                    async for line in _lines(self._process.stdout):
                        with suppress(ValueError):
                            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                            self._leave_out(getattr(message, "result", None))
                            await to_client.send(SessionMessage(message))
            except LimitError as error:
                self.problem = error

    def _leave_out(self, result: Any) -> None:
        """Take tools out of a list that cannot be used: one bad tool must not cost the others."""
        tools = result.get("tools") if isinstance(result, dict) else None
        if not isinstance(tools, list):
            return
        from mcp_types import Tool
        from pydantic import ValidationError

        usable = []
        for tool in tools:
            name = str(tool.get("name")) if isinstance(tool, dict) else ""
            try:
                Tool.model_validate(tool)
            except ValidationError:
                self.refused.append(f"the tool {shorten(printable(name), _NAME)!r} has no valid name and schema")
                continue
            if name.isprintable():
                usable.append(tool)
            else:
                self.refused.append(f"the tool {shorten(printable(name), _NAME)!r} has a name that does not print")
        result["tools"] = usable

    async def _write(self, to_server: Any, to_client: Any) -> None:
        """Pass on the client's messages; where it cannot be written to, its messages end as well."""
        import anyio

        try:
            async for message in to_server:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._process.stdin.send(text.encode() + b"\n")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            await to_client.aclose()

    async def _listen(self) -> None:
        """Keep the end of its standard error."""
        import anyio

        rest = b""
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            async for piece in self._process.stderr:
                *lines, rest = (rest + piece).split(b"\n")
                rest = rest[:_STDERR_BYTES]
                self._words.extend(line[:_STDERR_BYTES] for line in lines if line.strip())
        if rest.strip():
            self._words.append(rest)

    async def _stop(self) -> None:
        """End it and what it has started: by closing its input, then by asking, then by force."""
        import anyio

        process = self._process
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()
        for sign in (None, signal.SIGTERM):
            if sign is not None:
                self._signal(sign)
            if await _ended(process):
                break
        self._signal(
            signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL
        )  # its children too, where it has any
        await _ended(process)
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.aclose()

    def _signal(self, sign: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.terminate()
            else:
                os.killpg(self._process.pid, sign)


async def _ended(process: Any) -> bool:
    """Whether it ends within the grace. Waiting for it would wait for those who hold its pipes, too."""
    import anyio

    with anyio.move_on_after(_GRACE):
        while process.returncode is None:  # noqa: ASYNC110 - nothing tells of it but the process
            await anyio.sleep(_POLL)
    return process.returncode is not None


async def _lines(stream: Any) -> AsyncIterator[bytes]:
    """The lines of a stream. Raises `LimitError` for one that is too long."""
    held = bytearray()
    async for piece in stream:
        first, *others = piece.split(b"\n")
        held += first
        for part in others:
            yield bytes(held)
            held = bytearray(part)
        if len(held) > MAX_MCP_LINE_BYTES:
            what = "a message of the MCP server"
            raise LimitError(what, limit="MAX_MCP_LINE_BYTES", allowed=MAX_MCP_LINE_BYTES, found=len(held))
