"""Messages: what a WebSocket says to the gateway, and what it hears (smarttavern reference, 9).

``ping`` is answered by ``pong``, and ``function_call`` of any operation by its path with ``function_result``, whose result is
what the same call gives over HTTP. A message is handed to the gateway as a request of a method of its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.content.errors import LIMITS
from innkeeper.content.json.text import decode_json
from innkeeper.prompt.allowance import BuildLimits
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.exchange import UnwritableError, encode, error_reply

if TYPE_CHECKING:
    from innkeeper.service.gateway.gateway import Gateway


MESSAGE: Final = "MESSAGE"
"""The method of a request that is a message."""

MESSAGES: Final = "/ws"
"""Its path."""

PING: Final = frozenset({b'{"type":"ping"}', b'{"type": "ping"}'})
"""Pings as clients write them, which need no parser."""

PONG: Final = b'{"type":"pong"}'

_NAMESPACES: Final = ("", "modules/", "workflow/", "plugins/")
_FAILED: Final = frozenset({"error", "problem"})


def converse(gateway: Gateway, data: bytes, most: BuildLimits | None = None) -> bytes:
    """The answer to one message, whose work may take what ``most`` says. Raises nothing."""
    settings = gateway.state.settings
    limits = msgspec.structs.replace(LIMITS, json_depth=settings.max_depth, file_bytes=settings.max_body)
    try:
        message = decode_json(data, limits, name="message")
    except InnkeeperError as error:
        return encode({**_error("INVALID_JSON", str(error)), "problem": error.to_dict()})
    if not isinstance(message, dict):
        return encode(_error("INVALID_MESSAGE", "a message is an object with a type"))
    if message.get("type") == "ping":
        return PONG
    if message.get("type") == "function_call":
        return _call(gateway, message.get("function"), message.get("params"), most)
    return encode(_error("UNKNOWN_TYPE", "types are ping and function_call"))


def failed(error: InnkeeperError) -> bytes:
    """The answer to a message that no operation has seen, since the service could not take it."""
    return _result(None, b"false", b"error", error_reply(error).body)


def _call(gateway: Gateway, function: Any, params: Any, most: BuildLimits | None) -> bytes:
    try:
        if not isinstance(function, str) or "." in function or "\\" in function:
            return _result(function, b"false", b"error", b'"FUNCTION_PATH_FORMAT"')
        name = function.strip("/")
        path = next(
            (namespace + name for namespace in _NAMESPACES if namespace + name in gateway.state.operations), None
        )
        if path is None:
            return _result(function, b"false", b"error", b'"NOT_FOUND"')
    except UnwritableError as error:
        return encode(_error("INVALID_MESSAGE", str(error)))
    reply = gateway.call(path, params if isinstance(params, dict) else {}, most)
    if reply.status == 200 and not _is_error(reply.body):  # noqa: PLR2004 - done
        return _result(function, b"true", b"result", reply.body)
    return _result(function, b"false", b"error", reply.body)


def _is_error(body: bytes) -> bool:
    """Whether a reply is an operation's refusal: an object with an error, and nothing beside what explains it."""
    return body.startswith(b'{"error"') and set(json.loads(body)) <= _FAILED


def _result(function: Any, success: bytes, kind: bytes, body: bytes) -> bytes:
    return b'{"type":"function_result","function":%b,"success":%b,"%b":%b}' % (encode(function), success, kind, body)


def _error(code: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error_code": code, "message": message}
