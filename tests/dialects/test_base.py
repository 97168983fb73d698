"""BaseDialect: what every dialect over the shared rules does alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from innkeeper.dialects.base import BaseDialect
from innkeeper.dialects.conversation import Rules, TurnSequence
from innkeeper.dialects.options import Table, as_is
from innkeeper.dialects.report import Report
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.payload.dialect import Tool

HI = [Message("user", "Hi")]


class Plain(BaseDialect):
    """The smallest dialect: texts in a list."""

    rules: ClassVar[Rules] = Rules()
    table: ClassVar[Table] = as_is("temperature", "max_tokens")
    own_options: ClassVar[tuple[str, ...]] = ("loud",)

    def _messages(self, talk: TurnSequence, options: Mapping[str, Any], report: Report) -> Any:
        report.repair("counted")
        return [len(talk.turns)] * (2 if options.get("loud") else 1)

    def _body(
        self, model: str | None, talk: TurnSequence, options: Mapping[str, Any], report: Report
    ) -> dict[str, Any]:
        return {"model": model, "turns": len(talk.turns)}

    def _add_tools(self, body: dict[str, Any], tools: Sequence[Tool], report: Report) -> None:
        body["tools"] = [tool.name for tool in tools]

    def _finished(self, body: dict[str, Any], report: Report) -> dict[str, Any]:
        return {**body, "finished": sorted(body)}


PLAIN = Plain("plain")


def test_it_is_known_by_its_name() -> None:
    """The name is the registry's, and shown."""
    assert (PLAIN.name, repr(PLAIN)) == ("plain", "Plain('plain')")


def test_messages_go_with_their_notes() -> None:
    """What was repaired is a note under the dialect's name; options of its own are known, others are noted."""
    made = PLAIN.messages(HI, {"loud": True})
    assert made.body == [1, 1]
    assert [(note.kind, note.message) for note in made.notes] == [(NoteKind.REPAIR, "plain: counted")]
    assert [note.kind for note in PLAIN.messages(HI, {"lod": True}).notes] == [NoteKind.REPAIR, NoteKind.IGNORED]


def test_a_body_is_finished_last() -> None:
    """Tools and options are in the body before it is finished; options are known by their other names."""
    tool = Tool("look")
    made = PLAIN.request(HI, model="m", options={"max_output_tokens": 5, "temperature": None}, tools=[tool])
    assert made.body == {
        "model": "m",
        "turns": 1,
        "tools": ["look"],
        "max_tokens": 5,
        "finished": ["max_tokens", "model", "tools", "turns"],
    }


def test_no_model_and_no_tools() -> None:
    """An empty model is none, and without tools none are written; half a character of a name is replaced."""
    assert PLAIN.request(HI, model="", options={}).body == {"model": None, "turns": 1, "finished": ["model", "turns"]}
    assert "\ud800" not in PLAIN.request(HI, model="m\ud800", options={}).body["model"]


def test_options_that_have_no_place_are_noted() -> None:
    """An option that the table does not have is not sent, and that is said."""
    made = PLAIN.request(HI, model="m", options={"top_k": 5})
    assert "top_k" not in made.body
    assert len(made.notes) == 1
