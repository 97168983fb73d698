"""Scene texts: JSON of a known shape, or a flagged makeshift."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from innkeeper.inference.fake import EchoServer, FakeReply
from innkeeper.library.library import Library
from innkeeper.operations.tasks.enhancement import Enhancement
from innkeeper.operations.tasks.scene_texts import SCENE_CREATION, SCENE_STARTERS, scene_text, scene_text_reply
from innkeeper.prompt.errors import UsageError
from tests.operations.tasks.house import deployment, library_at, run

SCENE = {
    "enhanced_description": "A quiet inn.",
    "scene_prompt": "an inn, rain",
    "suggested_tags": ["inn", "rain", "night"],
    "suggested_scenario_type": "slow_burn",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """One library for all."""
    with library_at(tmp_path_factory.mktemp("scene_texts") / "library.db") as library:
        yield library


def told(library: Library, kind: str, said: Any) -> dict[str, Any]:
    """The reply to a request whose model says this."""
    wanted = Enhancement(text="an inn in the rain", job_type=kind)
    with EchoServer(said) as server:
        answer = run(library, lambda tasks: scene_text(tasks, wanted), deployment(server))
        assert server.requests[0].body["response_format"]["type"] == "json_schema"
    return scene_text_reply(wanted, answer)


def test_a_scene(library: Library) -> None:
    """What the model wrote, whatever stands around it."""
    reply = told(library, SCENE_CREATION, f"Here it is:\n```json\n{json.dumps(SCENE)}\n```")
    assert {name: reply[name] for name in SCENE} == SCENE
    assert (reply["success"], reply["enhancement_strategy"]) == (True, "scene_creation_there")


@pytest.mark.parametrize(
    "said", ["no json", "{}", '{"scene_prompt": 5}', "}{", '{"scene_prompt": "\\ud800"}'[:18], "[1]", "{" * 200]
)
def test_a_scene_that_cannot_be_read(library: Library, said: str) -> None:
    """The text of the request stands in its place, flagged."""
    reply = told(library, SCENE_CREATION, said)
    assert reply["enhanced_description"] == reply["scene_prompt"] == "an inn in the rain"
    assert reply["enhancement_strategy"] == "scene_creation_fallback"
    assert "not_json" in reply["reasons"]


def test_an_unknown_type_is_none(library: Library) -> None:
    """A type that the document has not is nothing; one text serves for both where the other is missing."""
    reply = told(library, SCENE_CREATION, json.dumps({"scene_prompt": "an inn", "suggested_scenario_type": "x"}))
    assert (reply["enhanced_description"], reply["suggested_scenario_type"]) == ("an inn", None)


def test_starters(library: Library) -> None:
    """Lines, or stock ones, flagged."""
    reply = told(library, SCENE_STARTERS, '{"starters": ["Come in.", 5, " Sit. "]}')
    assert (reply["starters"], reply["enhanced_prompt"]) == (["Come in.", "Sit."], "Come in.\nSit.")
    stock = told(library, SCENE_STARTERS, "Come in.")
    assert len(stock["starters"]) == 3
    assert "not_json" in stock["reasons"]


def test_a_refusal_and_nothing(library: Library) -> None:
    """A refusal is told; without a text there is nothing to begin from."""
    refused = told(library, SCENE_CREATION, FakeReply(content="No.", finish_reason="content_filter"))
    assert (refused["success"], refused["refusal"], refused["enhanced_prompt"]) == (False, "No.", None)
    with EchoServer() as server, pytest.raises(UsageError):
        run(library, lambda tasks: scene_text(tasks, Enhancement(job_type=SCENE_STARTERS)), deployment(server))
