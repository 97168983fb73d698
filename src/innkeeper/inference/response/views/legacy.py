"""The answer as the prompt flow's document draws it: blocks ``output_text`` and ``tool_call``, and three figures of usage.

A call has its ``call_id``, without which its result could not be returned; arguments that are no JSON object keep their text as
``arguments_raw``. Usage is null where the provider tells none.
"""

from __future__ import annotations

import json
from typing import Any, Final

from innkeeper.inference.response.response import CallItem, MessageItem, ModelResponse, RefusalPart, TextPart
from innkeeper.inference.response.views.view import others

_FIGURES: Final = ("input_tokens", "output_tokens", "total_tokens")


def whole(response: ModelResponse) -> dict[str, Any]:
    """The document's ``response``. A refusal's words are an ``output_text``."""
    usage = response.usage
    return {
        "id": response.id.removeprefix("resp_"),
        "object": "response",
        "model": response.model,
        "created": response.created,
        "output": [block for item in response.output for block in _blocks(item)],
        "usage": None if usage is None else {name: usage.to_dict()[name] for name in _FIGURES},
    }


def left_out(response: ModelResponse) -> list[str]:
    """What of an answer the document has no block for, a sentence each."""
    thoughts = ["thoughts are not carried"] if response.reasoning else []
    return [*thoughts, *others(response)]


def _blocks(item: Any) -> list[dict[str, Any]]:
    if isinstance(item, MessageItem):
        return [{"type": "output_text", "text": _words(part)} for part in item.content]
    return [_call(item)] if isinstance(item, CallItem) else []


def _words(part: TextPart | RefusalPart) -> str:
    return part.refusal if isinstance(part, RefusalPart) else part.text


def _call(call: CallItem) -> dict[str, Any]:
    arguments = arguments_of(call.arguments)
    parsed = {"arguments_raw": call.arguments} if arguments is None else {"arguments": arguments}
    return {"type": "tool_call", "tool_call": {"name": call.name, **parsed}, "call_id": call.call_id}


def arguments_of(text: str) -> dict[str, Any] | None:
    """The arguments of a call as an object, an empty one for no text at all; None for what is no JSON object."""
    try:
        arguments = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None
