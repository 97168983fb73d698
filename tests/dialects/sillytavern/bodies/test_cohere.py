"""Cohere: names in front of texts, and a text for each message that calls tools."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from innkeeper.dialects.sillytavern.bodies.cohere import convert_cohere
from innkeeper.dialects.sillytavern.conversion import RawMessage
from innkeeper.prompt.note import NoteKind
from tests.dialects.sillytavern.requests import CALL, body_of, conversion, kinds, said


@dataclass(frozen=True)
class Case:
    """Messages, those that are sent, and what is reported."""

    name: str
    messages: list[RawMessage]
    made: list[RawMessage]
    notes: list[NoteKind] = field(default_factory=list)


LOSS, REPAIR = NoteKind.LOSS, NoteKind.REPAIR
CASES = (
    Case("plain", [said("user", "a")], [said("user", "a")]),
    Case("a name", [said("user", "a", name="Bo")], [said("user", "Bo: a")], [REPAIR]),
    Case("an example", [said("system", "a", name="example_user")], [said("system", "Tomas: a")], [REPAIR]),
    Case("a name of the system", [said("system", "a", name="Bo")], [said("system", "a")]),
    Case(
        "a call",
        [said("user", "a"), said("assistant", None, tool_calls=[CALL, {}])],
        [said("user", "a"), said("assistant", "Calling: look, ", tool_calls=[CALL, {}])],
        [REPAIR],
    ),
    Case(
        "a call with a text, after a text",
        [said("assistant", "a"), said("assistant", "b", tool_calls=[CALL])],
        [said("assistant", "a", tool_calls=[CALL])],
        [LOSS, REPAIR],
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history(case: Case) -> None:
    """Names go in front of texts, calls are given a text, and every change is reported."""
    talk = conversion(*case.messages)
    assert convert_cohere(talk)["chatHistory"] == case.made
    assert kinds(talk.report) == case.notes


def test_somebody_speaks() -> None:
    """Without messages the user is given a text."""
    talk = conversion()
    assert [message["role"] for message in convert_cohere(talk)["chatHistory"]] == ["user"]
    assert kinds(talk.report) == [REPAIR]


def test_body() -> None:
    """Settings have Cohere's names and bounds; tools and documents are sent even where there are none."""
    body = body_of(
        said("user", "a", name="Bo"), source="cohere", model="command-r-08-2024", top_p=1, top_k=0, stop=["x"]
    )
    assert body["messages"] == [said("user", "Bo: a")]
    assert (body["p"], body["k"], body["stop_sequences"], body["safety_mode"]) == (0.99, 0, ["x"], "OFF")
    assert (body["tools"], body["documents"]) == ([], [])
