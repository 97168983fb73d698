"""Tool calls in text: found in tags, left alone in code, taken out of what people read."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.tools.tag_calls import take_tag_calls


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
