"""Operations over HTTP: the examples of the OpenAPI document are answered, and clients ask by operation."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from innkeeper import AsyncClient
from innkeeper.inference.fake import EchoServer
from innkeeper.library.errors import NotFoundError
from innkeeper.operations.library.decisions import EVALUATE, EvaluateTier
from innkeeper.operations.stored import ADD_CHARACTER, CHARACTER, AddCharacter, CharacterId
from innkeeper.operations.turns import CHAT, TakeTurn
from innkeeper.prompt.errors import UsageError
from innkeeper.service.guard.grants import surface_of
from innkeeper.service.operations.http import described, with_rule
from innkeeper.service.operations.paths import JOBS, SCENES, STORED, TASKS, WORKERS
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


def test_paths_by_rule() -> None:
    """Every operation has its path by rule once, and every path belongs to the surface of the operation's other paths."""
    for table in (TASKS, JOBS, WORKERS, SCENES, STORED):
        paths = with_rule(table)
        assert len({(path.method, path.path) for path in paths}) == len(paths)
        assert {path.operation.path for path in paths if not path.signed} <= {path.path for path in paths}
        assert len({surface_of(path.path) for path in paths}) == 1
        assert surface_of(paths[0].path) is not None


def test_a_client_asks_by_operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies, events and errors come as the operation has them."""
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))

    async def ask(web: httpx.AsyncClient) -> None:
        async with AsyncClient("http://127.0.0.1/v1", transport=web._transport) as client:
            assert (await client.call(EVALUATE, EvaluateTier(text="a fox")))["passed"]
            added = await client.call(ADD_CHARACTER, AddCharacter(columns={"name": "Mira"}))
            assert (await client.call(CHARACTER, CharacterId(character_id=added["id"])))["name"] == "Mira"
            with pytest.raises(NotFoundError, match="nobody"):
                await client.call(CHARACTER, CharacterId(character_id="nobody"))
            with pytest.raises(UsageError, match="no text enters") as caught:
                await client.call(EVALUATE, EvaluateTier(texts={"nowhere": "a"}))
            assert caught.value.to_dict()["where"] == {"path": "texts"}
            whole = await client.call(CHAT, TakeTurn(message="Hello"))
            assert whole["response"] == "a red fox"
            events = [event async for event in client.stream(CHAT, TakeTurn(message="Hello", stream=True))]
            assert [event.name for event in events][-1] == "done"
            facts = [event.data for event in events if isinstance(event.data, dict)]
            assert "".join(each["text"] for each in facts[:-1]) == facts[-1]["response"]
            with pytest.raises(UsageError, match="comes as events"):
                await client.call(CHAT, TakeTurn(message="Hello", stream=True))
            [done] = [event async for event in client.stream(EVALUATE, EvaluateTier(text="a fox"))]
            assert done.name == "done"

    with EchoServer(*["a red fox"] * 20) as server:
        served(entered(tmp_path / "library.db", server), ask)
