"""Arguments: what a request gives an operation, read as the original's gateway reads it (smarttavern reference, 9).

A JSON body's keys are the arguments, none renamed or left out. Keys of a query or a form are put in snake case, unknown ones
left out, and values stay text. The bytes of any other body are the one required argument where there is exactly one. An
object of JSON is read as one also where no type or, as ``curl -d`` does, that of a form is announced; other web pages cannot
use this, since their requests are refused by origin.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from innkeeper.content.errors import JsonError
from innkeeper.content.json.text import decode_json
from innkeeper.content.limits import LIMITS
from innkeeper.service.exchange import JSON, Request
from innkeeper.service.gateway.operation import Operation
from innkeeper.service.settings import Settings

__all__ = ["NotJsonError", "arguments_of"]

FORM: Final = "application/x-www-form-urlencoded"
"""What ``curl -d`` announces, whatever it sends."""

_BOUNDARY: Final = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))', re.IGNORECASE)
_NAME: Final = re.compile(rb'^content-disposition:[^\r\n]*?[;\s]name="([^"\r\n]{1,200})"', re.IGNORECASE | re.MULTILINE)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MAX_FIELDS: Final = 1_000


class NotJsonError(Exception):
    """A body is not JSON, in the words of the original's parser. Stays inside the gateway."""


def arguments_of(request: Request, operation: Operation, settings: Settings) -> dict[str, Any]:
    """The arguments of a call. A body that is not an object gives none.

    Raises:
        NotJsonError: the body is not JSON.
        LimitError: it is beyond a limit of JSON texts.
    """
    if request.method == "GET":
        return _known(parse_qsl(request.query, keep_blank_values=True, max_num_fields=None)[:_MAX_FIELDS], operation)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == JSON or kind.endswith("+json"):
        return _json(request.body, settings)
    if kind == "multipart/form-data":
        return _known(_form_fields(request.body, request.headers["content-type"]), operation)
    if kind == FORM or (not kind and len(operation.required) != 1):
        arguments = _perhaps_json(request.body, settings)
        if arguments is not None:
            return arguments
    if len(operation.required) == 1 and request.body:
        return {operation.required[0]: request.body.decode("utf-8", "replace")}
    return {}


def _json(body: bytes, settings: Settings) -> dict[str, Any]:
    if not body:
        return {}
    limits = msgspec.structs.replace(LIMITS, json_depth=settings.max_depth, file_bytes=settings.max_body)
    try:
        value = decode_json(body, limits, name="body")
    except JsonError as error:
        raise NotJsonError(_original_words(body) or str(error)) from error
    return value if isinstance(value, dict) else {}


def _perhaps_json(body: bytes, settings: Settings) -> dict[str, Any] | None:
    if not body.lstrip().startswith(b"{"):
        return None
    try:
        return _json(body, settings)
    except NotJsonError:
        return None


def _original_words(body: bytes) -> str:
    """What Python's own parser says, which is what the original answers; empty where it has no complaint."""
    try:
        json.loads(body)
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""


def _form_fields(body: bytes, content_type: str) -> list[tuple[str, str]]:
    """Names and texts of a multipart form, in order; parts without a name, and what is not a form, are left out."""
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        return []
    mark = b"--" + (boundary[1] or boundary[2]).encode("latin-1", "replace")
    fields = []
    for part in body.split(mark, _MAX_FIELDS)[1:]:
        head, blank, text = part.partition(b"\r\n\r\n")
        name = _NAME.search(head)
        if blank and name:
            fields.append((name[1].decode("utf-8", "replace"), text.removesuffix(b"\r\n").decode("utf-8", "replace")))
    return fields


def _known(fields: list[tuple[str, str]], operation: Operation) -> dict[str, Any]:
    named = {_HUMP.sub("_", name).replace("-", "_").lower(): value for name, value in fields}
    return {name: value for name, value in named.items() if name in operation.types}
