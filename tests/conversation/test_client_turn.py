"""Turns of a conversation over a profile."""

from pathlib import Path
from typing import Any

import pytest

from innkeeper.conversation import ConversationState, ProfileTurn, TurnInput, profile_turn
from innkeeper.prompt import NoteKind
from innkeeper.prompt.data import to_json
from innkeeper.taverns.profiles import open_profile
from tests.taverns.profiles.folders import profile_folder

NOW = "2026-01-15T12:00:00+00:00"
SAID = [{"role": "user", "content": "Is the reef safe?"}]
LAMP = {"keys": ["lamp"], "content": "THE LAMP IS OUT.", "enabled": True, "insertion_order": 1}
BOOK = {"name": "lamps", "entries": [{**LAMP, "extensions": {"sticky": 4, "scan_depth": 1}}]}


def turn(
    fields: dict[str, Any], messages: list[dict[str, Any]], state: ConversationState | None = None, **given: Any
) -> ProfileTurn:
    """A turn over a profile of these fields."""
    profile = open_profile({"name": "a", "character": {"name": "Wenna"}, **fields})
    return profile_turn(profile, TurnInput.of(messages, **{"now": NOW, **given}), state)


def texts(made: ProfileTurn, role: str = "") -> list[str]:
    """The texts that the model gets."""
    return [message["content"] for message in made.body.body["messages"] if role in ("", message["role"])]


def test_a_chat_with_a_card(tmp_path: Path) -> None:
    """The client's messages are the chat; card, persona, lore and preset make the prompt around it."""
    profile = open_profile(profile_folder(tmp_path / "wenna"))
    made = profile_turn(profile, TurnInput.of(SAID))
    body = made.body.body
    assert body["model"] == "some-model"
    assert "Bell Reef" in "".join(texts(made, "system"))
    assert texts(made, "user") == ["Is the reef safe?"]
    assert texts(made, "assistant")[0].startswith("*The door opens before you can knock.*")
    assert made.speaker == "Wenna Carrow"
    assert made.plan.request is not None
    assert made.plan.request.now == NOW


@pytest.mark.parametrize("tavern", ["silly", "vibe", "smart", "template"])
@pytest.mark.parametrize("policy", ["append", "prepend", "chat", "ignore"])
def test_a_clients_system_prompt_is_where_the_profile_says(tavern: str, policy: str) -> None:
    """In each tavern it is in the prompt once, or it is not, and that is said."""
    character = {} if tavern == "template" else {"character": {"name": "Wenna"}}
    profile = open_profile({"name": "a", "tavern": tavern, "system": policy, **character})
    made = profile_turn(profile, TurnInput.of([{"role": "system", "content": "BE BRIEF"}, *SAID], now=NOW))
    assert sum(text.count("BE BRIEF") for text in texts(made)) == int(policy != "ignore")
    ignored = [note for note in made.notes if note.kind is NoteKind.IGNORED]
    assert len(ignored) == int(policy == "ignore")


def test_before_or_after_the_taverns_own() -> None:
    """What is prepended stands before the tavern's own system text, what is appended after it."""
    preset = {"prompts": [{"identifier": "main", "role": "system", "content": "MAIN"}]}
    messages = [{"role": "system", "content": "CLIENT"}, *SAID]
    for policy, order in (("prepend", ["CLIENT", "MAIN"]), ("append", ["MAIN", "CLIENT"])):
        said = texts(turn({"preset": preset, "system": policy, "greeting": False}, messages), "system")
        assert [text for text in said if text in order] == order


def test_a_chat_begins_with_a_greeting() -> None:
    """The card greets, unless the client sends what began the chat, or the profile wants none; the same in each turn."""
    greeted = {"character": {"name": "Wenna", "description": "x", "first_mes": "Hail, {{random:a,b,c,d,e,f,g,h}}!"}}
    first = turn(greeted, SAID, seed=1)
    said = texts(first, "assistant")
    assert len(said) == 1
    assert said[0].startswith("Hail, ")
    longer = [*SAID, {"role": "assistant", "content": "No."}, {"role": "user", "content": "Why?"}]
    assert texts(turn(greeted, longer, first.state, seed=99), "assistant") == [*said, "No."]
    assert texts(turn({**greeted, "greeting": False}, SAID), "assistant") == []
    assert texts(turn(greeted, [{"role": "assistant", "content": "Ho."}, *SAID]), "assistant") == ["Ho."]


def test_a_group_greets() -> None:
    """Each member of a group greets."""
    card = {"description": "x", "personality": "", "scenario": "", "mes_example": ""}
    members = [{**card, "name": name, "first_mes": f"I am {name}."} for name in ("Ann", "Bo")]
    made = turn({"character": [], "group": {"members": members}}, [{"role": "user", "content": "Bo?"}])
    assert "I am Ann." in "\n".join(texts(made))
    assert "I am Bo." in "\n".join(texts(made))
    assert made.speaker == "Bo"


def test_variables_go_on_and_a_regenerate_begins_again() -> None:
    """A turn begins with what the one before it left; the same turn again with the same state gives the same bytes."""
    count = [{"role": "user", "content": "{{incvar::n}}"}]
    fields: dict[str, Any] = {"variables": {"local": {"n": 4}}, "greeting": False}
    first = turn(fields, count)
    assert texts(first, "user") == ["5"]
    longer = [*count, {"role": "assistant", "content": "So."}, {"role": "user", "content": "{{incvar::n}}!"}]
    second = turn(fields, longer, first.state)
    assert texts(second, "user") == ["5", "6!"]
    assert str(second.state.variables["local"]["n"]) == "6"
    again = turn(fields, longer, ConversationState.from_json(first.state.to_json()))
    assert to_json(again.body.body) == to_json(second.body.body)
    assert again.state == second.state


def test_lasting_effects_of_lore_go_on() -> None:
    """An entry that is to last lasts with the state, and not without it."""
    fields: dict[str, Any] = {"lorebooks": [BOOK], "greeting": False}
    first = turn(fields, [{"role": "user", "content": "the lamp"}])
    assert "THE LAMP IS OUT." in texts(first)
    longer = [
        {"role": "user", "content": "the lamp"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Oh."},
    ]
    assert "THE LAMP IS OUT." in texts(turn(fields, longer, first.state))
    assert "THE LAMP IS OUT." not in texts(turn(fields, longer))


def test_answers_are_finished_as_the_tavern_does() -> None:
    """Scripts run on the answer, names go, and what scripts set is in the state."""
    script = {
        "scriptName": "s",
        "findRegex": "/HUSH/g",
        "replaceString": "{{setvar::hushed::1}}hush",
        "placement": [2],
    }
    made = turn({"settings": {"regex": [script]}, "persona": {"name": "Ada"}}, SAID)
    assert made.rules.scripts
    reply, state = made.answered("Wenna: HUSH.\nAda: Why?")
    assert reply.text == "hush."
    assert state.variables["local"]["hushed"] == "1"
    assert made.answered("")[1] == made.state


@pytest.mark.parametrize(
    ("fields", "given", "window", "reserved"),
    [
        ({}, {}, None, 256),
        ({"tavern": "vibe"}, {}, None, 256),
        ({"preset": {"prompts": [], "openai_max_tokens": 77}}, {}, None, 77),
        ({"reserve": 80, "preset": {"prompts": [], "openai_max_tokens": 77}}, {}, None, 80),
        ({"reserve": 80}, {"max_tokens": 90}, None, 90),
        ({"options": {"max_tokens": 70}}, {}, None, 70),
        ({}, {"max_completion_tokens": 5000}, 4000, 2000),
        ({"reserve": 80}, {}, 100, 50),
    ],
)
def test_room_for_the_reply(fields: dict[str, Any], given: dict[str, Any], window: int | None, reserved: int) -> None:
    """What the client, the profile or the preset allows the reply is kept free, and is what it may have."""
    made = turn(fields, SAID, options=given, context_window=window)
    assert made.body.body["max_completion_tokens"] == reserved
    assert [note.kind for note in made.notes] == ([NoteKind.LIMIT] if window else [])


def test_a_client_cannot_replace_the_prompt() -> None:
    """The client's settings for sampling win over the profile's; what could rewrite the body has no effect, and that is said."""
    asked = {"temperature": 0.1, "extra_body": {"messages": []}, "post_processing": "single", "n": 3}
    made = turn({"options": {"temperature": 0.9, "top_p": 0.5}}, SAID, options=asked)
    assert (made.body.body["temperature"], made.body.body["top_p"]) == (0.1, 0.5)
    assert made.body.body["messages"]
    assert {note.data["input"] for note in made.notes} == {"options.extra", "options.post_processing", "options.n"}


@pytest.mark.parametrize("tavern", ["silly", "vibe", "smart", "template"])
def test_a_turn_says_nothing_of_itself(tavern: str) -> None:
    """What a turn sets for every tavern is no note of those that have no use for it."""
    fields: dict[str, Any] = {"tavern": tavern, **({"character": ()} if tavern == "template" else {})}
    window = (
        {"context_window": 8_192} if tavern == "silly" else {}
    )  # there is always one there: without it a note says which
    made = turn({**fields, "greeting": False, **window}, SAID, seed=9)
    assert (made.plan.notes, made.notes, made.body.notes) == ((), (), ())


def test_who_says_it() -> None:
    """A name of a client's message is who says it, unless the profile wants no names."""
    messages = [{"role": "user", "content": "Hi", "name": "bo"}, {"role": "assistant", "content": "Ho"}, *SAID]
    named = turn({"greeting": False}, messages).plan.request
    plain = turn({"greeting": False, "names": False}, messages).plan.request
    assert named is not None
    assert plain is not None
    assert (named.history[0].name, plain.history[0].name) == ("bo", None)


def test_calls_of_tools_are_kept() -> None:
    """Tools of the client are offered, and calls with their results stay in the chat."""
    call = {"id": "1", "type": "function", "function": {"name": "tide", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        *SAID,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "low"},
    ]
    tools = [{"type": "function", "function": {"name": "tide", "description": "", "parameters": {"type": "object"}}}]
    fields = {"greeting": False, "preset": {"prompts": [], "function_calling": True}}
    body = turn(fields, messages, tools=tools).body.body
    assert body["tools"][0]["function"]["name"] == "tide"
    assert [message["role"] for message in body["messages"]][-3:] == ["user", "assistant", "tool"]


def test_pictures_are_kept() -> None:
    """A picture of the last message reaches the model."""
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "Look"}, part]}]
    body = turn({"greeting": False, "tavern": "vibe"}, messages).body.body
    assert body["messages"][-1]["content"][-1]["type"] == "image_url"
