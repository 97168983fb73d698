"""The directives parser: the object in whatever a model writes around it, or a code."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.directives.envelope import parse_object
from innkeeper.inference.errors import AnswerError

GOOD = {
    "bare": '{"a": 1}',
    "spaces": ' \n{"a": 1}\n',
    "mapping": {"a": 1},
    "fence": '```json\n{"a": 1}\n```',
    "directives_tag": '<directives>{"a": 1}</directives>',
    "json_tag_with_fence": 'Here:\n<JSON>\n```\n{"a": 1}\n```\n</JSON> so.',
    "prose": 'Here it is: {"a": 1}. Good?',
    "prose_and_fence": 'Here:\n```json\n{"a": 1}\n```\nGood?',
    "first_of_two": '{"a": 1} {"b": 2}',
    "braces_before": 'Use {curly} braces: {"a": 1}',
    "open_brace_before": 'A { and then {"a": 1}',
}


@pytest.mark.parametrize("content", GOOD.values(), ids=GOOD)
def test_good(content: Any) -> None:
    """The object is found."""
    assert parse_object(content) == {"a": 1}


def test_braces_in_strings() -> None:
    """Braces and quotes inside strings do not end an object."""
    value = {"a": '}"{', "b": {"c": "\\"}, "d": "`<json>`"}
    assert parse_object(f"So: {json.dumps(value)} and so.") == value


BAD = {
    "nothing": (None, "EMPTY"),
    "empty": ("", "EMPTY"),
    "blank": (" \n", "EMPTY"),
    "number_kind": (3, "EMPTY"),
    "large": ('{"a": "%s"}' % ("x" * 200), "TOO_LARGE"),
    "large_in_bytes": ('{"a": "%s"}' % ("你" * 40), "TOO_LARGE"),
    "prose": ("I would rather not.", "INVALID_JSON"),
    "not_a_number": ('{"a": NaN}', "INVALID_JSON"),
    "too_large_a_number": ('{"a": 1e999}', "INVALID_JSON"),
    "not_a_number_in_a_mapping": ({"a": float("nan")}, "INVALID_JSON"),
    "cut": ('{"a": ', "INVALID_JSON"),
    "not_closed": ('Here: {"a": {"b": 1}', "INVALID_JSON"),
    "list": ("[1]", "NOT_OBJECT"),
    "text": ('"a"', "NOT_OBJECT"),
    "null": ("null", "NOT_OBJECT"),
    "list_in_a_fence": ("```\n[1]\n```", "NOT_OBJECT"),
    "deep": ("[" * 99, "INVALID_JSON"),
}


@pytest.mark.parametrize(("content", "code"), BAD.values(), ids=BAD)
def test_bad(content: Any, code: str) -> None:
    """Each failure has its code; broken JSON comes with a sample."""
    with pytest.raises(AnswerError) as caught:
        parse_object(content, max_bytes=100)
    assert caught.value.code == code
    assert ("sample" in caught.value.details) is (code == "INVALID_JSON")


@given(
    st.text('{}[]":,\\`<>/jsondirectv 1n\n', max_size=80)
    | st.text(st.characters(exclude_categories=()), max_size=40)
    | st.integers(1, 60).map(lambda n: '{"a":' * n)
    | st.integers(1, 2000).map(lambda n: "{" * n)
)
def test_any_text(text: str) -> None:
    """Whatever a model writes, there is an object or the typed error."""
    try:
        assert isinstance(parse_object(text), dict)
    except AnswerError as error:
        assert error.code in {"EMPTY", "INVALID_JSON", "NOT_OBJECT"}  # noqa: PT017 - either is right


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=8) | st.integers(), max_size=3),
    st.sampled_from(["", "x ", "```\n"]),
)
def test_objects_are_found(value: dict[str, Any], before: str) -> None:
    """An object written as JSON is found behind prose."""
    assert parse_object(before + json.dumps(value)) == value
