"""Validation agrees with JSON Schema, and says where and how."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.service.gateway.shape import schema_of
from innkeeper.service.gateway.validation import problems
from innkeeper.service.limits import MAX_PROBLEMS

LINES = st.recursive(
    st.sampled_from(["str", "int", "num", "bool", "obj", "arr", "null", "any", "enum(a b)", "arr/obj", "str/null"]),
    lambda inner: inner.map("[{}]".format) | st.tuples(inner, inner).map(lambda two: f"{{a*:{two[0]}, b:{two[1]}}}"),
    max_leaves=5,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([1.0, 1.5, "a", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100)
@given(line=LINES, value=VALUES)
def test_agrees(line: str, value: Any) -> None:
    """A value has no problem exactly where a full validator finds none."""
    schema = schema_of(line)
    assert (problems(value, schema) == []) == jsonschema.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("line", "value", "path", "words", "hint"),
    [
        ("obj", 3, "", "the request must be an object, not a whole number", "give an object"),
        ("{a*:[str]}", {"a": ["x", None]}, "a[1]", "a[1] must be text, not null", "give text"),
        ("{a:{b*:int}}", {"a": {}}, "a.b", "a.b is missing", "add 'b'"),
        ("{a:bool}", {"a": 1.5}, "a", "a must be true or false, not a number", "give true or false, or leave it out"),
        ("{a:enum(x y)}", {"a": "z"}, "a", "a is none of the values it may have", "one of: x, y"),
    ],
)
def test_words(line: str, value: Any, path: str, words: str, hint: str) -> None:
    """A problem says its place, what is wrong and how to mend it."""
    [found] = problems(value, schema_of(line))
    assert (found.path, found.message, found.hint) == (path, words, hint)


def test_bounded() -> None:
    """Only the first problems are told."""
    assert len(problems([None] * 1_000, schema_of("[str]"))) == MAX_PROBLEMS
