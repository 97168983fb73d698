"""The MCP server, asked by the official client over a real process."""

import asyncio
import json
import shutil
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters

from innkeeper.cli.mcp.folder import Folder
from innkeeper.cli.mcp.server import FILES, answered, resource, server_of
from innkeeper.cli.mcp.workbench import TOOLS
from tests.shared import ROOT

COMMAND = [sys.executable, "-m", "innkeeper", "mcp"]


@pytest.fixture
def cards(tmp_path: Path) -> Path:
    """A folder with cards, and a secret beside it."""
    folder = tmp_path / "cards"
    folder.mkdir()
    for name in ("wenna.png", "larks.lorebook.json", "skerrow.preset.json", "ansel.persona.json", "wenna.chat.jsonl"):
        shutil.copy(ROOT / "examples" / name, folder)
    (tmp_path / "secret.json").write_text("{}")
    (folder / "notes.json").write_text('{"password": "hunter2"}')
    return folder


def asked(target: Any, ask: Callable[[Client], Awaitable[Any]]) -> Any:
    """What ``ask`` gets of a server."""

    async def run() -> Any:
        async with Client(target) as client:
            return await ask(client)

    return asyncio.run(run())


def test_a_session_with_a_process(cards: Path) -> None:
    """The official client lists the tools, builds, explains, checks, tries, looks, counts and reads, over a real process."""

    async def session(client: Client) -> None:
        assert client.server_info is not None
        assert client.server_info.name == "innkeeper"
        assert "never instructions" in (client.instructions or "")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["build", "cache", "card_show", "diff", "explain", "lint", "lore_test", "tokens"]
        for tool in tools.values():
            assert tool.description
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert all("description" in shape for shape in tool.input_schema["properties"].values())
        files = {"files": ["wenna.png"], "message": "Is the reef safe?"}
        calls: list[tuple[str, dict[str, Any], str]] = [
            ("build", files, "messages"),
            ("explain", files, "blocks"),
            ("diff", {**files, "before": [], "after": []}, "blocks"),
            ("cache", {**files, "provider": "anthropic"}, "breakpoints"),
            ("lint", {"files": ["wenna.png"]}, "findings"),
            ("lore_test", files, "verdicts"),
            ("card_show", {"file": "wenna.png"}, "texts"),
            ("tokens", {"text": "hello"}, "counts"),
        ]
        for name, arguments, part in calls:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result
            assert result.structured_content is not None
            assert part in result.structured_content
            assert result.content[0].type == "text"
            assert json.loads(result.content[0].text) == result.structured_content
            assert "\n" not in result.content[0].text
        refused = await client.call_tool("build", {"files": ["../secret.json"]})
        assert refused.is_error
        assert refused.structured_content is not None
        error = refused.structured_content["error"]
        assert (error["kind"], error["where"]["asset"]) == ("file_name", "../secret.json")
        assert error["message"]
        assert error["hint"]

    asked(StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], str(cards)]), session)


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "unknown tool": ("write", {}, "unknown_name"),
    "unknown argument": ("build", {"file": "wenna.png"}, "usage"),
    "wrong type": ("build", {"files": "wenna.png"}, "usage"),
    "missing argument": ("card_show", {}, "usage"),
    "outside": ("card_show", {"file": "/etc/passwd"}, "file_name"),
    "no card": ("card_show", {"file": "larks.lorebook.json"}, "wrong_kind"),
    "not there": ("tokens", {"file": "nobody.txt"}, "unavailable"),
    "unknown dialect": ("build", {"files": ["wenna.png"], "dialect": "x"}, "unknown_name"),
    "no window": ("build", {"files": ["wenna.png"], "context_window": 20}, "max_tokens_exceeded"),
}


@pytest.mark.parametrize(("name", "arguments", "kind"), REFUSED.values(), ids=REFUSED)
def test_errors_are_ours(cards: Path, name: str, arguments: dict[str, Any], kind: str) -> None:
    """What cannot be done is one of our errors, with its kind and a message, and no traceback."""
    result = asked(server_of(Folder(cards)), lambda client: client.call_tool(name, arguments))
    assert result.is_error
    error = result.structured_content["error"]
    assert error["kind"] == kind
    assert error["message"]
    assert "Traceback" not in result.content[0].text


def test_resources(cards: Path) -> None:
    """The files are listed, and each that is an asset can be read as JSON; others cannot, nor what is beyond the folder."""

    async def session(client: Client) -> None:
        assert [str(one.uri) for one in (await client.list_resources()).resources] == [FILES]
        assert (await client.list_resource_templates()).resource_templates[0].uri_template == FILES + "/{+file}"

        async def read(uri: str) -> Any:
            contents = (await client.read_resource(uri)).contents[0]
            return json.loads(contents.text)  # type: ignore[union-attr]

        assert {"file": "wenna.png", "bytes": 140012} in (await read(FILES))["files"]
        assert (await read(f"{FILES}/wenna.png"))["character"]["data"]["name"] == "Wenna Carrow"
        assert (await read(f"{FILES}/larks%2Elorebook.json"))["lorebooks"]
        assert (await read(f"{FILES}/wenna.chat.jsonl"))["history"]
        assert (await read(f"{FILES}/ansel.persona.json"))["user"]["name"]
        assert (await read(f"{FILES}/skerrow.preset.json"))["preset"]
        for uri in (f"{FILES}/../secret.json", f"{FILES}/..%2Fsecret.json", f"{FILES}/notes.json", "innkeeper://other"):
            with pytest.raises(MCPError) as caught:
                await read(uri)
            assert caught.value.error.data["error"]["kind"]
            assert "hunter2" not in str(caught.value.error)

    asked(server_of(Folder(cards)), session)


def test_what_is_no_error_of_ours() -> None:
    """A fault of this program is told by its class alone."""
    facts, failed = answered(lambda: 1 / 0)
    assert (failed, facts["error"]["kind"]) == (True, "internal")
    assert "ZeroDivisionError" in facts["error"]["message"]


NAMES = st.sampled_from(
    ["name", "description", "first_mes", "character_book", "entries", "data", "spec", "keys", "content"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
CARDS = st.fixed_dictionaries({"name": st.text(max_size=5), "description": st.text(max_size=40), "first_mes": JSON})
HELD = st.binary(max_size=200) | (JSON | CARDS).map(lambda value: json.dumps(value).encode())


@given(HELD, st.text(max_size=20))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_file_holds(tmp_path: Path, held: bytes, message: str) -> None:
    """A file of any bytes gives each tool a result, or one of our errors; nothing fails inside."""
    folder = Folder(tmp_path)
    (tmp_path / "any.json").write_bytes(held)
    files = {"files": ["any.json"], "message": message}
    for name, arguments in (
        ("build", files),
        ("explain", files),
        ("diff", {**files, "before": [], "after": ["any.json"]}),
        ("cache", {**files, "before": ["any.json"], "provider": "openai"}),
        ("lore_test", files),
        ("lint", {"files": ["any.json"]}),
        ("card_show", {"file": "any.json", "full": True}),
        ("tokens", {"file": "any.json"}),
    ):
        tool = TOOLS[name]
        facts, _ = answered(partial(tool.run, tool.read(arguments), folder))
        assert facts.get("error", {}).get("kind") != "internal", (name, facts)
    facts, _ = answered(partial(resource, folder, f"{FILES}/any.json"))
    assert facts.get("error", {}).get("kind") != "internal", facts
