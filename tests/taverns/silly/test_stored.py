"""What a build leaves in the chat: `plan.stored`, key by key as SillyTavern would keep it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.content.chat import ChatLog
from innkeeper.prompt import thaw
from innkeeper.taverns import silly
from tests.taverns.silly.builds import NOW, card

HISTORY = [
    {"role": "assistant", "content": "Come in, {{user}}!"},
    {"role": "user", "content": "Good evening."},
    {"role": "system", "content": "Rain."},
    {"role": "user", "content": "Nobody sees this.", "metadata": {"hidden": True}},
]


def stored(**fields: Any) -> dict[str, Any]:
    """What a build of this chat leaves."""
    request = {"character": card(), "user": "Sam", "history": HISTORY, "now": NOW, **fields}
    found: dict[str, Any] = thaw(silly.build(request).stored)
    return found


def test_the_first_message_is_resolved() -> None:
    """Its macros are replaced once; the user's words are as they are kept."""
    kept = stored(message="I am {{user}}.")
    assert kept["messages"] == {"0": "Come in, Sam!"}
    assert kept["message"] == "I am Sam."
    assert "messages" not in stored(history=HISTORY[1:])


def test_how_a_reply_is_asked_to_begin() -> None:
    """It is kept beside the message, in which it no longer stands."""
    kept = stored(message='Go on. {{bias "Well,"}}')
    assert (kept["message"], kept["message_bias"]) == ("Go on.", " Well,")
    assert "message_bias" not in stored(message="Go on.")


def test_a_beginning_of_the_reply_alone() -> None:
    """Nobody says it: it is kept with a blank message that no prompt shows."""
    kept = stored(message='{{bias "Well,"}}')
    assert (kept["message"], kept["message_bias"], kept["message_hidden"]) == (" ", " Well,", True)
    assert "message_hidden" not in stored(message='Go on. {{bias "Well,"}}')


def test_a_beginning_with_macros() -> None:
    """It is expanded to be kept, once more to be sent, and with the message that it stands in."""
    kept = stored(message='Go on. {{bias "Well{{incvar::n}},"}}')
    assert (kept["message_bias"], kept["chat_metadata"]["variables"]) == (" Well1,", {"n": 3})


def test_what_is_sent_where_nothing_is_said() -> None:
    """It is kept as the user's words, its macros replaced."""
    assert stored(preset={"send_if_empty": "({{user}} waits)"})["message"] == "(Sam waits)"
    assert "message" not in stored(preset={"send_if_empty": "x"}, generation="swipe")


@dataclass(frozen=True)
class Case:
    """A generation and the number of the first message that SillyTavern says is sent."""

    name: str
    number: int
    fields: dict[str, Any]


CASES = (
    Case("two of four say something that is sent", 2, {}),
    Case("a new message", 2, {"message": "Hi"}),
    Case("continued", 1, {"generation": "continue"}),
    Case(
        "an injection that somebody says",
        1,
        {"injections": [{"id": "a", "content": "A", "role": "user", "position": "chat"}]},
    ),
    Case("text", 1, {"dialect": "text"}),
    Case("text, continued", 1, {"dialect": "text", "generation": "continue"}),
    Case("text, made anew", 0, {"dialect": "text", "generation": "regenerate"}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_first_message_sent(case: Case) -> None:
    """SillyTavern counts what is said in a chat prompt, and the lines of a text prompt."""
    assert stored(**case.fields)["chat_metadata"]["lastInContextMessageId"] == case.number


def test_variables_and_effects() -> None:
    """Variables are those after the build; effects have all their fields; what did not change is left out."""
    entry = {"uid": 1, "key": ["evening"], "content": "E", "sticky": 2, "cooldown": 3}
    books = [{"name": "B", "book": {"entries": {"1": entry}}}]
    history = [*HISTORY, {"role": "user", "content": "{{setvar::k::v}}A fine evening."}]
    metadata = stored(history=history, lorebooks=books)["chat_metadata"]
    assert metadata["variables"] == {"k": "v"}
    effect = metadata["timedWorldInfo"]["sticky"]["B.1"]
    assert (effect["start"], effect["end"], effect["protected"]) == (4, 6, False)
    known = {key: metadata[key] for key in ("variables", "timedWorldInfo", "lastInContextMessageId")}
    again = stored(history=history, lorebooks=books, settings={"chat_metadata": known})
    assert "variables" not in again.get("chat_metadata", {})


def test_the_note() -> None:
    """A note that the chat does not have is written into it, one that it has is not."""
    note = {"text": "N", "depth": 2}
    metadata = stored(authors_note=note, settings={"chat_metadata": {"note_depth": 7}})["chat_metadata"]
    assert {key: value for key, value in metadata.items() if key.startswith("note")} == {
        "note_prompt": "N",
        "note_interval": 1,
        "note_position": 1,
        "note_role": 0,
    }


def test_a_dry_run() -> None:
    """A dry run keeps nothing in the chat's metadata."""
    assert "chat_metadata" not in stored(settings={"generation": {"dry_run": True}})


def test_written_into_a_chat() -> None:
    """A chat takes it up: the header with what was stored, the first message, the others byte for byte."""
    lines = [
        b'{"chat_metadata": {"x": 1},  "user_name": "unused"}',
        b'{"mes":"Hello, {{user}}.", "name":"Mira"}',
        b'{"mes":"a","name":"Sam","is_user":true}',
    ]
    chat = ChatLog.of(b"\n".join(lines))
    after = chat.with_(silly.build(character=card(), user="Sam", history=chat, now=NOW)).to_jsonl().splitlines()
    assert after[0].startswith(b'{"chat_metadata": {"x": 1, "timedWorldInfo": ')
    assert after[0].endswith(b'"lastInContextMessageId": 0},  "user_name": "unused"}')
    assert after[1] == b'{"mes":"Hello, Sam.", "name":"Mira"}'
    assert after[2] == lines[2]
