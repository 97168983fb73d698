"""A small MCP server for tests, made with the official library."""

import asyncio
import os
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
def variables() -> list[str]:
    """The names of its environment."""
    return sorted(os.environ)


if __name__ == "__main__":
    server.run()
