"""Flat text for models that know no messages."""

from __future__ import annotations

import pytest

from innkeeper.dialects.sillytavern.flat_text import convert_text, is_text_model
from innkeeper.prompt.note import NoteKind
from tests.dialects.sillytavern.requests import TOOL, body_of, conversion, kinds, said


def test_flat_text() -> None:
    """A line for each message with its role or name; what is no text is written as JavaScript does, and reported."""
    talk = conversion(
        said("system", "a"), said("system", "b", name="Bo"), said("user", [{}, {}]), said("assistant", None)
    )
    assert convert_text(talk) == {
        "prompt": "System: a\nBo: b\nuser: [object Object],[object Object]\nassistant: null\nassistant:"
    }
    assert kinds(talk.report) == [NoteKind.LOSS]


@pytest.mark.parametrize(
    ("model", "flat"),
    [("gpt-3.5-turbo-instruct", True), ("text-davinci-003", True), ("davinci-002", False), ("gpt-4o", False)],
)
def test_models(model: str, flat: bool) -> None:
    """OpenAI's text models get a prompt in place of messages and tools."""
    assert is_text_model(model) is flat
    body = body_of(said("user", "Hi"), source="openai", model=model, tools=(TOOL,), logprobs=True)
    assert ("prompt" in body, "messages" in body, "tools" in body) == (flat, not flat, not flat)
    assert body["logprobs"] == (5 if flat else True)
