"""Options: neutral names, other names for the same, tables, and ``extra`` over everything."""

from typing import Any

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.dialects.options import ResponseFormat, neutral, stop_list
from innkeeper.prompt import FrozenDict
from innkeeper.prompt.errors import ConfigError
from tests.dialects.talks import ALL, message, said

OPENAI = DIALECTS["openai"]


def body(**options: Any) -> dict[str, Any]:
    """The body of a request without its messages."""
    made: dict[str, Any] = dict(OPENAI.request([message()], model=None, options=options).body)
    del made["messages"]
    return made


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens"])
def test_other_names_for_the_same(name: str) -> None:
    """An option may be called as some provider calls it."""
    assert body(**{name: 9}) == {"max_completion_tokens": 9}


def test_the_neutral_name_wins() -> None:
    """Of two names for the same, ours counts."""
    assert neutral({"max_tokens": 1, "max_new_tokens": 2, "stop_sequences": None}) == {"max_tokens": 1}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("x", ["x"]),
        (["x", "x"], ["x"]),
        (("x", None, ""), ["x"]),
        ([1], ["1"]),
        (None, []),
        ({"a": 1}, []),
        ("\ud800", ["\ufffd"]),
    ],
)
def test_stop_lists(found: Any, expected: list[str]) -> None:
    """Stop strings of any shape are a list of texts."""
    assert stop_list(found) == expected


def test_no_stops_no_field() -> None:
    """Stop strings that are all empty leave no field."""
    assert body(stop=["", None]) == {}


def test_extra_is_merged_over_the_body() -> None:
    """``extra`` adds to objects and replaces everything else, and is not changed by it."""
    extra = FrozenDict(metadata=FrozenDict(b=2), temperature=0.1, more=(1,))
    made = body(metadata={"a": 1}, temperature=0.9, extra=extra)
    assert made == {"temperature": 0.1, "metadata": {"a": 1, "b": 2}, "more": [1]}
    assert extra == {"metadata": {"b": 2}, "temperature": 0.1, "more": (1,)}


def test_extra_under_another_name() -> None:
    """Clients call it ``extra_body``."""
    assert body(extra_body={"a": 1}) == {"a": 1}


def test_extra_must_be_an_object() -> None:
    """Anything else is a caller's mistake."""
    with pytest.raises(ConfigError):
        body(extra=[1])


@pytest.mark.parametrize("dialect", ALL)
def test_an_option_that_nobody_has(dialect: str) -> None:
    """Every dialect reports it, and says where it might go."""
    payload = DIALECTS[dialect].request([message()], model="m", options={"warp": 9})
    note = said(payload.notes, "'warp'")
    assert note.kind == "loss"
    assert "extra" in str(note.hint)


@pytest.mark.parametrize("dialect", sorted(set(ALL) - {"text", "llamacpp", "koboldcpp"}))
def test_tool_choice_without_tools(dialect: str) -> None:
    """A choice among no tools is refused by providers: it is left out, and a note says so."""
    payload = DIALECTS[dialect].request([message()], model="m", options={"tool_choice": "auto"})
    assert "tool" not in str(payload.body)
    assert said(payload.notes, "without tools").kind == "ignored"


def test_tools_may_come_as_extra() -> None:
    """Tools of the provider's own count as tools."""
    made = body(tool_choice="auto", extra={"tools": [{"type": "web_search"}]})
    assert made == {"tool_choice": "auto", "tools": [{"type": "web_search"}]}


@pytest.mark.parametrize(
    ("value", "sent", "told"),
    [
        (0.5, 0.5, None),
        ("0.5", 0.5, "was a text and is a number now"),
        (" 3 ", 3, "was a text and is a number now"),
        ("hot", None, "is not sent: 'hot' is not a number"),
        (True, None, "is not sent: True is not a number"),
        ([1], None, "is not sent: [1] is not a number"),
        ("inf", None, "is not sent: 'inf' is not a number"),
        ("1" * 400, None, "is not a number"),
        (float("inf"), None, "is not sent: that is not a number"),
        (float("nan"), None, "is not sent: that is not a number"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_numbers(value: Any, sent: float | None, told: str | None) -> None:
    """Where a provider takes a number it gets one; a text that is none, or a number that JSON has not, is left out."""
    made = OPENAI.request([message()], model=None, options={"temperature": value})
    assert made.body.get("temperature") == sent
    assert (told is None and not made.notes) or any(told in str(note) for note in made.notes if told)


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
