"""What the library would decide, over HTTP: tiers and templates, without asking a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.inference.fake import EchoServer
from tests.service.tasks.served import entered, served


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))


def test_questions(tmp_path: Path) -> None:
    """A block is an answer; what cannot be asked is refused; a template is told, and filled in."""

    async def ask(client: httpx.AsyncClient) -> None:
        tier = "/v1/tier:evaluate"
        assert (await client.post(tier, json={"text": "a fox", "content_mode": "nsfw"})).json()["effective"] == "sfw"
        blocked = (await client.post(tier, json={"texts": {"card": "a nude 15 year old"}})).json()
        assert (blocked["decision"], blocked["passed"]) == ("block", False)
        wrongs: tuple[dict[str, Any], ...]
        wrongs = ({"texts": []}, {"texts": {"nowhere": "x"}}, {"texts": {"card": 5}}, {"text": 5})
        for wrong in wrongs:
            assert (await client.post(tier, json=wrong)).status_code == 400, wrong
        asked = {"use_case": "enhancement", "job_type": "image", "target_model": "sdxl"}
        found = (await client.post("/v1/templates:resolve", json=asked)).json()
        assert (found["level"], found["tier"]["effective"]) == ("builtin", "sfw")
        rendered = (await client.post("/v1/templates:render", json=asked)).json()
        assert "SDXL" in rendered["text"]
        roleplay = {"use_case": "character_roleplay", "values": {"character_name": "Mira {{x}} $1"}}
        lacking = await client.post("/v1/templates:render", json={"use_case": "character_roleplay"})
        assert lacking.status_code == 400
        assert "Mira {{x}} $1" in (await client.post("/v1/templates:render", json=roleplay)).json()["text"]
        wrongs = ({}, {"use_case": 5}, {**asked, "values": []}, {**asked, "label": {}})
        for wrong in wrongs:
            assert (await client.post("/v1/templates:resolve", json=wrong)).status_code == 400, wrong
        assert (await client.post("/v1/templates:render", json={"use_case": "nothing"})).status_code == 404

    with EchoServer() as server:
        served(entered(tmp_path / "library.db", server), ask)
        assert not server.requests
