"""Tool calls: whatever a model sends as calls, ids are there, unique, and in order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.tools.call import ToolCall, calls_of
from innkeeper.prompt import FrozenDict


def raw(id: Any = "", name: Any = "f", arguments: Any = "{}") -> dict[str, Any]:  # noqa: A002 - the wire's name
    """A call as it comes."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


IDS = {
    "the_documented_case": (["", "a", "a"], ["tc_1", "a", "a__2"]),
    "three_alike": (["a", "a", "a"], ["a", "a__2", "a__3"]),
    "spaces": ([" a ", "a"], ["a", "a__2"]),
    "missing": ([None, None], ["tc_1", "tc_2"]),
    "a_made_one_that_is_taken": (["tc_2", ""], ["tc_2", "tc_2__2"]),
    "a_double_that_is_taken": (["a__2", "a", "a"], ["a__2", "a", "a__3"]),
    "numbers": ([0, 7], ["0", "7"]),
    "other_kinds": ([True, [], {}], ["tc_1", "tc_2", "tc_3"]),
}


@pytest.mark.parametrize(("given_ids", "ids"), IDS.values(), ids=IDS)
def test_ids(given_ids: list[Any], ids: list[str]) -> None:
    """Blank ids are made, repeated ones numbered, none is there twice."""
    assert [call.id for call in calls_of([raw(one) for one in given_ids])] == ids


def test_one_call_for_a_list() -> None:
    """A single call stands for a list of one; what is no call is passed over; names are stripped."""
    assert calls_of(raw("a", " look ")) == (ToolCall("a", "look", "{}"),)
    assert calls_of([None, raw("a"), 3]) == (ToolCall("a", "f", "{}"),)
    assert calls_of([{"id": "a"}, {"id": "b", "function": 3}]) == (ToolCall("a", ""), ToolCall("b", ""))


@pytest.mark.parametrize("value", [None, "x", 3, [], {}])
def test_no_calls(value: Any) -> None:
    """Anything else holds no calls, but an empty mapping is a call without a name."""
    assert calls_of(value) == (() if value != {} else (ToolCall("tc_1", ""),))


def test_back_to_a_message() -> None:
    """A call goes back into a message with what its provider put beside it; missing arguments are an empty object."""
    call = calls_of([{**raw("a", "f", {"x": [1]}), "signature": "s", "index": 0}])[0]
    assert call.extra == FrozenDict(signature="s")
    assert call.to_dict() == {**raw("a", "f", {"x": [1]}), "signature": "s"}
    assert ToolCall("a", "f").to_dict()["function"]["arguments"] == "{}"


@given(st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "a__2", "tc_1", "tc_2"]), st.text(max_size=4))))
def test_ids_are_unique(ids: list[Any]) -> None:
    """Every call has an id of its own, and reading the calls again changes none."""
    calls = calls_of([raw(one) for one in ids])
    assert len({call.id for call in calls}) == len(calls) == len(ids)
    assert calls_of([call.to_dict() for call in calls]) == calls
