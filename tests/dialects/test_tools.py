"""Tools: which result answers which call, and what a choice of tools means."""

from typing import Any

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.dialects.report import Report
from innkeeper.dialects.tools import chosen, paired, tool_fields
from innkeeper.dialects.turn import Turn, read_turn
from innkeeper.prompt import Message, Tool, UsageError
from tests.dialects.talks import call, message


def pair(*talk: Message, repair: bool = True, functions: bool = False) -> tuple[list[str], list[str]]:
    """The turns after pairing as ``role:text:id``, and the sentences of the notes."""
    report = Report("d")
    turns: list[Turn] = paired(read_turn(talk, report), report, repair=repair, functions=functions)
    shown = [f"{turn.role}:{turn.text}" + (f":{turn.call_id}" if turn.call_id else "") for turn in turns]
    return shown, [note.message for note in report.notes()]


def calling(*ids: str | None, name: str = "add") -> Message:
    """An answer that calls tools."""
    return message("assistant", "", tool_calls=[call(each, name) for each in ids])


def told(text: str, call_id: str | None = None, **fields: Any) -> Message:
    """A tool's result."""
    return message("tool", text, tool_call_id=call_id, **fields)


def test_an_id_used_again() -> None:
    """Some servers number calls from 0 in every turn: each result belongs to the call before it, which gets its own id."""
    talk = (calling("0"), told("a", "0"), calling("0"), told("b", "0"))
    shown, notes = pair(*talk)
    assert shown == ["assistant:", "tool:a:0", "assistant:", "tool:b:0_2_0"]
    assert notes == ["d: a tool call with the id of another one was given its own (message 2)"]
    assert pair(*talk, repair=False) == (["assistant:", "tool:a:0", "assistant:", "tool:b:0"], [])


def test_an_id_used_twice_in_one_answer() -> None:
    """Two calls of one answer never have the same id; their results are taken in order."""
    shown, notes = pair(calling("0", "0"), told("a", "0"), told("b", "0"), repair=False)
    assert shown == ["assistant:", "tool:a:0", "tool:b:0_0_1"]
    assert len(notes) == 1


def test_an_id_used_again_after_no_answer() -> None:
    """A call that was never answered does not take the result of a later one."""
    shown, notes = pair(calling("0"), calling("0"), told("b", "0"))
    assert shown == ["assistant:", "tool::0", "assistant:", "tool:b:0_1_0"]
    assert len(notes) == 2


def test_results_in_another_order() -> None:
    """Results keep their order among themselves."""
    shown, notes = pair(calling("1", "2"), told("b", "2"), told("a", "1"))
    assert shown == ["assistant:", "tool:b:2", "tool:a:1"]
    assert notes == []


def test_results_without_ids() -> None:
    """Results without ids answer the open calls from the oldest on; with a name, one of that name."""
    named = message("assistant", "", tool_calls=[call("1", "add"), call("2", "look")])
    shown, _ = pair(named, told("b", name="look"), told("a"))
    assert shown == ["assistant:", "tool:b:2", "tool:a:1"]


def test_a_result_before_its_call() -> None:
    """A result cannot answer a call that comes later."""
    shown, notes = pair(told("a", "1"), calling("1"))
    assert shown == ["user:a", "assistant:", "tool::1"]
    assert len(notes) == 2


def test_two_results_of_one_call() -> None:
    """The first result answers; the second is a user's message."""
    shown, notes = pair(calling("1"), told("a", "1"), told("b", "1"))
    assert shown == ["assistant:", "tool:a:1", "user:b"]
    assert len(notes) == 1


def test_results_are_fetched() -> None:
    """Results that something stands before move up to their calls; what stood between keeps its order."""
    shown, notes = pair(calling("1", "2"), message("user", "x"), told("a", "1"), message("user", "y"), told("b", "2"))
    assert shown == ["assistant:", "tool:a:1", "tool:b:2", "user:x", "user:y"]
    assert notes == ["d: a tool result was moved next to its call (messages 2, 4)"]


def test_nothing_is_moved_without_repair() -> None:
    """Without repair, turns stay where they are."""
    shown, notes = pair(calling("1"), message("user", "x"), told("a", "1"), repair=False)
    assert shown == ["assistant:", "user:x", "tool:a:1"]
    assert notes == []


@pytest.mark.parametrize("functions", [True, False])
def test_results_as_before_there_were_tools(functions: bool) -> None:
    """The role ``function`` stays for who knows it, and becomes a user's for others."""
    shown, _ = pair(message("function", "1", name="f"), repair=False, functions=functions)
    assert shown == ["function:1" if functions else "user:1"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", ("auto", None)),
        ("AUTO", ("auto", None)),
        ("any", ("required", None)),
        ("add", ("tool", "add")),
        ({"type": "tool", "name": "add"}, ("tool", "add")),
        ({"type": "function", "function": {"name": "add"}}, ("tool", "add")),
        ({"type": "none"}, ("none", None)),
        ({}, ("auto", None)),
    ],
)
def test_choices(choice: Any, expected: tuple[str, str | None]) -> None:
    """A tool choice in any provider's spelling."""
    assert chosen(choice) == expected


@pytest.mark.parametrize("choice", [{"type": "function", "function": "odd"}, {"type": "tool"}, {"type": "function"}])
def test_a_choice_of_no_tool_is_refused(choice: Any) -> None:
    """An object that says that a tool is chosen, and not which, is not read as one of that name."""
    with pytest.raises(UsageError, match="names no tool"):
        chosen(choice)


def test_a_tool_without_parameters() -> None:
    """Providers want the schema of an object, if only of an empty one."""
    assert tool_fields(Tool("add"))["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize("calls", ["text", 7, [7], [{}], [{"function": {"name": 7}}], {"function": {}}])
def test_calls_that_are_none(calls: Any) -> None:
    """What cannot be read as a call is left out and reported."""
    talk = [message("user", "Hi"), message("assistant", "Hm", metadata={"tool_calls": calls}), message("user", "Go")]
    payload = DIALECTS["openai"].messages(talk, {})
    assert payload.body[1] == {"role": "assistant", "content": "Hm"}
    assert [note.kind for note in payload.notes] == ["loss"]


@pytest.mark.parametrize(
    ("names", "warned"),
    [
        (("look_up", "add"), []),
        (("add", "add"), ["2 tools are called 'add'"]),
        (("look up",), ["the tool 'look up' has a name"]),
        (("",), ["the tool '' has a name"]),
        (("x" * 200,), ["has a name"]),
    ],
)
def test_names_that_providers_refuse_are_warned_of(names: tuple[str, ...], warned: list[str]) -> None:
    """Tools are sent as they are called; two of one name, and names of other characters, are warned of."""
    tools = [Tool(name) for name in names]
    payload = DIALECTS["openai"].request([Message("user", "hi")], model="gpt-4o", options={}, tools=tools)
    assert [tool["function"]["name"] for tool in payload.body["tools"]] == list(names)
    notes = [note.message for note in payload.notes if note.kind == "warning"]
    assert len(notes) == len(warned)
    assert all(words in note for words, note in zip(warned, notes, strict=True))
