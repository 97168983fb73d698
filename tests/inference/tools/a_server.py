"""A small MCP server for tests, made with the official library. Its first argument says how it misbehaves."""

import asyncio
import os
import sys
from typing import Any

from mcp.server.mcpserver import Image, MCPServer

server = MCPServer("a server", log_level="CRITICAL")


@server.tool()
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


@server.tool(name="list.all things")
def listed() -> dict[str, Any]:
    """A name that no provider takes."""
    return {"all": [1, 2]}


@server.tool(structured_output=False)
def picture() -> list[Any]:
    """A text and a picture."""
    return ["here", Image(data=b"\x89PNG", format="png")]


@server.tool()
def broken() -> str:
    """Fails."""
    raise ValueError("secret")


@server.tool()
async def slow() -> str:
    """Never ends."""
    await asyncio.sleep(600)
    return ""


@server.tool()
def die() -> str:
    """Ends the process."""
    os._exit(3)


@server.tool(structured_output=False)
def large() -> str:
    """More than a message may have."""
    return "x" * 9_000_000


@server.tool()
def variables() -> list[str]:
    """The names of its environment."""
    return sorted(os.environ)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["crash"]:
            sys.exit("no such database: key=sk-abcdefghijklmnopqrstuvwxyz012345")
        case ["silent"]:
            sys.stdin.read()
        case ["noise"]:
            print("not JSON", flush=True)  # noqa: T201 - what it prints is the matter
            server.run()
        case _:
            server.run()
