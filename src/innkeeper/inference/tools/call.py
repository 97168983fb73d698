"""ToolCall: one call of a model's answer, with an id that is never blank and never there twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from innkeeper.prompt.frozen import EMPTY, FrozenDict, freeze, thaw

__all__ = ["ToolCall", "calls_of"]


class ToolCall(msgspec.Struct, frozen=True):
    """``arguments`` are as the model wrote them; ``extra`` is what else its provider put beside them (signatures)."""

    id: str
    name: str
    arguments: Any = None
    extra: FrozenDict = EMPTY

    def to_dict(self) -> dict[str, Any]:
        """The call as a message holds it."""
        arguments = "{}" if self.arguments is None else thaw(self.arguments)
        function = {"name": self.name, "arguments": arguments}
        return {**thaw(self.extra), "id": self.id, "type": "function", "function": function}


def calls_of(raw: Any) -> tuple[ToolCall, ...]:
    """The calls of a message's ``tool_calls``: a list, or a single call. What is no call is passed over.

    Ids are stripped; a blank one becomes ``tc_N`` (N counts from 1), a repeated one ``id__2``, ``id__3``.
    """
    items = [raw] if isinstance(raw, Mapping) else raw if isinstance(raw, (list, tuple)) else []
    calls: list[ToolCall] = []
    taken: set[str] = set()
    for number, item in enumerate((item for item in items if isinstance(item, Mapping)), 1):
        name = _unused(_text(item.get("id")) or f"tc_{number}", taken)
        taken.add(name)
        calls.append(_call(name, item))
    return tuple(calls)


def _call(name: str, item: Mapping[str, Any]) -> ToolCall:
    function = item.get("function")
    function = function if isinstance(function, Mapping) else {}
    extra = {key: value for key, value in item.items() if key not in {"id", "type", "function", "index"}}
    return ToolCall(name, _text(function.get("name")), freeze(function.get("arguments")), freeze(extra))


def _unused(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}__{number}"
    return candidate


def _text(value: Any) -> str:
    return str(value).strip() if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
