"""Turn: roles, metadata and ids of a message, sorted into what providers have places for."""

from typing import Any

import pytest

from innkeeper.dialects.report import Report
from innkeeper.dialects.turn import Turn, read_turn
from innkeeper.prompt import FrozenDict, Message
from tests.dialects.talks import call, message


def turn(given: Message) -> tuple[Turn, list[str]]:
    """One message, read, and the notes."""
    report = Report("d")
    (found,) = read_turn([given], report)
    return found, [note.message for note in report.notes()]


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("user", "user"),
        ("USER ", "user"),
        ("developer", "system"),
        ("thinking", "assistant"),
        ("model", "assistant"),
        ("narrator", "user"),
        ("", "user"),
    ],
)
def test_roles(role: str, expected: str) -> None:
    """A role no provider has becomes one that has no more trust, and the change is reported."""
    found, notes = turn(Message(role, "Hi"))
    assert found.role == expected
    assert bool(notes) == (role != expected)


@pytest.mark.parametrize(
    ("metadata", "field", "expected"),
    [
        ({"tool_call_id": 7}, "call_id", "7"),
        ({"tool_call_id": ""}, "call_id", None),
        ({"signature": "é\ud800"}, "signature", "é\ufffd"),
        ({"is_error": 1}, "failed", True),
        ({"reasoning": "hm"}, "reasoning", ({"text": "hm"},)),
        ({"reasoning": {"text": "hm"}}, "reasoning", ({"text": "hm"},)),
        ({"reasoning": ["a", {"text": "b"}]}, "reasoning", ({"text": "a"}, {"text": "b"})),
        ({"reasoning": []}, "reasoning", ()),
        ({"cache_control": "ephemeral"}, "cache", {"type": "ephemeral"}),
        ({"cache_control": "5m"}, "cache", {"type": "ephemeral", "ttl": "5m"}),
        ({"cache_control": {"type": "x"}}, "cache", {"type": "x"}),
        ({"cache_control": False}, "cache", None),
        ({"tool_calls": []}, "calls", ()),
        ({"a": 1, "b": None, "signature": "s"}, "rest", {"a": 1}),
    ],
)
def test_metadata(metadata: dict[str, Any], field: str, expected: Any) -> None:
    """Each key that is read, in the spellings it comes in."""
    found, _ = turn(Message("user", "Hi", metadata=FrozenDict(metadata)))
    assert getattr(found, field) == expected


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        (call(), '{"a":1}'),
        ({"id": "call_1", "name": "add", "input": {"a": 1}}, '{"a":1}'),
        ({"id": "call_1", "name": "add", "args": None}, "{}"),
        ({"id": "call_1", "name": "add"}, "{}"),
        ({"id": "call_1", "name": "add", "arguments": ""}, "{}"),
        ({"id": "call_1", "name": "add", "arguments": " \n"}, "{}"),
        ({"id": "call_1", "name": "add", "arguments": "now"}, "now"),
    ],
    ids=["openai", "anthropic", "gemini", "bare", "empty", "blank", "prose"],
)
def test_calls(raw: dict[str, Any], arguments: str) -> None:
    """A call in any provider's shape, its arguments as JSON text."""
    found, notes = turn(message("assistant", "", tool_calls=[raw]))
    assert [(each.id, each.name, each.text()) for each in found.calls] == [("call_1", "add", arguments)]
    assert notes == []


def test_plain_turns_are_plain() -> None:
    """A message of role and text takes the short ways; one with a name or a tool's role does not."""
    assert not turn(Message("user", "Hi"))[0].rich
    assert turn(Message("user", "Hi", "Bob"))[0].rich
    assert turn(Message("tool", "1"))[0].rich
