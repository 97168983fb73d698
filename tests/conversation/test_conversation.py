"""A chat as a value: turns of every kind, and what an answer makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.content.chat import ChatLog
from innkeeper.conversation.conversation import Conversation, Kind
from innkeeper.prompt import BuildRequest, UnknownNameError, UsageError
from innkeeper.taverns import build

WHEN = "2026-01-15T12:00:00+00:00"
HEADER: dict[str, Any] = {"user_name": "Ansel", "character_name": "Wenna", "chat_metadata": {}}
BASE = BuildRequest.of({"tavern": "silly", "character": "Wenna", "user": "Ansel", "reserved_tokens": 50, "now": WHEN})
ANSWER = ("Wenna: The reef ", "is safe.\nAn", "sel: Thank you.")


def empty(**fields: Any) -> Conversation:
    """A conversation in which nobody has spoken."""
    return Conversation(base=BASE.with_(**fields), chat=ChatLog(header=HEADER))


def took(before: Conversation, kind: Kind = "normal", message: str = "", answer: tuple[str, ...] = ANSWER) -> Any:
    """The pieces that are shown of an answer, and the conversation after the turn."""
    turn = before.begin(kind, build, message=message, when=WHEN)
    reply = turn.reply()
    shown = [reply.feed(piece) for piece in answer]
    rest, after = turn.keep(reply, WHEN)
    return "".join([*shown, rest]), after


def texts(conversation: Conversation) -> list[tuple[str, str]]:
    """The roles and texts of the messages."""
    return [(message.role, message.text) for message in conversation.chat.messages]


def test_a_turn_leaves_the_conversation_as_it_was() -> None:
    """The value that a turn begins with does not change; its message and the reply are in the one that it gives."""
    before = empty()
    shown, after = took(before, message="Is it?")
    assert texts(before) == []
    assert texts(after) == [("user", "Is it?"), ("assistant", "The reef is safe.")]
    assert shown == "The reef is safe."


KINDS: dict[Kind, tuple[str, list[str]]] = {
    "continue": ("Go well.", ["Is it?", "The reef is safe. Go well."]),
    "regenerate": ("Go well.", ["Is it?", "Go well."]),
    "swipe": ("Go well.", ["Is it?", "Go well."]),
    "impersonate": ("Thanks.", ["Is it?", "The reef is safe."]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: Kind) -> None:
    """Each kind reads the answer by the same rules, and makes its own of the chat."""
    _, spoken = took(empty(), message="Is it?")
    kept, messages = KINDS[kind]
    answer = ("Ansel: Thanks.\nWenna: Oh.",) if kind == "impersonate" else ("Go well.\nAnsel: Oh.",)
    shown, after = took(spoken, kind, answer=answer)
    assert shown == kept
    assert [text for _, text in texts(after)] == messages
    assert after.alternatives == (("The reef is safe.", "Go well.") if kind == "swipe" else ())


@pytest.mark.parametrize("kind", ["continue", "regenerate", "swipe"])
def test_nothing_to_go_on_from(kind: Kind) -> None:
    """What needs a reply, or a message, is refused where there is none."""
    with pytest.raises(UsageError):
        empty().begin(kind, build, when=WHEN)


def test_a_tavern_without_kinds() -> None:
    """Where the tavern has no such generation, that is said; another reply is asked for as the first was."""
    _, spoken = took(empty(tavern="vibe"), message="Is it?")
    with pytest.raises(UsageError, match="no generation"):
        spoken.begin("continue", build, when=WHEN)
    request = spoken.begin("swipe", build, when=WHEN).plan.request
    assert request is not None
    assert (request.generation, request.message, request.history) == ("normal", "Is it?", ())


def test_members_speak_in_turn() -> None:
    """In a group a member is named by the beginning of its name; a plain turn needs a group."""
    group = {"members": [{"name": "Wenna"}, {"name": "Tobin"}]}
    conversation = empty(character=None, group=group)
    turn = conversation.begin("normal", build, member="tob", when=WHEN)
    assert turn.conversation.character_name == "Tobin"
    with pytest.raises(UnknownNameError):
        conversation.begin("normal", build, member="Ada", when=WHEN)
    with pytest.raises(UsageError, match="no group"):
        empty().begin("normal", build, when=WHEN)


def test_variables_go_on() -> None:
    """What a build sets is there in the next turn, and in the chat's header."""
    _, after = took(empty(), message="{{setvar::told::1}}Is it?")
    assert after.base.variables["local"]["told"] == "1"
    assert after.chat.metadata["variables"] == {"told": "1"}
