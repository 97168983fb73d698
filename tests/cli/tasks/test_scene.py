"""``innkeeper fn generate-scene``: composed and made in this process, gone on from, and asked of a service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import main

TOLD = "*Mira walks into the old kitchen and lifts a copper kettle.*"


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def test_here(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A scene is made and its picture written; another changes it; composing makes nothing; mistakes have their codes."""
    assert main(["fn", "generate-scene", TOLD, "--told", "Mira", "--seed", "0", "--out", "one.png", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["status"], first["seed"], first["success"]) == ("completed", 0, True)
    assert (tmp_path / "one.png").read_bytes()[:4] == b"\x89PNG"
    changed = [
        "fn",
        "generate-scene",
        "--change",
        first["scene_id"],
        "--override",
        "make it night",
        "--no-wait",
        "--json",
    ]
    assert main(changed) == 0
    second = json.loads(capsys.readouterr().out)
    assert (second["scene_mode"], second["status"]) == ("modification", "queued")
    assert main(["fn", "generate-scene", TOLD, "--told", "Mira", "--compose"]) == 0
    assert capsys.readouterr().out.startswith("old kitchen; Mira;")
    for words, code in (((), 2), (("x", "--conversation", "nope"), 2), (("a naked 12 year old girl, erotic",), 65)):
        assert main(["fn", "generate-scene", *words]) == code
    assert "nothing says what is to be seen" in capsys.readouterr().err


def test_there(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A service is asked at the path of the function, or of the service that only composes."""
    asked: list[tuple[str, Any]] = []
    reply = {"success": True, "scene_prompt": "old kitchen", "reasons": ["no_model"]}

    def exchange(method: str, url: str, headers: Any, **content: Any) -> tuple[int, bytes]:
        asked.append((url, content["json"]))
        return 200, json.dumps(reply).encode()

    monkeypatch.setattr("innkeeper.service.client.exchange", exchange)
    assert main(["fn", "generate-scene", TOLD, "--told", "Mira", "--remote", "http://there"]) == 0
    assert main(["fn", "generate-scene", TOLD, "--compose", "--remote", "http://there/"]) == 0
    said = capsys.readouterr()
    assert (said.out, "makeshift: no_model" in said.err) == ("old kitchen\nold kitchen\n", True)
    body = {"message": TOLD, "character": {"name": "Mira"}, "contentType": "sfw"}
    assert asked[0] == ("http://there/functions/v1/generate-scene", body)
    assert asked[1][0] == "http://there/v1/scenes:compose"
