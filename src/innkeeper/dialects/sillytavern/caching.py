"""Marks for the cache of Claude's provider: the parts of a prompt at which a cached prefix ends.

Counted from the end and without what the assistant said last: the first message, and each one whose role differs from the one
after it, is a turn. The turns at the depth and two further up get a mark on their last part. (sillytavern-bodies.md 5, Caching.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Message = dict[str, Any]


def mark_depths(messages: list[Message], depth: int, mark: Mapping[str, Any], *, system: bool = True) -> list[Message]:
    """The messages with a mark at ``depth`` and at the turn two before; as they are for a negative depth.

    Without ``system`` system messages are not counted. Text becomes a part where it is marked.
    """
    if depth < 0:
        return messages
    depths = set(_at_depths(messages, (depth, depth + 2), system=system))
    return [mark_last(message, mark) if index in depths else message for index, message in enumerate(messages)]


def _at_depths(messages: list[Message], depths: tuple[int, ...], *, system: bool) -> Iterator[int]:
    """The places of the messages that end the turns of these depths."""
    depth, before, prefilled = 0, "", True
    for position in range(len(messages) - 1, -1, -1):
        role = messages[position]["role"]
        if prefilled and role == "assistant":
            continue
        prefilled = False
        if role == "system" and not system:
            continue
        if role != before:
            if depth in depths:
                yield position
            if depth == max(depths):
                return
            depth, before = depth + 1, role


def mark_last(message: Message, mark: Mapping[str, Any]) -> Message:
    """The message with the mark on its last part."""
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not content:
        return message
    return {**message, "content": [*content[:-1], {**content[-1], "cache_control": dict(mark)}]}


def mark_first_system(messages: list[Message], mark: Mapping[str, Any]) -> list[Message]:
    """The messages with the mark on the first system message."""
    index = next((index for index, message in enumerate(messages) if message["role"] == "system"), None)
    if index is None:
        return messages
    return [*messages[:index], mark_last(messages[index], mark), *messages[index + 1 :]]
