"""Frames: what the server and its workers say to each other, over a socket.

A frame is two lengths, a head in MessagePack, and a body of raw bytes, which is never looked into on the way.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from innkeeper.prompt.allowance import BuildLimits
from innkeeper.service.exchange import JSON

__all__ = ["LENGTHS", "Born", "Done", "Task", "frame"]

LENGTHS: Final = struct.Struct("<II")
"""How a frame begins: the bytes of its head and of its body."""

_LARGE: Final = 64 * 1024


class Task(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The head of a call: its request without the body, what the application keeps, where changed, and what it may take."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    macros: dict[str, str] | None = None
    sockets: int = 0
    limits: BuildLimits | None = None


class Done(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The head of a reply. ``macros`` are what the call changed them to; ``last``: this process takes no more calls."""

    status: int
    headers: dict[str, str]
    media_type: str = JSON
    macros: dict[str, str] | None = None
    last: bool = False


class Born(msgspec.Struct, frozen=True, array_like=True):
    """The head of a process's first frame."""

    pid: int


def frame(head: msgspec.Struct, body: bytes = b"") -> tuple[bytes, ...]:
    """A frame as it travels: in one piece, or two where the body is too large to copy for nothing."""
    packed = msgspec.msgpack.encode(head)
    start = LENGTHS.pack(len(packed), len(body)) + packed
    return (start + body,) if len(body) < _LARGE else (start, body)
