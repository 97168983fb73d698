"""AI21: one system message at the top, neighbours joined, text only."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.dialects.sillytavern.bodies.ai21 import convert_ai21
from innkeeper.dialects.sillytavern.conversion import RawMessage
from innkeeper.prompt.note import NoteKind
from tests.dialects.sillytavern.requests import CALL, PICTURE, TOOL, body_of, conversion, kinds, said

LOSS, REPAIR = NoteKind.LOSS, NoteKind.REPAIR


@dataclass(frozen=True)
class Case:
    """Messages, those that are sent, and what is reported."""

    name: str
    messages: list[RawMessage]
    made: list[RawMessage]
    notes: list[NoteKind] = field(default_factory=list)


CASES = (
    Case(
        "leading system messages",
        [said("system", "a"), said("system", "b"), said("user", "c")],
        [said("system", "a\n\nb"), said("user", "c")],
    ),
    Case("neighbours", [said("user", "a"), said("user", "b")], [said("user", "a\n\nb")], [REPAIR]),
    Case("a name", [said("user", "a", name="Bo")], [said("user", "Bo: a")], [REPAIR]),
    Case(
        "joined parts",
        [said("user", [{"type": "text", "text": "a"}, PICTURE]), said("user", "b")],
        [said("user", "a\n\nb")],
        [REPAIR, LOSS],
    ),
    Case(
        "joined calls",
        [said("assistant", "a"), said("assistant", "b", tool_calls=[CALL])],
        [said("assistant", "a\n\nb")],
        [REPAIR, LOSS],
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_messages(case: Case) -> None:
    """System text is one message, neighbours of one role are one, and every change is reported."""
    talk = conversion(*case.messages)
    assert convert_ai21(talk)["messages"] == case.made
    assert kinds(talk.report) == case.notes


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text("ab", min_size=1)), max_size=8))
def test_no_two_neighbours_have_one_role(drawn: list[tuple[str, str]]) -> None:
    """Whatever was said, roles alternate, nobody's text is lost, and somebody else than the system speaks."""
    made = convert_ai21(conversion(*(said(role, text) for role, text in drawn)))["messages"]
    roles = [message["role"] for message in made]
    assert all(one != other for one, other in itertools.pairwise(roles))
    assert set(roles) != {"system"}
    whole = "\n".join(message["content"] for message in made)
    assert all(text in whole for _, text in drawn)


def test_body() -> None:
    """Few settings, and tools without a choice."""
    body = body_of(said("system", "a"), said("user", "b"), source="ai21", model="jamba", tools=(TOOL,), seed=3)
    assert (body["model"], [message["role"] for message in body["messages"]]) == ("jamba", ["system", "user"])
    assert body.keys() == {"messages", "model", "max_tokens", "temperature", "top_p", "stream", "tools"}
