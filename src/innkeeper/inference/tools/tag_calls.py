"""Tool calls that a model writes into its text: ``<tool_call>…</tool_call>``. The reading is opt-in, by a transform."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.inference.output_tags.markup import Tag, scan
from innkeeper.inference.tools.arguments import unfenced
from innkeeper.macros.verbatim import Escape, Zone, mask, unmask

__all__ = ["take_tag_calls"]

_TAG: Final = frozenset({"tool_call"})
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,127}")
_ZONES: Final = (Zone.FENCE, Zone.CODE, Zone.ESCAPE)


def take_tag_calls(message: dict[str, Any]) -> None:
    """Turn the tags in a message's text into tool calls, ``tag_call_1`` and so on, and take them out of the text.

    Inside is JSON (``name`` with ``arguments`` or ``args``, or a ``function`` with both), a name and a JSON object, or a bare
    name. Tags in code, escaped tags, tags without a call inside, and messages that have tool calls are left alone.
    """
    content = message.get("content")
    if message.get("tool_calls") or not isinstance(content, str) or "tool_call" not in content:
        return
    masked = mask(content, _ZONES, Escape.KEEP_BACKSLASH)
    kept, found = _parted(masked.text, masked.spans)
    if found:
        message["content"] = unmask(kept, masked.spans).strip()
        message["tool_calls"] = [
            {"id": f"tag_call_{number}", "type": "function", "function": function}
            for number, function in enumerate(found, 1)
        ]


def _parted(text: str, spans: tuple[tuple[str, str], ...]) -> tuple[str, list[dict[str, str]]]:
    """The text without its calls, and the calls."""
    kept: list[str] = []
    found: list[dict[str, str]] = []
    opened = -1
    for piece in scan(text, _TAG):
        kept.append(piece if isinstance(piece, str) else piece.text)
        if not isinstance(piece, Tag):
            continue
        if not piece.closing:
            opened = len(kept)
        elif opened >= 0:
            function = _function(unmask("".join(kept[opened:-1]), spans))
            if function is not None:
                found.append(function)
                del kept[opened - 1 :]
            opened = -1
    return "".join(kept), found


def _function(inside: str) -> dict[str, str] | None:
    """The name and the arguments, as text, of one call."""
    text = unfenced(inside)
    if _NAME.fullmatch(text):
        return {"name": text, "arguments": "{}"}
    name = _NAME.match(text)
    value = _json(text[name.end() :] if name else text)
    if not isinstance(value, Mapping):
        return None
    return {"name": name[0], "arguments": json.dumps(value, ensure_ascii=False)} if name else _described(value)


def _described(value: Mapping[str, Any]) -> dict[str, str] | None:
    function = value.get("function")
    if isinstance(function, Mapping):
        value = function
    name = value.get("name", function)
    if not isinstance(name, str) or not _NAME.fullmatch(name.strip()):
        return None
    arguments = value.get("arguments", value.get("args"))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {"name": name.strip(), "arguments": text}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
