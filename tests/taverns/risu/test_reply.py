"""Replies in the risu tavern: what scripts and triggers make of an answer, and that a conversation keeps it so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from innkeeper.conversation.reply import ReplyRules, finished_reply
from innkeeper.prompt import BuildRequest, NoteKind
from innkeeper.prompt.data import EMPTY
from innkeeper.taverns.registry import rewrites_replies
from innkeeper.taverns.risu import display_text, stored_reply


def request_of(*, scripts: Any = (), triggers: Any = (), **fields: Any) -> BuildRequest:
    """A chat whose character has these scripts and triggers; the user asks, and an answer is awaited."""
    character = {"name": "Sable", "customscript": list(scripts), "triggerscript": list(triggers)}
    chat = [{"role": "assistant", "content": "Ahoy."}, {"role": "user", "content": "Is it safe?"}]
    return BuildRequest.of(
        {
            "tavern": "risu",
            "character": {"name": "Sable"},
            "settings": {"risu": {"character": character}},
            "history": chat,
            **fields,
        }
    )


def script(pattern: str, out: str, mode: str = "editoutput") -> dict[str, Any]:
    """A stored script."""
    return {"in": pattern, "out": out, "type": mode, "flag": "", "ableFlag": False}


def trigger(*effects: dict[str, Any], mode: str = "output") -> dict[str, Any]:
    """A trigger without conditions."""
    return {"comment": "t", "type": mode, "conditions": [], "effect": list(effects)}


SET = {"type": "setvar", "operator": "=", "var": "mood", "value": "calm"}


class Case(NamedTuple):
    """What a character has, the answer, and the text that the chat stores."""

    fields: dict[str, Any]
    answer: str
    stored: str
    variables: Mapping[str, str] = EMPTY


CASES = {
    "nothing": Case({}, " Aye. ", "Aye."),
    "a script for replies": Case({"scripts": [script("Aye", "Yes")]}, "Aye, aye. Aye.", "Yes, aye. Yes."),
    "one for prompts": Case({"scripts": [script("Aye", "Yes", "editprocess")]}, "Aye.", "Aye."),
    "one for the screen": Case({"scripts": [script("Aye", "Yes", "editdisplay")]}, "Aye.", "Aye."),
    "the name goes after it": Case({"scripts": [script("^Bot", "Sable")]}, "Bot: Aye.", "Aye."),
    "a variable of a trigger": Case({"triggers": [trigger(SET)]}, "Aye.", "Aye.", {"mood": "calm"}),
    "a trigger that rewrites it": Case(
        {"triggers": [trigger({"type": "modifychat", "index": "1", "value": "No."})]}, "Aye.", "No."
    ),
    "a trigger for prompts": Case({"triggers": [trigger(SET, mode="start")]}, "Aye.", "Aye."),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_stored_reply(case: Case) -> None:
    """The conversation keeps what scripts and triggers for replies made of the answer, and their variables."""
    request = request_of(**case.fields)
    reply = finished_reply(request, case.answer)
    assert reply.text == case.stored
    assert dict(reply.variables.get("local", {})) == case.variables


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_stream_holds_what_may_change(case: Case) -> None:
    """An answer is held back until it is whole where a script or trigger for replies is there, and only then."""
    request = request_of(**case.fields)
    kinds = [each["type"] for each in (*case.fields.get("scripts", ()), *case.fields.get("triggers", ()))]
    assert rewrites_replies(request) == ReplyRules.of(request).holds == bool({"editoutput", "output"} & {*kinds})


def test_other_messages_stay() -> None:
    """A note says that what a trigger makes of earlier messages is not kept; a removed answer is kept."""
    effects = {"type": "modifychat", "index": "0", "value": "x"}, {"type": "cutchat", "start": "0", "end": "1"}
    for effect in effects:
        reply = stored_reply(request_of(triggers=[trigger(effect)]), "Aye.")
        assert reply.text == "Aye."
        assert [note.kind for note in reply.notes] == [NoteKind.IGNORED]


def test_a_screen() -> None:
    """What is shown is written by the scripts for the screen, and the request stays as it was."""
    request = request_of(scripts=[script("Aye", "Yes", "editdisplay"), script("Aye", "No")])
    assert display_text(request, "Aye.", index=1).text == "Yes."
