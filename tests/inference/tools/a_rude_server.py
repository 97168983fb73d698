"""An MCP server without a library, for tests of what a server can do wrong; it starts at once.

Its tools are `add`, `slow`, `die` and `large`; its first argument says how it misbehaves before it is asked anything.
"""

import json
import os
import sys
from typing import Any

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("add", "slow", "die", "large")]

BAD: list[Any] = [
    {"name": "no schema", "inputSchema": "object"},
    {"name": "over\u202ereversed", "inputSchema": {"type": "object"}},
    {"name": "new\nline", "inputSchema": {"type": "object"}},
    {"name": 7, "inputSchema": {"type": "object"}},
    "nothing",
    {"name": "a.dd", "inputSchema": {"type": "object"}},
    {"name": "a/dd", "inputSchema": {"type": "object"}},
]


def reply(message: dict[str, Any], **parts: Any) -> None:
    """Answer a request."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **parts}) + "\n")
    sys.stdout.flush()


def text(words: str) -> dict[str, Any]:
    """The result of a tool."""
    return {"content": [{"type": "text", "text": words}]}


def call(message: dict[str, Any]) -> None:
    """Run a tool."""
    match message["params"]["name"]:
        case "add":
            reply(message, result=text("3"))
        case "large":
            reply(message, result=text("x" * 9_000_000))
        case "die":
            os._exit(3)


def main() -> None:
    """Answer until the input ends."""
    mode = sys.argv[1:]
    if mode == ["crash"]:
        sys.exit("no such database: key=sk-abcdefghijklmnopqrstuvwxyz012345")
    if mode == ["noise"]:
        sys.stdout.write('not JSON\n{"jsonrpc": 7}\n\n')
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"), mode:
            case _, ["silent"]:
                continue
            case "initialize", _:
                about = {"name": "rude", "version": "1"}
                version = message["params"]["protocolVersion"]
                reply(message, result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about})
            case "tools/list", ["bad"]:
                reply(message, result={"tools": [*BAD, *TOOLS]})
            case "tools/list", _:
                reply(message, result={"tools": TOOLS, **({"nextCursor": "on and on"} if mode == ["endless"] else {})})
            case "tools/call", _:
                call(message)
            case _ if "id" in message:
                reply(message, error={"code": -32601, "message": "not known"})


if __name__ == "__main__":
    main()
