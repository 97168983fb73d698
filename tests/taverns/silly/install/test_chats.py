"""Chats of a folder: which one is opened, what in it is damaged, what a new one begins with, and what its metadata brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from innkeeper.prompt import NoteKind, UnknownNameError
from innkeeper.taverns.silly.install import Install
from innkeeper.taverns.silly.install.chats import (
    chat_names,
    group_chat,
    one_to_one_chat,
    script_injections,
)
from innkeeper.taverns.silly.install.files import UserFolder
from innkeeper.taverns.silly.install.names import find_card, find_group
from tests.taverns.silly.install.folders import card, chat, folder, group


@pytest.fixture
def user(tmp_path: Path) -> UserFolder:
    """A folder with a card that has two chats."""
    root = folder(tmp_path)
    card(root, "Mira", "The keeper", chat="second")
    chat(root, "Mira", "first", "Hello.", "Hi.")
    chat(root, "Mira", "second", "Again?", variables={"k": "v"})
    return UserFolder(root)


def test_the_current_one(user: UserFolder) -> None:
    """The card says which chat is open; its folder has the name of the card's file."""
    opened = one_to_one_chat(user, find_card(user, "Mira"), None)
    assert (opened.name, opened.is_new, opened.metadata) == ("second", False, {"variables": {"k": "v"}})
    assert opened.parts == ("chats", "Mira", "second.jsonl")


@pytest.mark.parametrize("name", ["first", "first.jsonl"])
def test_one_by_name(user: UserFolder, name: str) -> None:
    """A chat is named with or without its ending."""
    opened = one_to_one_chat(user, find_card(user, "Mira"), name)
    assert [message.text for message in opened.chat.messages] == ["Hello.", "Hi."]


@pytest.mark.parametrize("name", ["third", "../Mira/first", ""])
def test_one_that_is_not_there(user: UserFolder, name: str) -> None:
    """The error lists what there is."""
    assert chat_names(user, find_card(user, "Mira")) == ("first", "second")
    with pytest.raises(UnknownNameError):
        one_to_one_chat(user, find_card(user, "Mira"), name)


@pytest.mark.parametrize("current", ["gone", "../../secrets", "..", ""])
def test_a_new_one(user: UserFolder, current: str) -> None:
    """Where there is no file the chat begins with the greetings; the card's own word is not trusted."""
    card(user.root, "New", chat=current, alternate_greetings=["Or this?"])
    opened = one_to_one_chat(user, find_card(user, "New"), None)
    assert opened.is_new
    assert (opened.chat.messages[0].text, opened.chat.messages[0].swipes) == ("Come in!", ("Come in!", "Or this?"))


def test_first_of_the_other_greetings(user: UserFolder) -> None:
    """Without a first message the next one is shown; without any the chat is empty."""
    card(user.root, "New", first_mes="", alternate_greetings=["Or this?"])
    card(user.root, "Mute", first_mes="")
    assert [m.text for m in one_to_one_chat(user, find_card(user, "New"), None).chat.messages] == ["Or this?"]
    assert one_to_one_chat(user, find_card(user, "Mute"), None).chat.messages == ()


def test_damaged_lines(user: UserFolder) -> None:
    """A line that is no message is skipped, with a note that has its number; an empty file is a new chat."""
    place = user.root / "chats" / "Mira"
    place.joinpath("odd.jsonl").write_text(
        '{"chat_metadata": {}}\n{"mes": "a", "name": "M"}\n{"mes": \n{"mes": "b", "name": "M"}'
    )
    place.joinpath("empty.jsonl").write_text("")
    opened = one_to_one_chat(user, find_card(user, "Mira"), "odd")
    assert [message.text for message in opened.chat.messages] == ["a", "b"]
    assert "chats/Mira/odd.jsonl:3" in str(user.notes[0])
    assert one_to_one_chat(user, find_card(user, "Mira"), "empty").is_new


def test_a_file_without_a_header(user: UserFolder) -> None:
    """SillyTavern takes the first line of a character's chat for its header; that a message is lost is said."""
    place = user.root / "chats" / "Mira" / "bare.jsonl"
    place.write_text('{"name": "Mira", "mes": "a"}\n{"name": "Ilse", "is_user": true, "mes": "b"}')
    opened = one_to_one_chat(user, find_card(user, "Mira"), "bare")
    assert [message.text for message in opened.chat.messages] == ["b"]
    assert [str(note.where) for note in user.notes] == ["chats/Mira/bare.jsonl:1"]
    assert user.notes[0].kind is NoteKind.QUIRK


def test_a_greeting_is_kept_resolved(user: UserFolder) -> None:
    """A new chat's greeting goes through scripts and macros once; its alternatives stay as they are written."""
    card(user.root, "New", first_mes="Bread, {{user}}? {{incvar::n}}", alternate_greetings=["{{user}}?"])
    script = {"findRegex": "/bread/gi", "replaceString": "Rolls", "placement": [2], "trimStrings": []}
    changes = {"extension_settings": {"regex": [script]}}
    prepared = Install(user, changes).prepare("New", now="2026-01-15T12:00:00Z")
    (message,) = prepared.chat.messages
    assert message.text == "Rolls, Ilse? 1"
    assert message.swipes == ("Bread, {{user}}? {{incvar::n}}", "{{user}}?")
    assert prepared.request.variables["local"] == {"n": 1}


def test_groups(user: UserFolder) -> None:
    """A group's chat need have no header; an old one has its metadata in the group's file."""
    group(user.root, "17", "Inn", "Mira.png", chats=["all", "old"], chat_metadata={"note_prompt": "old"})
    place = user.root / "group chats" / "all.jsonl"
    place.write_text('{"mes": "a", "name": "Mira", "is_user": false}\n{"mes": "b", "name": "Ilse", "is_user": true}')
    inn = find_group(user, "Inn")
    opened = group_chat(user, inn, None)
    assert [message.text for message in opened.chat.messages] == ["a", "b"]
    assert opened.metadata == {"note_prompt": "old"}
    assert group_chat(user, inn, "old").is_new
    with pytest.raises(UnknownNameError):
        group_chat(user, inn, "other")


def test_texts_of_scripts() -> None:
    """What scripts put into the chat is an injection; a condition nobody can ask, and odd data, are noted."""
    stored = {
        "a": {"value": "A", "position": 1, "depth": 2, "role": 1, "scan": True},
        "b": {"value": "B", "position": 0, "filter": "/echo true"},
        "c": {"value": 3, "position": 0},
        "d": {"value": "D", "position": 9},
    }
    injections, notes = script_injections({"script_injects": stored})
    assert injections == [
        {"id": "script_inject_a", "content": "A", "position": 1, "depth": 2, "scan": True, "role": "user"}
    ]
    assert [str(note.where) for note in notes] == [f"chat_metadata: script_injects.{key}" for key in "bcd"]
    assert script_injections({"script_injects": []}) == ([], [])
