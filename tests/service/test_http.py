"""Operations over HTTP: the examples of the OpenAPI document are answered."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from innkeeper.inference.fake import EchoServer
from innkeeper.service.http import described
from innkeeper.service.paths import JOBS, TASKS, WORKERS
from tests.service.tasks.served import entered, served


def test_examples_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example of the document is sent to its path, and is no error."""
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    examples = [
        (method, path, example["value"])
        for path, item in described((*TASKS, *JOBS, *WORKERS)).paths.items()
        for method, made in item.items()
        for example in made.get("requestBody", {})
        .get("content", {})
        .get("application/json", {})
        .get("examples", {})
        .values()
    ]
    assert examples

    async def ask(client: httpx.AsyncClient) -> None:
        for method, path, body in examples:
            reply = await client.request(method, path, json=body)
            assert reply.is_success, (path, reply.text)

    with EchoServer(*["a red fox in deep snow"] * 20) as server:
        served(entered(tmp_path / "library.db", server), ask)
