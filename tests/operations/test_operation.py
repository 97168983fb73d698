"""Operations: what is made of a signature, and the page that shows how to add one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper import AsyncClient
from innkeeper.inference.fake import EchoServer
from innkeeper.operations.library.decisions import EVALUATE, RESOLVE
from innkeeper.operations.tasks.character import SUGGEST, CharacterSuggestions
from innkeeper.operations.tasks.suggestions import KEYS
from innkeeper.prompt.errors import UsageError
from innkeeper.service.operations.http import HttpPath, described
from innkeeper.service.operations.paths import TASKS
from tests.service.tasks.served import entered, served
from tests.shared import ROOT

PAGE = ROOT / "docs" / "how-to" / "add-an-operation.md"


def test_read() -> None:
    """Null and empty texts count as absent, aliases are read then, other keys are ignored, surrogates are replaced."""
    body = {"text": "", "prompt": "a \ud800", "content_mode": None, "unknown": 1}
    assert EVALUATE.read(body) == EVALUATE.request(text="a \ufffd")


@pytest.mark.parametrize(
    ("body", "path", "message"),
    [
        ({}, "use_case", "use_case is needed"),
        ({"use_case": ""}, "use_case", "use_case is needed"),
        ({"use_case": 5}, "use_case", "use_case must be text"),
        ({"use_case": "chat", "values": []}, "values", "values must be an object"),
        ({"use_case": "chat", "values": ""}, "values", "values must be an object"),
        ({"use_case": "chat", "strict": 1}, "strict", "strict must be true or false"),
    ],
)
def test_errors_name_the_field(body: dict[str, Any], path: str, message: str) -> None:
    """What does not fit is named by its path, in words."""
    with pytest.raises(UsageError, match=message) as caught:
        RESOLVE.read(body)
    assert caught.value.to_dict()["where"]["path"] == path


def test_spellings_of_a_character() -> None:
    """Fields are read under the document's spellings, in their order; parts may be texts, lists or objects."""
    body = {
        "suggestion_type": "voice",
        "content_mode": "sfw",
        "contentRating": "",
        "declared_age": 30,
        "model_key": "m",
    }
    parts = {"personality": {"temper": "calm"}, "traits": ["wry"], "appearance": "tall", "max_cost": 1}
    request = SUGGEST.read({**body, **parts})
    assert (request.kind, request.rating, request.age, request.model) == ("voice", "", 30, "m")
    assert (request.personality, request.traits, request.appearance) == ({"temper": "calm"}, ["wry"], "tall")
    wrongs: tuple[dict[str, Any], ...] = ({"declaredAge": True}, {"traits": 5}, {"role": []}, {"max_cost": -1})
    for wrong in wrongs:
        with pytest.raises(UsageError) as caught:
            SUGGEST.read(wrong)
        assert caught.value.to_dict()["where"]["path"] == next(iter(wrong))


def test_suggestions_at_both_doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function and the service answer alike; their errors have the shapes of their doors, with one status and code."""
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    assert CharacterSuggestions.__annotations__.keys() >= KEYS.keys()
    doors = ("/functions/v1/character-suggestions", "/v1/characters:suggest")

    async def ask(client: httpx.AsyncClient) -> None:
        for door in doors:
            reply = (await client.post(door, json={"type": "traits", "characterName": "Mira"})).json()
            assert (reply["success"], reply["suggestedTraits"]) == (True, ["calm", "wry", "brave"])
        refused = [await client.post(door, json={"type": "shoes"}) for door in doors]
        assert [reply.status_code for reply in refused] == [400, 400]
        assert refused[0].json()["success"] is False
        assert refused[1].json()["error"]["param"] == "type"

    with EchoServer(*['{"suggestedTraits": ["calm", "wry", "brave"]}'] * 4) as server:
        served(entered(tmp_path / "library.db", server), ask)


def test_the_page_on_adding_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's example is described, answered over HTTP, and refuses what does not fit."""
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    space: dict[str, Any] = {"__name__": "example"}
    for code in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        exec(compile(code, str(PAGE), "exec"), space)  # noqa: S102 - the page's own examples
    path = HttpPath(space["COUNT"], space["COUNT"].path, log="count")
    monkeypatch.setattr("innkeeper.service.operations.tasks.TASKS", (*TASKS, path))

    description = described([path])
    assert description.paths["/v1/texts:count"]["post"]["summary"] == "Count the words of a text."
    assert description.schemas["CountWords"]["required"] == ["text"]

    async def ask(client: httpx.AsyncClient) -> None:
        for body in ({"text": "a red fox"}, {"prompt": "a red fox"}):
            assert (await client.post("/v1/texts:count", json=body)).json() == {"words": 3}
        refused = await client.post("/v1/texts:count", json={"text": 5})
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "text")
        async with AsyncClient("http://127.0.0.1", transport=client._transport) as own:
            assert await space["words_of"]("a red fox", own) == 3

    with EchoServer() as server:
        served(entered(tmp_path / "library.db", server), ask)
