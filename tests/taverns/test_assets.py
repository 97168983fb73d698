"""Characters and users from whatever there is."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from innkeeper.content.character import Character
from innkeeper.content.chat import ChatLog
from innkeeper.content.chat_message import ChatMessage
from innkeeper.content.persona import Persona
from innkeeper.prompt import (
    BuildRequest,
    FormatError,
    InnkeeperError,
    NoteKind,
    PipelineError,
    StrictModeError,
    UsageError,
)
from innkeeper.prompt.data import to_json
from innkeeper.taverns import TAVERNS, build, replay
from innkeeper.taverns.assets import AuthorsNote, character_of, note_of, user_of

CARD: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {"name": "Seraphina", "description": "D"},
}


@dataclass
class Somebody:
    name: str
    persona_text: str = ""


@pytest.mark.parametrize(
    ("value", "name", "description"),
    [
        (Character(name="Sera", description="D"), "Sera", "D"),
        (CARD, "Seraphina", "D"),
        ({"name": "Sera", "description": "D"}, "Sera", "D"),
        ('{"name": "Sera", "description": "D"}', "Sera", "D"),
        ("Sera", "Sera", ""),
        ({"name": "Sera"}, "Sera", ""),
        ({"name": "Sera", "message": ["Ahoy"]}, "Sera", ""),
        (Somebody("Sera", "D"), "Sera", "D"),
        (SimpleNamespace(data=SimpleNamespace(name="Sera", description="D")), "Sera", "D"),
        (SimpleNamespace(name="Sera", description="D", nickname=None), "Sera", "D"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_character(value: Any, name: str, description: str) -> None:
    """A card, JSON, an object or a name gives a character."""
    found = character_of(value)
    assert isinstance(found, Character)
    assert (found.name, found.description) == (name, description)


@pytest.mark.parametrize(
    ("value", "name", "text"),
    [
        (Persona(name="Bob", description="tall"), "Bob", "tall"),
        (Character(name="Bob", description="tall", personality="kind"), "Bob", "tall\n\nkind"),
        ({"name": "Bob", "persona": "tall"}, "Bob", "tall"),
        ({"name": "Bob", "persona_text": "tall"}, "Bob", "tall"),
        ('{"name": "Bob", "description": "tall"}', "Bob", "tall"),
        ("Bob", "Bob", ""),
        (Somebody("Bob", "tall"), "Bob", "tall"),
        (SimpleNamespace(name="Bob", description="tall"), "Bob", "tall"),
        (SimpleNamespace(name="Bob", persona=None), "Bob", ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_user(value: Any, name: str, text: str) -> None:
    """A persona, JSON, an object or a name gives a user; a character can be one."""
    found = user_of(value)
    assert found is not None
    assert (found.name, found.persona_text) == (name, text)


def test_nobody() -> None:
    """Nothing is nobody."""
    assert character_of(None) is None
    assert user_of(None) is None


@pytest.mark.parametrize("value", [SimpleNamespace(name=" "), SimpleNamespace(), 5])
def test_nameless(value: Any) -> None:
    """Who has no name takes no part."""
    for read in (character_of, user_of):
        with pytest.raises(UsageError):
            read(value)


def test_bad_json() -> None:
    """JSON that is no card says so."""
    with pytest.raises(FormatError):
        character_of("{ broken")


@pytest.mark.parametrize("tavern", ["vibe", "silly", "smart"])
def test_findings_are_warnings(tavern: str) -> None:
    """What is wrong in a card is the same warning in every tavern, and an error where the build is strict."""
    card = {**CARD, "data": {**CARD["data"], "description": 5}}
    plan = TAVERNS[tavern].build(character=card, message="Hi")
    assert [str(note) for note in plan.warnings] == ["Seraphina: data.description: 5 is not a text"]
    assert {note.step for note in plan.warnings} == {"assets"}
    with pytest.raises(PipelineError) as caught:
        TAVERNS[tavern].build(character=card, message="Hi", strict=True)
    assert isinstance(caught.value.__cause__, StrictModeError)


def _shapes(value: Any) -> list[Any]:
    """One participant as JSON, as text of it, and as an object."""
    return [value, to_json(value).decode(), SimpleNamespace(**value)]


@pytest.mark.parametrize("tavern", ["vibe", "silly", "smart"])
@pytest.mark.parametrize(
    "user", _shapes({"name": "Bob", "persona_text": "Bob is tall."}), ids=["json", "text", "object"]
)
def test_a_persona_reaches_every_prompt(tavern: str, user: Any) -> None:
    """However the user is written, every tavern says who they are."""
    plan = TAVERNS[tavern].build(character="Ann", user=user, message="Hi")
    assert any("Bob is tall." in message.content for message in plan.messages)


@pytest.mark.parametrize("tavern", ["vibe", "silly", "smart"])
def test_names_are_enough(tavern: str) -> None:
    """A character and a user may be texts: their names."""
    plan = TAVERNS[tavern].build(character="Ann", user="Bob", message="Hi")
    assert plan.messages[-1].content == "Hi"
    assert plan.warnings == ()


SMART = {"name": "Ann", "description": "D", "type": "threaded", "message": ["Welcome.", "Hello."], "world_book": {
    "entries": [{"id": 1, "mode": "always", "position": "system", "content": "A bell hangs there."}]}}  # fmt: skip


@pytest.mark.parametrize("tavern", ["silly", "smart"])
def test_a_character_of_smarttavern(tavern: str) -> None:
    """SmartTavern's file is the same character elsewhere: greetings and entries."""
    plan = TAVERNS[tavern].build(character=SMART, greeting=1, message="Hi")
    assert plan.greeting == "Hello."
    assert any("A bell hangs there." in message.content for message in plan.messages)


def test_smarttavern_names_the_person_apart_from_the_file() -> None:
    """``persona_name`` is who the user is; ``name`` is only what the file is called."""
    found = user_of({"name": "casual", "persona_name": "Bob", "description": "tall"})
    assert found is not None
    assert (found.name, found.persona_text) == ("Bob", "tall")


@pytest.mark.parametrize(
    ("value", "note"),
    [
        ("Be brief.", AuthorsNote(text="Be brief.")),
        ({"text": "x", "position": "in_chat", "role": "user"}, AuthorsNote(text="x", position=1, role=1)),
        ({"text": "x", "position": "before", "depth": "2"}, AuthorsNote(text="x", position=2, depth=2)),
        ({"text": "x", "position": 0, "depth": None}, AuthorsNote(text="x", position=0)),
        ({"position": "2"}, AuthorsNote(position=2)),
        (AuthorsNote(text="y"), AuthorsNote(text="y")),
        (None, AuthorsNote()),
    ],
    ids=str,
)
def test_note(value: Any, note: AuthorsNote) -> None:
    """A note is its text, or its fields, position and role by number or by name."""
    assert note_of(value) == note


@pytest.mark.parametrize(
    "value", [{"position": "sideways"}, {"position": "none"}, {"depth": "deep"}, {"role": "wizard"}, ["x"], 3], ids=str
)
def test_a_wrong_note(value: Any) -> None:
    """What a note cannot have is refused."""
    with pytest.raises(InnkeeperError):
        note_of(value)


METADATA = {
    "note_prompt": "Be brief.",
    "note_depth": 0,
    "variables": {"mood": "calm"},
    "scenario": "At sea.",
    "timedWorldInfo": {"sticky": {"B.0": {"hash": 8842973, "start": 1, "end": 9}}, "cooldown": {}},
}
CHAT = ChatLog(header={"user_name": "Bob", "character_name": "Ann", "chat_metadata": METADATA}).append(
    ChatMessage.create("user", "Ahoy"), ChatMessage.create("assistant", "Ahoy, Bob")
)
BOOK = {"name": "B", "entries": {"0": {"uid": 0, "key": ["never"], "content": "The bell rings.", "sticky": 3}}}


def test_a_stored_chat_brings_its_metadata() -> None:
    """The note, the variables, the scenario and SillyTavern's own lasting effects of a chat count, and nothing is noted."""
    plan = TAVERNS["silly"].build(character="Ann", user="Bob", history=CHAT, message="Hi", lorebooks=[BOOK])
    texts = [message.content for message in plan.messages]
    assert {"Be brief.", "At sea.", "The bell rings."} <= set(texts)
    assert texts.index("Be brief.") == len(texts) - 1
    assert plan.variables["local"] == {"mood": "calm"}
    assert [note for note in plan.notes if note.kind is NoteKind.IGNORED] == []


@pytest.mark.parametrize("tavern", ["vibe", "smart"])
def test_metadata_without_effect_is_noted(tavern: str) -> None:
    """Of a chat's metadata a tavern uses what it has an idea of, and names the rest."""
    plan = TAVERNS[tavern].build(character="Ann", history=CHAT, message="Hi")
    noted = {note.data.get("input") for note in plan.notes if note.kind is NoteKind.IGNORED}
    unplaced = {"chat_metadata.scenario"} if tavern == "smart" else set()
    assert noted == {"chat_metadata.note_prompt", "chat_metadata.timedWorldInfo"} | unplaced
    assert plan.variables["local"] == {"mood": "calm"}


def test_inputs_of_their_own_come_before_metadata() -> None:
    """A note and variables that are given win over those of the chat, which is noted."""
    plan = TAVERNS["silly"].build(
        character="Ann", history=CHAT, message="Hi", authors_note="Sing.", variables={"local": {"mood": "wild"}}
    )
    texts = [message.content for message in plan.messages]
    assert "Sing." in texts
    assert "Be brief." not in texts
    assert plan.variables["local"] == {"mood": "wild"}
    noted = [note.data.get("input") for note in plan.notes if note.kind is NoteKind.IGNORED]
    assert noted == ["chat_metadata.note_prompt", "chat_metadata.variables"]


def test_a_chat_means_the_same_by_every_door() -> None:
    """A request from a mapping, from JSON, and one changed with the chat build the same plan as keywords."""
    fields = {"tavern": "silly", "character": "Ann", "message": "Hi", "now": "2026-01-15T12:00:00Z"}
    plan = build(BuildRequest.of({**fields, "history": CHAT}))
    again = BuildRequest.of(fields).with_(history=CHAT)
    for request in (again, BuildRequest.from_json(again.to_json())):
        assert build(request).fingerprint() == plan.fingerprint()
    assert replay(plan.replay()).fingerprint() == plan.fingerprint()
