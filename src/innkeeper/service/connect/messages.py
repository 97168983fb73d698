"""The messages of ``prompt.v1`` as bytes, and the codes of its errors: JSON or protobuf on the wire, plain data inside.

``prompt.proto`` is for foreign clients; ``prompt.binpb`` is the same, compiled, and what is read and written here. JSON has its
names or their lowerCamelCase on the way in; on the way out it is what the document draws: snake_case, ``created`` as a number.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

import msgspec

from innkeeper.content.errors import LIMITS, JsonError
from innkeeper.content.json.text import decode_json
from innkeeper.prompt.errors import FormatError, InnkeeperError, Where
from innkeeper.prompt.typed.once import once
from innkeeper.service.errors import MAX_DEPTH

LOG: Final = logging.getLogger("innkeeper.service")

SERVICE: Final = "prompt.v1.PromptService"
REQUEST: Final = "prompt.v1.PromptRunRequest"
RESPONSE: Final = "prompt.v1.PromptRunResponse"
EVENT: Final = "prompt.v1.PromptRunEvent"

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ASSET: Final = "request"


@once
def pool() -> Any:
    """The compiled messages, in a pool of their own."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    compiled = files("innkeeper.service.connect").joinpath("prompt.binpb").read_bytes()
    made = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(compiled).file:
        made.Add(file)
    return made


def _message(name: str) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(pool().FindMessageTypeByName(name))()


def read_json(body: bytes, *, max_bytes: int) -> dict[str, Any]:
    """A request in JSON as data. Raises `FormatError` for what is no object, `LimitError` beyond a limit of JSON texts."""
    limits = msgspec.structs.replace(LIMITS, json_depth=MAX_DEPTH, file_bytes=max_bytes)
    try:
        value = decode_json(body, limits, name=_ASSET)
    except JsonError as error:
        raise FormatError(f"the request is not JSON: {error.message}", where=error.where) from error
    if not isinstance(value, Mapping):
        raise FormatError("the request is not a JSON object", where=Where(asset=_ASSET))
    return {_HUMP.sub("_", name).lower(): part for name, part in value.items()}


def read_proto(body: bytes, name: str = REQUEST) -> dict[str, Any]:
    """A message in protobuf as data: fields by their names, absent ones left out. Raises `FormatError`."""
    from google.protobuf import json_format
    from google.protobuf.message import DecodeError

    message = _message(name)
    try:
        message.ParseFromString(body)
        data: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    except (DecodeError, json_format.Error, ValueError, RecursionError) as error:
        raise FormatError(f"the message is not a {name}", where=Where(asset=_ASSET)) from error
    return {field: _whole(value) for field, value in data.items()}


def _whole(value: Any) -> Any:
    """Numbers of a protobuf Value as they were meant: it has none but floats."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(part) for name, part in value.items()}
    return [_whole(part) for part in value] if isinstance(value, list) else value


def write_json(data: Mapping[str, Any]) -> bytes:
    """A message as JSON."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=dict).encode("utf-8", "replace")


def write_proto(data: Mapping[str, Any], name: str) -> bytes:
    """A message as protobuf; what it has no field for is left out, since JSON is the whole answer."""
    from google.protobuf import json_format

    message = json_format.ParseDict(json.loads(write_json(data)), _message(name), ignore_unknown_fields=True)
    written: bytes = message.SerializeToString(deterministic=True)
    return written


CODES: Final[Mapping[int, str]] = {
    400: "invalid_argument",
    401: "unauthenticated",
    403: "permission_denied",
    404: "not_found",
    408: "deadline_exceeded",
    409: "aborted",
    413: "resource_exhausted",
    415: "invalid_argument",
    422: "invalid_argument",
    429: "resource_exhausted",
    431: "resource_exhausted",
    499: "canceled",
    501: "unimplemented",
    502: "unavailable",
    503: "unavailable",
    504: "deadline_exceeded",
}
"""By the ``http_status`` of an error; any other is ``internal``."""


def status_of(error: Exception) -> tuple[str, str]:
    """The code of an error (one word of Connect, which is also gRPC's), and its text.

    A defect of ours tells its kind alone, since its text may quote a prompt.
    """
    if isinstance(error, InnkeeperError):
        hint = f" ({error.hint})" if error.hint else ""
        return CODES.get(error.http_status, "internal"), error.message + hint
    LOG.error("%s: internal error: %s", SERVICE, type(error).__name__)
    return "internal", f"internal error: {type(error).__name__}"
