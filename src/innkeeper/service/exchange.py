"""One request and its reply as values, so that HTTP, the command line and tests ask the same surface.

Values and errors are rendered here as the bodies of replies. This is the one place where an error becomes an HTTP status.

Between the server and its workers both travel as frames (`innkeeper.processes.child`). Their heads are
`WorkerTask` and `WorkerReply`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from innkeeper.prompt.allowance import BuildLimits
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.text import scalar_text

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


class HttpReply(msgspec.Struct, frozen=True):
    """A reply: its status, its body and the headers that are not the same for all."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    media_type: str = JSON


class UnwritableError(Exception):
    """A value that JSON has no form for; the text says why. Stays inside: callers get a reply that says so."""


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpReply:
    """A reply with ``value`` as its body. Raises `UnwritableError`."""
    return HttpReply(status, encode(value), headers or {})


def encode(value: Any) -> bytes:
    """``value`` as the bytes every door gives: UTF-8, no blanks, keys in their order; lone surrogates become U+FFFD.

    What is not data (a function that was stored in a variable) becomes an empty object, as the original's framework has it.

    Raises:
        UnwritableError: NaN, an infinity, a cycle, too deep a nesting, or a number too long to write.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_data)
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error).partition(": ")[0]  # from Python 3.13 on it names the number
        raise UnwritableError(reason or type(error).__name__) from error
    return scalar_text(text).encode()


def error_reply(error: InnkeeperError, *, code: str | None = None) -> HttpReply:
    """A reply for an error of the service itself, with its HTTP status; ``problem`` is the error as it shows everywhere."""
    facts = error.to_dict()
    body = {"error_code": code or facts["kind"].upper(), "message": facts["message"], "problem": facts}
    return HttpReply(error.http_status, encode(body), _headers(error))


def internal_error(detail: str) -> HttpReply:
    """The reply to a defect: ``detail`` names the kind of the error, never its text, which may quote a prompt."""
    body = {"error_code": "INTERNAL_ERROR", "message": "Internal Server Error", "detail": detail}
    return json_reply(body, 500)


def _headers(error: InnkeeperError) -> dict[str, str]:
    headers = {}
    if "retry_after" in error.details:
        headers["retry-after"] = str(error.details["retry_after"])
    if error.http_status == 401:  # noqa: PLR2004 - the status that asks for a key
        headers["www-authenticate"] = "Bearer"
    return headers


def _data(value: Any) -> Any:
    try:
        return msgspec.to_builtins(value, str_keys=True)
    except (TypeError, ValueError, RecursionError):
        return {}


class WorkerTask(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The head of a call: its request without the body, what the application keeps, where changed, and what it may take."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    macros: dict[str, str] | None = None
    sockets: int = 0
    limits: BuildLimits | None = None


class WorkerReply(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The head of a reply. ``macros`` are what the call changed them to; ``last``: this process takes no more calls."""

    status: int
    headers: dict[str, str]
    media_type: str = JSON
    macros: dict[str, str] | None = None
    last: bool = False


class WorkerStarted(msgspec.Struct, frozen=True, array_like=True):
    """The head of a process's first frame."""

    pid: int
