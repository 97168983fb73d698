"""The process of an MCP server: its lines, however they come, and its last words."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.tools import mcp_process
from innkeeper.inference.tools.mcp_process import STDERR_LINES, ServerProcess, _lines
from innkeeper.prompt import LimitError


async def pieces(parts: list[bytes]) -> AsyncIterator[bytes]:
    """A stream."""
    for part in parts:
        yield part


def lines(parts: list[bytes]) -> list[bytes]:
    """The lines of a stream."""

    async def read() -> list[bytes]:
        return [line async for line in _lines(pieces(parts))]

    return asyncio.run(read())


@given(st.lists(st.binary(max_size=6).map(lambda data: data.replace(b"\0", b"\n")), max_size=12))
def test_lines(parts: list[bytes]) -> None:
    """A stream has the same lines however it is cut; what has no end is no line."""
    assert lines(parts) == b"".join(parts).split(b"\n")[:-1]


def test_a_line_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that grows past the limit is given up, not kept."""
    monkeypatch.setattr(mcp_process, "MAX_MCP_LINE_BYTES", 10)
    assert lines([b"123456789", b"0\n1234567890", b"\n"]) == [b"1234567890", b"1234567890"]
    with pytest.raises(LimitError, match="MAX_MCP_LINE_BYTES"):
        lines([b"123456", b"7890", b"1"])


def test_last_words() -> None:
    """The end of its standard error is kept, some lines of it, without what would move a terminal."""
    code = f"import sys; [print('\\x1b[31m', n, 'x' * 9000, file=sys.stderr) for n in range({STDERR_LINES + 5})]"
    process = ServerProcess([sys.executable, "-c", code])

    async def run() -> None:
        async with process.streams() as (incoming, _):
            with suppress(Exception):
                await incoming.receive()

    asyncio.run(run())
    words = process.last_words.splitlines()
    assert len(words) == STDERR_LINES
    assert f" {STDERR_LINES + 4} " in words[-1]
    assert "\x1b" not in process.last_words
    assert len(process.last_words) < 600 * STDERR_LINES
    assert process.exit_code == 0
