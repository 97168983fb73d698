"""Tool calls: whatever a model sends as calls, ids are there, unique, and in order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.errors import AnswerError
from innkeeper.inference.tools.calls import (
    ModelCall,
    calls_of,
    parse_arguments,
    size_of_arguments,
    take_tag_calls,
    unfenced,
)
from innkeeper.prompt import FormatError, FrozenDict, freeze


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
    assert calls_of(raw("a", " look ")) == (ModelCall("a", "look", "{}"),)
    assert calls_of([None, raw("a"), 3]) == (ModelCall("a", "f", "{}"),)
    assert calls_of([{"id": "a"}, {"id": "b", "function": 3}]) == (ModelCall("a", ""), ModelCall("b", ""))


@pytest.mark.parametrize("value", [None, "x", 3, [], {}])
def test_no_calls(value: Any) -> None:
    """Anything else holds no calls, but an empty mapping is a call without a name."""
    assert calls_of(value) == (() if value != {} else (ModelCall("tc_1", ""),))


def test_back_to_a_message() -> None:
    """A call goes back into a message with what its provider put beside it; missing arguments are an empty object."""
    call = calls_of([{**raw("a", "f", {"x": [1]}), "signature": "s", "index": 0}])[0]
    assert call.extra == FrozenDict(signature="s")
    assert call.to_dict() == {**raw("a", "f", {"x": [1]}), "signature": "s"}
    assert ModelCall("a", "f").to_dict()["function"]["arguments"] == "{}"


@given(st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "a__2", "tc_1", "tc_2"]), st.text(max_size=4))))
def test_ids_are_unique(ids: list[Any]) -> None:
    """Every call has an id of its own, and reading the calls again changes none."""
    calls = calls_of([raw(one) for one in ids])
    assert len({call.id for call in calls}) == len(calls) == len(ids)
    assert calls_of([call.to_dict() for call in calls]) == calls


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
    "too_large_a_number": '{"a": 1e999}',
    "deep": "[" * 50_000,
    "encoded_three_times": '"\\"{}\\""',
    "long_number": "1" * 5_000,
}


@pytest.mark.parametrize("raw", BAD.values(), ids=BAD)
def test_bad(raw: Any) -> None:
    """What is no object is refused with the code that goes back to the model."""
    with pytest.raises(AnswerError) as caught:
        parse_arguments(raw)
    assert caught.value.code == "ARGUMENTS_JSON_PARSE_ERROR"
    assert isinstance(caught.value, FormatError)


@pytest.mark.parametrize("raw", ['{"a": "%s"}' % ("é" * 60), {"a": "é" * 60}], ids=["text", "mapping"])
def test_too_large(raw: Any) -> None:
    """Size is in bytes, and told with the limit."""
    with pytest.raises(AnswerError) as caught:
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
    except AnswerError:
        return
    assert isinstance(found, dict)


def taken(content: Any, **more: Any) -> tuple[Any, list[tuple[str, str]]]:
    """The text that is left, and the calls as (name, arguments)."""
    message: dict[str, Any] = {"role": "assistant", "content": content, **more}
    take_tag_calls(message)
    calls = message.get("tool_calls") or []
    assert [call["id"] for call in calls] == [f"tag_call_{number}" for number in range(1, len(calls) + 1)]
    return message["content"], [(call["function"]["name"], call["function"]["arguments"]) for call in calls]


CASES = {
    "json": ('<tool_call>{"name": "look", "arguments": {"x": 1}}</tool_call>', "", [("look", '{"x": 1}')]),
    "args": ('<tool_call>{"name": "look", "args": {"x": 1}}</tool_call>', "", [("look", '{"x": 1}')]),
    "arguments_as_text": (
        '<tool_call>{"name": "look", "arguments": "{\\"x\\": 1}"}</tool_call>',
        "",
        [("look", '{"x": 1}')],
    ),
    "function": ('<tool_call>{"function": {"name": "look", "arguments": {}}}</tool_call>', "", [("look", "{}")]),
    "function_by_name": ('<tool_call>{"function": "look", "arguments": {}}</tool_call>', "", [("look", "{}")]),
    "name_and_json": ('<tool_call>look {"x": 1}</tool_call>', "", [("look", '{"x": 1}')]),
    "bare_name": ("<tool_call>look</tool_call>", "", [("look", "{}")]),
    "fenced": ('<tool_call>\n```json\n{"name": "look"}\n```\n</tool_call>', "", [("look", "{}")]),
    "among_prose": ("I look. <tool_call>look</tool_call> Then?", "I look.  Then?", [("look", "{}")]),
    "two": (
        "<tool_call>look</tool_call><tool_call>go {}</tool_call>",
        "",
        [("look", "{}"), ("go", "{}")],
    ),
    "any_case_and_spaces": ("< TOOL_CALL >look</ tool_call >", "", [("look", "{}")]),
    "liquid_in_arguments": (
        '<tool_call>{"name": "say", "arguments": {"t": "{{ user }}"}}</tool_call>',
        "",
        [("say", '{"t": "{{ user }}"}')],
    ),
    "code_in_arguments": (
        '<tool_call>{"name": "say", "arguments": {"t": "`x`"}}</tool_call>',
        "",
        [("say", '{"t": "`x`"}')],
    ),
    "characters": ('<tool_call>look {"t": "你"}</tool_call>', "", [("look", '{"t": "你"}')]),
}


@pytest.mark.parametrize(("content", "left", "calls"), CASES.values(), ids=CASES)
def test_calls(content: str, left: str, calls: list[tuple[str, str]]) -> None:
    """Each form of a call is read, and its tags leave the text."""
    assert taken(content) == (left, calls)


ALONE = {
    "no_tags": "look around",
    "inline_code": "use `<tool_call>look</tool_call>` for that",
    "fence": "```\n<tool_call>look</tool_call>\n```",
    "escaped": "\\<tool_call>look\\</tool_call>",
    "no_call_inside": "<tool_call>look around you</tool_call>",
    "broken_json": '<tool_call>{"name": </tool_call>',
    "json_without_a_name": '<tool_call>{"x": 1}</tool_call>',
    "not_closed": "<tool_call>look",
    "not_opened": "look</tool_call>",
    "empty": "<tool_call></tool_call>",
    "list": "<tool_call>[1]</tool_call>",
}


@pytest.mark.parametrize("content", ALONE.values(), ids=ALONE)
def test_left_alone(content: str) -> None:
    """Code, escapes and tags without a call stay as they are, to the letter."""
    assert taken(content) == (content, [])


def test_messages_that_call_already() -> None:
    """Real tool calls win over tags; content that is no text is not looked at."""
    call = {"id": "tag_call_1", "function": {"name": "look", "arguments": "{}"}}
    content = "<tool_call>go</tool_call>"
    assert taken(content, tool_calls=[call]) == (content, [("look", "{}")])
    assert taken(None) == (None, [])


@given(st.text('<>/tool_call {}"`\\\n:nameargumts[]1', max_size=80) | st.text(max_size=30))
def test_any_text(text: str) -> None:
    """Whatever the text, it stays or loses whole calls; nothing raises."""
    left, calls = taken(f"<tool_call>{text}</tool_call>")
    assert calls or left == f"<tool_call>{text}</tool_call>"
