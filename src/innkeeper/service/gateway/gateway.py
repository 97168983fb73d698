"""Gateway: the surface as one function from request to reply, with no server in it.

What a request gives an operation is read as the original's gateway reads it (smarttavern reference, 8).
"""

from __future__ import annotations

import json
import logging
import re
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from innkeeper.content.errors import LIMITS, JsonError
from innkeeper.content.json.text import decode_json
from innkeeper.gate.bodies import texts_of_made
from innkeeper.gate.gate import block
from innkeeper.gate.judgement import Judgement
from innkeeper.prompt.allowance import BuildLimits, allowed
from innkeeper.prompt.errors import InnkeeperError, LimitError
from innkeeper.prompt.text import shorten
from innkeeper.service.errors import OriginRefusedError, RequestError, memory_error
from innkeeper.service.exchange import (
    JSON,
    HttpReply,
    Request,
    UnwritableError,
    error_reply,
    internal_error,
    json_reply,
)
from innkeeper.service.gateway.engine import warm
from innkeeper.service.gateway.messages import MESSAGE, MESSAGES, converse
from innkeeper.service.gateway.operation import GatewayPath, Operations
from innkeeper.service.gateway.operations import OPERATIONS
from innkeeper.service.gateway.state import AppState, GatewayCall
from innkeeper.service.gateway.system import SYSTEM
from innkeeper.service.settings import Settings
from innkeeper.tokens.table.catalogue import use_catalogue

FORM: Final = "application/x-www-form-urlencoded"
"""What ``curl -d`` announces, whatever it sends."""

_BOUNDARY: Final = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))', re.IGNORECASE)
_NAME: Final = re.compile(rb'^content-disposition:[^\r\n]*?[;\s]name="([^"\r\n]{1,200})"', re.IGNORECASE | re.MULTILINE)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MAX_FIELDS: Final = 1_000


class NotJsonError(Exception):
    """A body is not JSON, in the words of the original's parser. Stays inside the gateway."""


def arguments_of(request: Request, operation: GatewayPath, settings: Settings) -> dict[str, Any]:
    """The arguments of a call. A body that is not an object gives none.

    Raises:
        NotJsonError: the body is not JSON.
        LimitError: it is beyond a limit of JSON texts.
    """
    if request.method == "GET":
        return _query(request.query, operation, settings)
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


def _query(query: str, operation: GatewayPath, settings: Settings) -> dict[str, Any]:
    """The arguments of a query: texts, and JSON where an argument is no text."""
    known = _known(parse_qsl(query, keep_blank_values=True, max_num_fields=None)[:_MAX_FIELDS], operation)
    for problem in operation.problems(known):
        name = re.split(r"[.[]", problem.path)[0]
        with suppress(JsonError):
            known[name] = _decoded(known[name].encode("utf-8", "replace"), settings, "query")
    return known


def _decoded(text: bytes, settings: Settings, name: str) -> Any:
    limits = msgspec.structs.replace(LIMITS, json_depth=settings.max_depth, file_bytes=settings.max_body)
    return decode_json(text, limits, name=name)


def _json(body: bytes, settings: Settings) -> dict[str, Any]:
    if not body:
        return {}
    try:
        value = _decoded(body, settings, "body")
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


def _known(fields: list[tuple[str, str]], operation: GatewayPath) -> dict[str, Any]:
    named = {_HUMP.sub("_", name).replace("-", "_").lower(): value for name, value in fields}
    return {name: value for name, value in named.items() if name in operation.types}


PREFIX: Final = "/api/"
"""What operations' paths begin with."""

PROMPTS: Final = "/v1/prompts/"
"""What paths of operations on prompts begin with."""

_METHODS: Final = ("GET", "POST")
_LIGHT: Final = ("/api/health", "/api/info")


class Gateway:
    """The operations (those of the table unless others are given) of one application, whose settings say what they may do.

    What the operations need is imported now: Python raises an error where threads import parts of the same packages from two
    ends, and the call that meets it would get another answer. With ``ready`` off each call imports what it needs.
    """

    def __init__(
        self, settings: Settings | None = None, operations: Operations | None = None, *, ready: bool = True
    ) -> None:
        if ready:
            warm()
        self.state = AppState((settings or Settings()).checked(), OPERATIONS if operations is None else operations)
        if self.state.settings.catalogue is not None:
            use_catalogue(self.state.settings.catalogue)
        if ready and self.state.settings.profiles:
            from innkeeper.service.prompts.tasks import read_profiles

            read_profiles(self.state)

    def answer(self, request: Request, limits: BuildLimits | None = None) -> HttpReply:
        """The reply to any request; an unknown path is 404, another method than GET and POST 405.

        ``limits`` are what this caller's work may take at most, beside what the settings say.
        """
        path = request.path
        page = SYSTEM.get(path)
        if path == MESSAGES and request.method == MESSAGE:
            return HttpReply(200, converse(self, request.body, limits))
        if path.startswith(PROMPTS):
            from innkeeper.service.prompts.answer import answer as answer_prompts

            return answer_prompts(self.state, request, limits)
        if page is not None:
            return json_reply(page(self.state)) if request.method == "GET" else _not_allowed("GET")
        operation = self.find(path)
        if operation is None:
            return json_reply({"detail": "Not Found"}, 404)
        if request.method not in _METHODS:
            return _not_allowed(", ".join(_METHODS))
        return answer(request, operation, self.state, limits)

    def call(self, name: str, arguments: dict[str, Any], limits: BuildLimits | None = None) -> HttpReply:
        """The reply of the operation ``namespace/path`` to these arguments, at this moment and by chance."""
        return run(self.state.operations[name], GatewayCall.of(self.state, {}, limits), arguments)

    def find(self, path: str) -> GatewayPath | None:
        """The operation at ``/api/namespace/path``, or None."""
        name, operations = path.removeprefix(PREFIX), self.state.operations
        return operations[name] if path.startswith(PREFIX) and name in operations else None

    def is_light(self, path: str) -> bool:
        """Whether answering is a matter of microseconds, so that the event loop may do it itself."""
        return path in _LIGHT or (path not in SYSTEM and self.find(path) is None)


def _not_allowed(methods: str) -> HttpReply:
    return json_reply({"detail": "Method Not Allowed"}, 405, {"allow": methods})


LOG: Final = logging.getLogger("innkeeper.service")
MISSING_WORDS: Final = "缺少必填字段"
"""The original's message: required fields are missing."""

_NAME_SHOWN: Final = 80
_ORIGINAL: Final = "smarttavern"
"""The profile whose bodies are the original's, with nothing beside them."""


def answer(request: Request, operation: GatewayPath, state: AppState, limits: BuildLimits | None = None) -> HttpReply:
    """The reply to a request for an operation. Raises nothing but what is meant to end the thread."""
    if request.method == "GET" and operation.effect == "writes" and state.settings.data and not state.settings.keys:
        # A page of another origin can make an old browser send a GET that does not say where it comes from.
        return error_reply(OriginRefusedError("without a key, files are changed by POST only", hint="send a POST"))
    try:
        call = GatewayCall.of(state, request.headers, limits)
        arguments = arguments_of(request, operation, state.settings)
    except NotJsonError as error:
        return json_reply({"error": str(error)})
    except InnkeeperError as error:
        return error_reply(error)
    reply = run(operation, call, arguments)
    return msgspec.structs.replace(reply, headers={**reply.headers, **call.headers()})


def run(operation: GatewayPath, call: GatewayCall, arguments: dict[str, Any]) -> HttpReply:
    """The reply to a call with these arguments."""
    missing = [name for name in operation.required if name not in arguments]
    if missing:
        return json_reply({"error_code": "MISSING_REQUIRED", "message": MISSING_WORDS, "missing": missing}, 400)
    unknown = next((name for name in arguments if name not in operation.types), None)
    if unknown is not None:
        name = shorten(unknown, _NAME_SHOWN)
        return json_reply({"error": f"{operation.function}() got an unexpected keyword argument '{name}'"})
    problems = operation.problems(arguments)
    if problems:
        return invalid(RequestError(problems))
    return _outcome(operation, call, arguments)


def invalid(error: RequestError) -> HttpReply:
    """The reply to a request of the wrong shape."""
    body = {
        "error_code": "INVALID_REQUEST",
        "message": error.message,
        "errors": [msgspec.to_builtins(problem) for problem in error.problems],
        "problem": error.to_dict(),
    }
    return json_reply(body, 400)


def _within(reply: HttpReply, allowed: int) -> HttpReply:
    """The reply, or where it is too large the error that says so."""
    size = len(reply.body)
    if size <= allowed:
        return reply
    hint = "ask for less at once"
    return error_reply(LimitError("the reply", limit="MAX_REPLY", allowed=allowed, found=size, hint=hint))


def _outcome(operation: GatewayPath, call: GatewayCall, arguments: dict[str, Any]) -> HttpReply:
    try:
        with allowed(call.limits):
            made = operation(call, arguments)
            reply = _within(json_reply(call.explained(made)), call.state.settings.max_reply)
            if operation.operation.judged is Judgement.MADE:  # behind the writing, which finds what is no data
                block(texts_of_made(made))
    except UnwritableError as error:
        return internal_error(str(error))
    except RequestError as error:
        return invalid(error)
    except InnkeeperError as error:
        bare = call.state.settings.profile == _ORIGINAL
        return json_reply({"error": error.message} if bare else {"error": error.message, "problem": error.to_dict()})
    except MemoryError:
        return error_reply(memory_error(call.state.settings.worker_memory))
    except Exception as error:  # noqa: BLE001 - a defect of ours: the caller gets an answer all the same
        LOG.error("%s: %s", operation.name, type(error).__name__)  # noqa: TRY400 - a traceback may quote a prompt
        return internal_error(type(error).__name__)
    else:
        return reply
