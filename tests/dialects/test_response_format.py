"""ResponseFormat: what kind of answer is asked for, in all its spellings."""

from typing import Any

import pytest

from innkeeper.dialects.response_format import ResponseFormat

SCHEMA = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("json", ResponseFormat("json_object")),
        ("text", ResponseFormat("text")),
        ({"type": "json_object"}, ResponseFormat("json_object")),
        ({"type": "json_schema", "schema": SCHEMA}, ResponseFormat("json_schema", schema=SCHEMA)),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True, "description": "d"}},
            ResponseFormat("json_schema", "n", SCHEMA, strict=True, description="d"),
        ),
        ({"type": "json_schema", "json_schema": "odd"}, ResponseFormat("json_schema", schema={})),
        (SCHEMA, ResponseFormat("json_schema", schema=SCHEMA)),
    ],
    ids=["word", "text", "object", "flat", "nested", "odd", "bare-schema"],
)
def test_spellings(given: Any, expected: ResponseFormat) -> None:
    """Chat Completions' shape, Responses' shape, a word or a bare schema: all are read."""
    assert ResponseFormat.of(given) == expected


def test_fields() -> None:
    """Only what was given is written."""
    assert ResponseFormat("json_schema", "n", SCHEMA).fields() == {"name": "n", "schema": SCHEMA}
