"""Arguments of a call: read with patience, refused with a code, and never anything but a mapping or an error."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.errors import ToolArgumentsError
from innkeeper.inference.tools.arguments import parse_arguments, size_of_arguments, unfenced
from innkeeper.prompt import FormatError, freeze

GOOD = {
    "null": (None, {}),
    "blank": ("  \n", {}),
    "object": ('{"a": 1}', {"a": 1}),
    "mapping": ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}),
    "frozen_mapping": (freeze({"a": [1]}), {"a": [1]}),
    "fenced": ('```json\n{"a": 1}\n```', {"a": 1}),
    "fenced_without_a_name": ('```\n{"a": 1}```', {"a": 1}),
    "encoded_twice": ('"{\\"a\\": 1}"', {"a": 1}),
    "fenced_and_encoded_twice": ('```\n"{\\"a\\": 1}"\n```', {"a": 1}),
    "null_text": ("null", {}),
    "blank_text_encoded": ('""', {}),
    "same_key_twice": ('{"a": 1, "a": 2}', {"a": 2}),
    "characters": ('{"a": "你"}', {"a": "你"}),
}


@pytest.mark.parametrize(("raw", "args"), GOOD.values(), ids=GOOD)
def test_good(raw: Any, args: dict[str, Any]) -> None:
    """Everything that can be read as an object is one."""
    assert parse_arguments(raw) == args


BAD = {
    "prose": "look around",
    "list": "[1]",
    "number": "3",
    "list_itself": [1],
    "number_itself": 3,
    "cut": '{"a": ',
    "single_quotes": "{'a': 1}",
    "not_a_number": '{"a": NaN}',
    "infinity": '{"a": -Infinity}',
    "deep": "[" * 50_000,
    "encoded_three_times": '"\\"{}\\""',
    "long_number": "1" * 5_000,
}


@pytest.mark.parametrize("raw", BAD.values(), ids=BAD)
def test_bad(raw: Any) -> None:
    """What is no object is refused with the code that goes back to the model."""
    with pytest.raises(ToolArgumentsError) as caught:
        parse_arguments(raw)
    assert caught.value.code == "ARGUMENTS_JSON_PARSE_ERROR"
    assert isinstance(caught.value, FormatError)


@pytest.mark.parametrize("raw", ['{"a": "%s"}' % ("é" * 60), {"a": "é" * 60}], ids=["text", "mapping"])
def test_too_large(raw: Any) -> None:
    """Size is in bytes, and told with the limit."""
    with pytest.raises(ToolArgumentsError) as caught:
        parse_arguments(raw, max_bytes=100)
    assert caught.value.code == "ARGUMENTS_TOO_LARGE"
    assert caught.value.details["limit"] == 100
    assert caught.value.details["bytes"] == size_of_arguments(raw) > 100


@pytest.mark.parametrize(
    ("text", "inside"),
    [("```x\na\n```", "a"), ("a ``` b", "a ``` b"), ("```a```", "```a```"), (" a ", "a"), ("```\n\n```", "")],
)
def test_unfenced(text: str, inside: str) -> None:
    """Only a text that is one fence is opened."""
    assert unfenced(text) == inside


@given(
    st.one_of(
        st.text(st.characters(exclude_categories=()), max_size=60),
        st.text('{}[]":,\\`n1 \n', max_size=40),
        st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=3), st.lists, max_leaves=5),
    )
)
def test_anything(raw: Any) -> None:
    """Whatever a model writes, there is a mapping or the typed error."""
    try:
        found = parse_arguments(raw)
    except ToolArgumentsError:
        return
    assert isinstance(found, dict)
