"""Tokens that are kept free for the definitions of tools, as SillyTavern keeps them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from innkeeper.prompt.frozen import thaw

__all__ = ["tool_tokens"]

FRAME: Final = 6
"""Tokens kept where tools may be called, even when none is offered (measured on SillyTavern 1.19)."""

OFFER: Final = 8
"""Tokens more when any is offered (measured on SillyTavern 1.19)."""

_SENT: Final = ("name", "description", "parameters")


def tool_tokens(tools: Sequence[Mapping[str, Any]], count: Callable[[Mapping[str, Any]], int]) -> int:
    """What is kept: a frame, and each definition as JSON. ``count`` counts a message."""
    empty = count({"role": "", "content": ""})
    each = sum(count({"role": "", "content": _written(tool)}) - empty for tool in tools)
    return FRAME + (OFFER if tools else 0) + each


def _written(tool: Mapping[str, Any]) -> str:
    fields = tool.get("function", tool)
    sent = {name: thaw(fields[name]) for name in _SENT if name in fields} if isinstance(fields, Mapping) else {}
    return json.dumps({"type": "function", "function": sent}, ensure_ascii=False, separators=(",", ":"), default=str)
