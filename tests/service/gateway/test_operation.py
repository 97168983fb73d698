"""Checking arguments agrees with their JSON Schemas, and says where and how."""

from typing import Any, Literal

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.service.gateway.operation import GatewayPath


class Inner(msgspec.Struct):
    """A struct in an argument."""

    b: int
    e: Literal["x", "y"] | None = None


OPERATION = GatewayPath.of(
    "modules/a/b",
    lambda _call, **arguments: arguments,
    "",
    Any,
    a=list[str] | None,
    n=int | None,
    f=float | None,
    t=str | None,
    o=dict[str, Any] | None,
    c=list[Any] | dict[str, Any],
    i=Inner | None,
    many=list[Inner] | None,
    e=Literal["x", "y"] | None,
    flag=bool | None,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([1.5, "x", "z"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abe"), inner, max_size=3),
    max_leaves=8,
)


@given(arguments=st.dictionaries(st.sampled_from(sorted(OPERATION.types)), VALUES, max_size=4))
def test_agrees(arguments: dict[str, Any]) -> None:
    """Arguments have no problem exactly where a full validator finds none in their schema."""
    schema = msgspec.json.schema(OPERATION.operation.request)
    schema["$defs"]["Arguments"]["required"] = []
    assert (OPERATION.problems(arguments) == []) == jsonschema.Draft202012Validator(schema).is_valid(arguments)


@pytest.mark.parametrize(
    ("arguments", "path", "words", "hint"),
    [
        ({"c": 3}, "c", "c must be an object or a list, not a whole number", "give an object or a list"),
        ({"a": ["x", None]}, "a[1]", "a[1] must be text, not null", "give text"),
        ({"i": {}}, "i.b", "i.b is missing", "add 'b'"),
        ({"many": [{"b": 1}, {}]}, "many[1].b", "many[1].b is missing", "add 'b'"),
        (
            {"flag": 1.5},
            "flag",
            "flag must be true or false, not a decimal number",
            "give true or false, or leave it out",
        ),
        ({"e": "z"}, "e", "e is not one of the values it may have", "one of: x, y"),
        ({"i": {"b": 1, "e": "z"}}, "i.e", "i.e is not one of the values it may have", "one of: x, y"),
    ],
)
def test_words(arguments: dict[str, Any], path: str, words: str, hint: str) -> None:
    """A problem says its place, what is wrong and how to mend it."""
    [problem] = OPERATION.problems(arguments)
    assert (problem.path, problem.message, problem.hint) == (path, words, hint)


def test_null_is_left_out() -> None:
    """What is null and not required does not reach the function; what is required does."""
    assert OPERATION(None, {"a": None, "c": None, "t": ""}) == {"c": None, "t": ""}
    assert OPERATION.required == ("c",)
