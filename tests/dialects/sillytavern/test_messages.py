"""Messages of Chat Completions, checked, and the rule for names in front of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.dialects.sillytavern.messages import Speakers, lead, part_text, read_chat_messages, speakers_of
from innkeeper.prompt.errors import ConfigError, FormatError


def test_messages_are_copies_without_empty_fields() -> None:
    """What is read can be changed without the caller's noticing; only content may be nothing."""
    given_messages = [
        {"role": "user", "content": [{"type": "text", "text": "a"}], "name": None, "tool_calls": [{"id": "k"}]}
    ]
    (made,) = read_chat_messages(given_messages)
    made["content"][0]["text"] = "b"
    made["tool_calls"][0]["id"] = "x"
    assert given_messages == [
        {"role": "user", "content": [{"type": "text", "text": "a"}], "name": None, "tool_calls": [{"id": "k"}]}
    ]
    assert "name" not in made
    assert read_chat_messages([{"role": "user"}]) == [{"role": "user", "content": None}]


@dataclass(frozen=True)
class Case:
    """What is no list of messages, and the place that the error names."""

    messages: Any
    path: str | None


CASES = (
    Case("text", None),
    Case({"role": "user"}, None),
    Case([5], "[0]"),
    Case([{"role": "user"}, {"role": ""}], "[1].role"),
    Case([{"role": "user", "name": 5}], "[0].name"),
    Case([{"role": "user", "content": 5}], "[0].content"),
    Case([{"role": "user", "content": [{}, "x"]}], "[0].content[1]"),
    Case([{"role": "user", "content": [{"type": "text", "text": 5}]}], "[0].content[0].text"),
    Case([{"role": "user", "tool_calls": {}}], "[0].tool_calls"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.messages))
def test_errors_say_where(case: Case) -> None:
    """Whatever is no message is refused with its place."""
    with pytest.raises(FormatError) as caught:
        read_chat_messages(case.messages)
    assert caught.value.where is not None
    assert caught.value.where.path == case.path


@given(st.text("ab: ", max_size=4), st.text("ab: ", max_size=8))
def test_a_name_stands_once(name: str, text: str) -> None:
    """A name is put in front once, however often it is tried."""
    named = lead(name, text) + text
    assert lead(name, named) == ""
    assert named.endswith(text)


@dataclass(frozen=True)
class Lead:
    """Who speaks, what, and the name that goes in front."""

    name: str | None
    text: str
    lead: str


LEADS = (
    Lead("example_user", "a", "Tomas: "),
    Lead("example_user", "Tomas: a", ""),
    Lead("example_assistant", "a", "Mira: "),
    Lead("example_assistant", "Nell: a", ""),
    Lead("Bo", "a", ""),
    Lead(None, "a", ""),
)


@pytest.mark.parametrize("case", LEADS, ids=lambda case: f"{case.name} {case.text}")
def test_examples(case: Lead) -> None:
    """Only examples get the names of the chat, and never beside a name of the group."""
    assert Speakers("Mira", "Tomas", ("Nell",)).lead_example(case.name, case.text) == case.lead


def test_parts() -> None:
    """A part has a text only where it is one, which may be missing."""
    assert [part_text(part) for part in ({"type": "text", "text": "a"}, {"type": "text"}, {"text": "a"})] == [
        "a",
        "",
        None,
    ]


def test_speakers_as_an_option() -> None:
    """Speakers are given as such or as an object; anything else is an error of the option."""
    speakers = Speakers("Mira", "Tomas", ("Nell",))
    assert speakers_of(speakers, "d") is speakers
    assert speakers_of({"char": "Mira", "user": "Tomas", "group": ["Nell"]}, "d") == speakers
    assert speakers_of(None, "d") == Speakers()
    for wrong in ("Mira", {"char": 5}, [1]):
        with pytest.raises(ConfigError):
            speakers_of(wrong, "d")
