"""The page on tasks: its examples run as they are written."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import httpx
import pytest

from innkeeper.inference.fake import EchoServer
from tests.service.tasks.served import entered, served

PAGE = Path(__file__).parents[3] / "docs" / "tasks.md"


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))


def test_the_examples_of_the_page(tmp_path: Path) -> None:
    """Every ``curl`` of the page is answered, by a service without a key."""
    lines = [shlex.split(line[2:]) for line in PAGE.read_text().splitlines() if line.startswith("$ curl ")]
    assert len(lines) == 7
    suggested = json.dumps({"suggestedTraits": ["calm", "wry", "brave"]})

    def answer(request: dict[str, object]) -> str:
        return suggested if "response_format" in request else "a red fox in deep snow"

    async def ask(client: httpx.AsyncClient) -> None:
        for words in lines:
            path = re.sub(r"^localhost:\d+", "", words[2])
            reply = await client.post(path, content=words[-1], headers={"content-type": "application/json"})
            assert reply.status_code == 200, (path, reply.text)
            assert reply.json().get("success", True)

    with EchoServer(*[answer] * 20) as server:
        served(entered(tmp_path / "library.db", server), ask)
