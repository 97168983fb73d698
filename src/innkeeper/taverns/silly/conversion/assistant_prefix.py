"""A last assistant message marked as the beginning of the reply.

(Vectors ``converters``, function ``assistant_prefix``.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innkeeper.taverns.silly.conversion.talk import Message

__all__ = ["mark_prefix"]


def mark_prefix(messages: list[Message], tools: Sequence[Any] = (), field: str = "prefix") -> list[Message]:
    """The messages with ``field`` true on the last one where it is the assistant's; as they are where tools play a part."""
    if tools or not messages or messages[-1]["role"] != "assistant":
        return messages
    if any(message["role"] == "tool" for message in messages):
        return messages
    return [*messages[:-1], {**messages[-1], field: True}]
