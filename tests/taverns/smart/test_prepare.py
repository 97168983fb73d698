"""What the smart tavern reads of a request: its own files as they are, those of others in its words."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.prompt import ConfigError, NoConfig, Step, UnknownNameError
from innkeeper.prompt.request import BuildRequest
from innkeeper.taverns import smart
from innkeeper.taverns.smart.prepare import SmartInputs, chat_variables, inputs_of, read_settings


def _inputs(**fields: Any) -> SmartInputs:
    """What *prepare* left in a build of these inputs."""
    seen: list[SmartInputs] = []
    look = Step("look", lambda state, _config: seen.append(inputs_of(state)), NoConfig)
    smart.builder(message="Hi", **fields).insert_step_after("prepare", look).build()
    return seen[0]


def test_own_words_are_kept() -> None:
    """A file in this tavern's words is used as it is, but cannot say that its text came from elsewhere."""
    preset = {"prompts": [{"identifier": "main", "position": "in-chat", "type": "x", "depth": 0, "content": "P"}]}
    book = {"entries": [{"id": 1, "mode": "always", "position": "system", "type": "x", "content": "E"}]}
    inputs = _inputs(preset=preset, lorebooks=[book])
    assert inputs.preset["prompts"] == [{"identifier": "main", "position": "in-chat", "depth": 0, "content": "P"}]
    assert inputs.entries == [{"id": 1, "mode": "always", "position": "system", "content": "E"}]


BOOK = {"entries": {"0": {"uid": 0, "key": ["reef"], "content": "A bell."}}}


@pytest.mark.parametrize("book", [BOOK, {"name": "B", "scope": "chat", "book": BOOK}], ids=["bare", "scoped"])
def test_books_of_others(book: Any) -> None:
    """World info becomes entries with conditions, alone or with a name and a scope around it."""
    (entry,) = _inputs(lorebooks=[book]).entries
    assert (entry["content"], entry["condition"]) == ("A bell.", "{{keywords:any::reef}}")


@pytest.mark.parametrize(
    "character",
    [{"name": "Ann", "description": "D", "scenario": "Here"}, {"name": "Ann", "message": ["Hi"], "scenario": "Here"}],
    ids=["card", "own"],
)
def test_the_chat_has_a_scenario_of_its_own(character: dict[str, Any]) -> None:
    """The scenario in a chat's metadata stands instead of the character's, in whatever words that is written."""
    metadata = {"chat_metadata": {"scenario": "At sea"}}
    assert _inputs(character=character).table["scenario_description"] == "Here"
    assert _inputs(character=character, settings=metadata).table["scenario_description"] == "At sea"


def test_a_character_of_messages_alone() -> None:
    """A file in this tavern's words need not be a card."""
    assert _inputs(character={"name": "Ann", "message": ["Ahoy"]}).greetings == ("Ahoy",)


def test_variables_of_the_chat() -> None:
    """What there is nothing of yet is not set."""
    found = chat_variables([{"role": "user", "content": "Hi"}], "Hi")
    assert (found["user_input_text"], found["chat_last_message"], found["chat_message_count"]) == ("Hi", "Hi", 1)
    assert "chat_last_assistant_message" not in found


def test_settings() -> None:
    """The metadata of a chat are no setting of ours; unknown ones and profiles are refused."""
    read = read_settings(BuildRequest(settings={"python": False, "chat_metadata": {"x": 1}}))  # type: ignore[arg-type]
    assert read.python is False
    with pytest.raises(ConfigError, match="colour"):
        read_settings(BuildRequest.of({"settings": {"colour": "red"}}))
    with pytest.raises(UnknownNameError):
        read_settings(BuildRequest(profile="nobody"))


def test_settings_that_files_of_other_taverns_bring() -> None:
    """Templates of text completion have no effect here, which a note says; the build goes on."""
    plan = smart.build(message="Hi", settings={"text": {"instruct": {"name": "plain"}}, "power_user": {}})
    told = [note.data["input"] for note in plan.notes if "input" in note.data]
    assert told[:2] == ["settings.text", "settings.power_user"]


def test_entries_know_their_books() -> None:
    """Each entry that is left has the name of the book that it is from, also where others were there before it."""
    first = {"name": "First", "entries": [{"id": 1, "content": "A"}, {"id": 2, "content": "B"}]}
    second = {"entries": [{"id": 1, "content": "A"}, {"id": 3, "content": "C"}]}
    own = {
        "name": "Ann",
        "message": ["Hi"],
        "world_book": {"name": "Own", "entries": [{"id": 2, "content": "B"}, {"id": 4}]},
    }
    for profile in ("fixed", "smarttavern"):
        inputs = _inputs(lorebooks=[first, second], character=own, profile=profile)
        found = [(entry["id"], name) for entry, name in zip(inputs.entries, inputs.books, strict=True)]
        assert found == [(1, "First"), (2, "First"), (3, "book 1"), (4, "Own")]
