"""JSON schemas: references in place, and a form for each source."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from innkeeper.dialects.sillytavern.json_schema import MAX_SCHEMA_NODES, google_schema, inlined
from innkeeper.dialects.sillytavern.source_bodies import source_body
from innkeeper.prompt.errors import LimitError
from innkeeper.prompt.note import NoteKind
from tests.dialects.sillytavern.requests import body_of, kinds, provider_request

SHAPE = {
    "$schema": "x",
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/level"}},
    "$defs": {"level": {"type": "number", "exclusiveMinimum": 0}},
}
PLAIN = {"type": "object", "properties": {"a": {"type": "number", "exclusiveMinimum": 0}}}
ASKED = {"type": "json_schema", "json_schema": {"name": "a", "description": "An a.", "schema": SHAPE}}


def test_references_are_put_in_place() -> None:
    """Definitions stand where they are referred to; one within itself, and one that is not there, is empty."""
    assert inlined(SHAPE) == PLAIN
    assert google_schema(SHAPE) == {"type": "object", "properties": {"a": {"type": "number"}}}
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "not": {"$ref": "#/$defs/b"}}}}
    assert inlined(loop) == {"items": {}, "not": {}}


def test_a_schema_that_grows_without_end_is_refused() -> None:
    """References that double each time are a typed error before they fill the memory."""
    names = [f"a{place}" for place in range(40)]
    twice = {
        name: {"x": {"$ref": f"#/$defs/{other}"}, "y": {"$ref": f"#/$defs/{other}"}}
        for name, other in itertools.pairwise(names)
    }
    with pytest.raises(LimitError) as caught:
        inlined({"$ref": "#/$defs/a0", "$defs": {**twice, "a39": {"type": "number"}}})
    assert str(MAX_SCHEMA_NODES) in caught.value.message.replace(",", "")


FORMS: tuple[tuple[str, Any], ...] = (
    ("openai", {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": PLAIN}}),
    ("groq", {"type": "json_schema", "json_schema": {"name": "a", "description": "An a.", "strict": True, "schema": PLAIN}}),
    ("perplexity", {"type": "json_schema", "json_schema": {"schema": PLAIN}}),
    ("workers_ai", {"type": "json_schema", "json_schema": PLAIN}),
    ("cohere", {"type": "json_schema", "schema": PLAIN}),
    ("deepseek", {"type": "json_object"}),
)  # fmt: skip


@pytest.mark.parametrize(("source", "form"), FORMS, ids=[source for source, _ in FORMS])
def test_forms(source: str, form: Any) -> None:
    """Each source has its own place for a schema."""
    assert body_of(source=source, response_format=ASKED)["response_format"] == form


def test_a_schema_in_words() -> None:
    """A source that only knows that JSON is wanted gets the schema as a message."""
    body = body_of(source="zai", response_format=ASKED)
    assert body["messages"][-1]["content"].startswith("JSON schema for the response:\n{\n    ")


def test_no_place_is_a_loss() -> None:
    """MiniMax is not told, and that is reported."""
    request = provider_request(source="minimax", response_format=ASKED)
    assert "response_format" not in source_body(request)
    assert kinds(request.report) == [NoteKind.LOSS]


def test_claude_and_google() -> None:
    """Claude must use a tool of that shape, its newest answers in it; Google is told beside the sampling."""
    tool = body_of(source="claude", model="claude-3-opus", response_format=ASKED)
    assert tool["tools"] == [{"name": "a", "description": "An a.", "input_schema": PLAIN}]
    assert tool["tool_choice"] == {"type": "tool", "name": "a"}
    newest = body_of(source="claude", model="claude-fable-5-1", response_format=ASKED)
    assert newest["output_config"] == {"format": {"type": "json_schema", "schema": PLAIN}}
    config = body_of(source="makersuite", response_format=ASKED)["generationConfig"]
    assert (config["responseMimeType"], config["responseSchema"]) == ("application/json", google_schema(SHAPE))
