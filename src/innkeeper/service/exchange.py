"""Exchange: one request and its reply as values, so that HTTP, the command line and tests ask the same surface."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

import msgspec

__all__ = ["JSON", "Reply", "Request"]

JSON = "application/json"


class Request(msgspec.Struct, frozen=True):
    """A request: ``path`` decoded, ``query`` without its question mark, ``headers`` with lower-case names."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = {}
    body: bytes = b""

    @classmethod
    def of(cls, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Request:
        """A request as it is written: ``target`` is an encoded path with its query, headers have any case."""
        path, _, query = target.partition("?")
        lower = {name.lower(): value for name, value in (headers or {}).items()}
        return cls(method, unquote(path), query, lower, body)


class Reply(msgspec.Struct, frozen=True):
    """A reply: its status, its body and the headers that are not the same for all."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    media_type: str = JSON
