"""Tool calls and their results: each result right after its call, each with an id; tool definitions and tool choice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from innkeeper.dialects.report import Report, jsonable
from innkeeper.dialects.turn import FUNCTION, RESULTS, TOOL, USER, ToolCall, Turn, replace
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.payload.dialect import Tool
from innkeeper.prompt.text import scalar_text

_Key = tuple[int, int]
"""A call: the index of its turn, and its index in the turn."""


def paired(turns: list[Turn], report: Report, *, repair: bool, functions: bool = False) -> list[Turn]:
    """Turns in which every tool result names its call and, with ``repair``, follows it at once.

    Calls of one answer have ids of their own, with ``repair`` those of the whole conversation.
    A result without an id is taken for that of the oldest open call, by name where it has one. With ``repair``, a result
    that answers no call becomes a user message, and a call that nothing answers gets an empty, failed result; both are
    reported. Without, they stay and are warned of, since providers refuse them. ``functions`` says that the provider
    takes results with the role ``function`` and a name but no id.
    """
    turns = _distinct(turns, report, everywhere=repair)
    matched = _matched(turns)
    answers = {key: index for index, key in matched.items()}
    others = list(accumulate((turn.role not in RESULTS for turn in turns), initial=0))
    repaired: list[Turn] = []
    for index, turn in enumerate(turns):
        if turn.role not in RESULTS:
            repaired.append(turn)
            if turn.calls:
                repaired += _answers(index, turns, answers, others, report, repair=repair)
        elif index not in matched:
            repaired.append(_orphan(turn, report, repair=repair, functions=functions))
        elif not repair:
            caller, offset = matched[index]
            repaired.append(_as_result(turn, turns[caller].calls[offset], report))
    return repaired


def _distinct(turns: list[Turn], report: Report, *, everywhere: bool) -> list[Turn]:
    """Turns whose calls have distinct ids: the later one of two gets another."""
    seen: set[str] = set()
    remaining = []
    for turn in turns:
        if len(turn.calls) > 1 or (everywhere and turn.calls):
            seen = seen if everywhere else set()
            calls = tuple(_renamed(call, turn, index, seen, report) for index, call in enumerate(turn.calls))
            turn = turn if calls == turn.calls else replace(turn, calls=calls)  # noqa: PLW2901 - the same turn
        remaining.append(turn)
    return remaining


def _renamed(call: ToolCall, turn: Turn, index: int, seen: set[str], report: Report) -> ToolCall:
    name = call.id
    while name in seen:
        name = f"{name}_{turn.index}_{index}"
    seen.add(name)
    if name == call.id:
        return call
    report.repair("a tool call with the id of another one was given its own", turn.index)
    return replace(call, id=name, renamed=call.id)


def _matched(turns: list[Turn]) -> dict[int, _Key]:
    """The call that each result answers: the latest open one with its id, or the oldest open one with its name."""
    opened: dict[_Key, ToolCall] = {}
    by_id: dict[str, list[_Key]] = {}
    matched: dict[int, _Key] = {}
    for index, turn in enumerate(turns):
        for offset, call in enumerate(turn.calls):
            opened[index, offset] = call
            by_id.setdefault(call.renamed or call.id, []).append((index, offset))
        key = _answered_call(turn, opened, by_id) if turn.role in RESULTS else None
        if key is not None:
            del opened[key]
            matched[index] = key
    return matched


def _answered_call(turn: Turn, opened: dict[_Key, ToolCall], by_id: dict[str, list[_Key]]) -> _Key | None:
    if turn.call_id is None:
        return next((key for key, call in opened.items() if not turn.name or call.name == turn.name), None)
    keys = by_id.get(turn.call_id, [])
    while keys and keys[-1] not in opened:
        keys.pop()
    first = len(keys) - 1
    while first > 0 and keys[first - 1][0] == keys[-1][0]:
        first -= 1
    return next((key for key in keys[first:] if key in opened), None) if keys else None


def _as_result(turn: Turn, call: ToolCall, report: Report) -> Turn:
    if turn.call_id is None:
        report.repair("a tool result without an id was taken for that of the oldest open call", turn.index)
    return replace(turn, role=TOOL, call_id=call.id, tool=call.name, rich=True)


def _answers(
    index: int, turns: list[Turn], answers: dict[_Key, int], others: list[int], report: Report, *, repair: bool
) -> list[Turn]:
    """The results that follow a turn with calls: with ``repair``, fetched from wherever they are."""
    turn, answered, missing = turns[index], [], []
    for offset, call in enumerate(turn.calls):
        there = answers.get((index, offset))
        if there is None:
            missing += _missing(turn, call, report, repair=repair)
        elif repair:
            answered.append((there, _as_result(turns[there], call, report)))
            if others[there] > others[index + 1]:
                report.repair("a tool result was moved next to its call", turns[there].index)
    return [answer for _, answer in sorted(answered, key=lambda pair: pair[0])] + missing


def _missing(turn: Turn, call: ToolCall, report: Report, *, repair: bool) -> list[Turn]:
    if not repair:
        report.add(NoteKind.WARNING, "a tool call has no result, which providers refuse", turn.index, "use repair=True")
        return []
    report.repair("a tool call without a result was given an empty, failed one", turn.index)
    return [Turn(-1, TOOL, "", tool=call.name, call_id=call.id, failed=True, rich=True)]


def _orphan(turn: Turn, report: Report, *, repair: bool, functions: bool) -> Turn:
    if functions and turn.role == FUNCTION and turn.name and not repair:
        return turn
    if turn.role == TOOL and not repair:
        sentence = "a tool result answers no call, which providers refuse"
        report.add(NoteKind.WARNING, sentence, turn.index, "use repair=True")
        return turn
    report.repair("a tool result that answers no call was sent as a user message", turn.index)
    return replace(turn, role=USER, call_id=None, name=None)


def chosen(choice: Any) -> tuple[str, str | None]:
    """A neutral tool choice as ``(mode, name)``: mode is auto, none, required or tool; the name of that tool.

    Reads ``"auto"``, ``"none"``, ``"required"`` (or ``"any"``), a tool's name, and the objects of OpenAI and Anthropic.
    Raises `UsageError` for an object that names neither a mode nor a tool.
    """
    if isinstance(choice, Mapping):
        function = choice.get("function")
        name = function.get("name") if isinstance(function, Mapping) else choice.get("name")
        if isinstance(name, str) and name:
            return "tool", scalar_text(name)
        choice = choice.get("type", "auto")
        if choice in ("function", "tool"):
            raise UsageError("tool_choice names no tool", where=Where(path="tool_choice"), hint="say its name")
    words = {"auto": "auto", "none": "none", "required": "required", "any": "required"}
    text = scalar_text(str(choice))
    return (words[text.lower()], None) if text.lower() in words else ("tool", text)


def function_choice(choice: Any) -> str | dict[str, Any]:
    """A neutral tool choice as Chat Completions has it: a mode, or the function that must be called."""
    mode, name = chosen(choice)
    return {"type": "function", "function": {"name": name}} if mode == "tool" else mode


def definition(tool: Tool) -> dict[str, Any]:
    """``{type: function, function: {name, description?, parameters, strict?}}``, and what is the tool's own."""
    own: dict[str, Any] = jsonable(tool.extra)
    inner = own.pop("function", {})
    return {"type": "function", "function": {**tool_fields(tool), **inner}, **own}


def tool_fields(tool: Tool, parameters: str = "parameters", *, strict: bool = True) -> dict[str, Any]:
    """``{name, description?, parameters, strict?}``; a tool without parameters has the schema of an empty object."""
    described = {"description": scalar_text(tool.description)} if tool.description else {}
    schema = jsonable(tool.parameters) or {"type": "object", "properties": {}}
    strictness = {"strict": tool.strict} if strict and tool.strict is not None else {}
    return {"name": scalar_text(tool.name), **described, parameters: schema, **strictness}


def own_tools(tools: Sequence[Tool], sends: Callable[[str], bool], report: Report) -> list[Tool]:
    """Tools with such fields of their own as their provider takes; what is not sent is reported."""
    own = []
    for tool in tools:
        lost = [name for name in tool.extra if not sends(name)]
        for name in lost:
            report.loss(f"{scalar_text(name)[:60]!r} of the tool {scalar_text(tool.name)[:60]!r} is not sent")
        extra = {name: value for name, value in tool.extra.items() if name not in lost}
        own.append(replace(tool, extra=extra) if lost else tool)
    _check_names(tools, report)
    return own


_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
"""Names of tools that at least one provider takes."""


def _check_names(tools: Sequence[Tool], report: Report) -> None:
    for name, count in Counter(tool.name for tool in tools).items():
        shown = repr(scalar_text(name)[:60])
        if count > 1:
            report.add(
                NoteKind.WARNING, f"{count} tools are called {shown}, which providers refuse", hint="rename all but one"
            )
        if not _NAME.fullmatch(name):
            hint = "use letters, digits, '_' and '-', up to 64 characters"
            report.add(NoteKind.WARNING, f"the tool {shown} has a name that providers refuse", hint=hint)
