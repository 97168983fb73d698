"""The page on conversations: its examples run as they are written, one after the other, at a service without a key."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai.types.conversations import Conversation, Message

from innkeeper.inference.fake import EchoServer
from tests.service.tasks.served import entered, served

PAGE = Path(__file__).parents[3] / "docs" / "conversations.md"
SAVED = re.compile(r"(\w+)=\$\((.*) \| jq -r \.(\w+)\)")


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))


async def asked(client: httpx.AsyncClient, line: str) -> httpx.Response:
    """What a line of ``curl`` is answered."""
    words = shlex.split(line)
    options = {words[place]: words[place + 1] for place in range(3, len(words), 2)}
    assert words[:2] == ["curl", "-s"]
    name, _, value = options.get("-H", "").partition(": ")
    headers = {name: value} if name else {}
    path = words[2].removeprefix("localhost:8050")
    return await client.request("POST" if "-d" in options else "GET", path, content=options.get("-d"), headers=headers)


def test_the_examples_of_the_page(tmp_path: Path) -> None:
    """Every ``curl`` is answered; what one line keeps in a variable the next ones have. OpenAI's client reads what was begun."""
    lines = [line[2:] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("$ ") and "curl" in line]
    assert len(lines) == 9

    async def ask(client: httpx.AsyncClient) -> None:
        kept: dict[str, Any] = {}
        for line in lines:
            for name, value in kept.items():
                line = line.replace(f"${name}", value)  # noqa: PLW2901 - as a shell does
            saved = SAVED.fullmatch(line)
            reply = await asked(client, line if saved is None else saved[2])
            assert reply.status_code < 300, (line, reply.text)
            if saved is not None:
                kept[saved[1]] = reply.json()[saved[3]]
        for path in ("", f"/{kept['TALK']}"):
            shown = (await client.get(f"/v1/conversations{path}")).json()
            Conversation.model_validate(shown["data"][0] if path == "" else shown, strict=True)
        items = (await client.get(f"/v1/conversations/{kept['TALK']}/items", params={"limit": 2})).json()
        assert [item["role"] for item in items["data"]] == ["assistant", "user"]
        rest = {"after": items["last_id"], "order": "desc"}
        more = (await client.get(f"/v1/conversations/{kept['TALK']}/items", params=rest)).json()
        assert (len(more["data"]), items["has_more"], more["has_more"]) == (3, True, False)
        for item in [*items["data"], *more["data"]]:
            Message.model_validate(item, strict=True)
        refused = await client.post("/v1/conversations", json={"metadata": {"a": "b"}})
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "metadata")
        said = (await client.get(f"/v1/conversations/{kept['TALK']}/messages")).json()["data"]
        assert [row["role"] for row in said] == ["assistant", "user", "assistant", "user", "assistant"]

    with EchoServer(*["The river is high."] * 9) as server:
        served(entered(tmp_path / "library.db", server), ask)
