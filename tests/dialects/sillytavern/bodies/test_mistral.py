"""Mistral: short ids, no system message after an assistant's, no user message after a tool's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.dialects.sillytavern.bodies.mistral import convert_mistral
from innkeeper.dialects.sillytavern.conversion import RawMessage
from tests.dialects.sillytavern.requests import CALLED, PICTURE, body_of, conversion, said


def converted(*messages: RawMessage) -> list[dict[str, Any]]:
    """The messages as Mistral gets them."""
    made: list[dict[str, Any]] = convert_mistral(conversion(*messages))["messages"]
    return made


@dataclass(frozen=True)
class Case:
    """Messages, and those that are sent."""

    name: str
    messages: list[RawMessage]
    made: list[RawMessage]


CASES = (
    Case("a leading system message", [said("system", "a"), said("user", "b")], [said("system", "a"), said("user", "b")]),
    Case("one after the assistant's", [said("assistant", "a"), said("system", "b")], [said("assistant", "a"), said("user", "b")]),
    Case("a name", [said("user", "a", name="Bo")], [said("user", "Bo: a")]),
    Case("a name that stands there", [said("user", "Bo: a", name="Bo")], [said("user", "Bo: a", name="Bo")]),
    Case("an example", [said("system", "a", name="example_user")], [said("system", "Tomas: a")]),
    Case("a name of the system", [said("system", "a", name="Bo")], [said("system", "a", name="Bo")]),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_messages(case: Case) -> None:
    """Names stand in front of texts, and a system message after an assistant's is the user's."""
    assert converted(*case.messages) == case.made


@given(st.text(max_size=20))
def test_ids_are_short_and_stay_together(call_id: str) -> None:
    """A call and its result have the same id of nine characters, whatever it was."""
    call = {"id": call_id, "function": {"name": "f", "arguments": "{}"}}
    made = converted(said("assistant", None, tool_calls=[call]), said("tool", "a", tool_call_id=call_id))
    assert made[0]["tool_calls"][0]["id"] == made[1]["tool_call_id"]
    assert len(made[1]["tool_call_id"]) == 9


@pytest.mark.parametrize(
    ("content", "joined"),
    [
        ("b", "Look.\n\nb"),
        ([PICTURE], [{"type": "text", "text": "Look."}, PICTURE]),
    ],
    ids=["text", "parts"],
)
def test_a_user_message_after_a_tool(content: Any, joined: Any) -> None:
    """It is joined to the user's last message; parts stay parts."""
    made = converted(*CALLED, said("user", content))
    assert [message["role"] for message in made] == ["user", "assistant", "tool"]
    assert made[0]["content"] == joined


def test_nothing_is_joined_to_an_empty_message() -> None:
    """A user message after a tool's goes to the user's last message that says something, else it stays."""
    called = CALLED[1:]
    assert [message["role"] for message in converted(said("user", ""), *called, said("user", "b"))] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert converted(said("user", "a"), said("user", ""), *called, said("user", "b"))[0]["content"] == "a\n\nb"


def test_body() -> None:
    """All stop strings are sent, and the seed by another name; the beginning of a reply is marked where the server says so."""
    body = body_of(source="mistralai", stop=list("abcdef"), seed=5)
    assert (body["stop"], body["random_seed"], body["safe_prompt"]) == (list("abcdef"), 5, False)
    assert "random_seed" not in body_of(source="mistralai", seed=-1)
    begun = body_of(said("assistant", "a"), source="mistralai", server={"mistral": {"enablePrefix": True}})
    assert begun["messages"][-1]["prefix"] is True
