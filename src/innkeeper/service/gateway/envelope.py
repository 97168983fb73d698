"""The envelope: how a call's outcome becomes a status and a body (smarttavern reference, 9).

====================================  ======  ===============================================================
what happened                         status  body
====================================  ======  ===============================================================
the operation returned                200     what it returned
it raised                             200     ``{error, problem}``: the text, and the error as it shows everywhere;
                                              with the profile ``smarttavern`` as in the original ``{error}``
the body is no JSON, or has a key     200     ``{error}``
the operation does not know
required arguments are missing        400     ``{error_code: MISSING_REQUIRED, message, missing}``
an argument has the wrong shape       400     ``{error_code: INVALID_REQUEST, message, errors, problem}``
a limit                               413     ``{error_code, message, problem}``
the result has no JSON form           500     ``{error_code: INTERNAL_ERROR, message, detail}``
====================================  ======  ===============================================================
"""

from __future__ import annotations

import logging
from typing import Any, Final

import msgspec

from innkeeper.prompt.display import shorten
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.errors import OriginRefusedError, RequestError
from innkeeper.service.exchange import Reply, Request
from innkeeper.service.gateway.arguments import NotJsonError, arguments_of
from innkeeper.service.gateway.house import Call, House
from innkeeper.service.gateway.operation import Operation
from innkeeper.service.gateway.validation import problems
from innkeeper.service.render import UnwritableError, error_facts, error_reply, json_reply

__all__ = ["answer", "run"]

LOG: Final = logging.getLogger("innkeeper.service")
MISSING_WORDS: Final = "缺少必填字段"
"""The original's message: required fields are missing."""

_NAME_SHOWN: Final = 80
_ORIGINAL: Final = "smarttavern"
"""The profile whose bodies are the original's, with nothing beside them."""


def answer(request: Request, operation: Operation, house: House) -> Reply:
    """The reply to a request for an operation. Raises nothing but what is meant to end the thread."""
    if request.method == "GET" and operation.effect == "writes" and house.settings.data and not house.settings.keys:
        # A page of another origin can make an old browser send a GET that does not say where it comes from.
        return error_reply(OriginRefusedError("without a key, files are changed by POST only", hint="send a POST"))
    try:
        call = Call.of(house, request.headers)
        arguments = arguments_of(request, operation, house.settings)
    except NotJsonError as error:
        return json_reply({"error": str(error)})
    except InnkeeperError as error:
        return error_reply(error)
    reply = run(operation, call, arguments)
    return msgspec.structs.replace(reply, headers={**reply.headers, **call.recorded()})


def run(operation: Operation, call: Call, arguments: dict[str, Any]) -> Reply:
    """The reply to a call with these arguments."""
    missing = [name for name in operation.required if name not in arguments]
    if missing:
        return json_reply({"error_code": "MISSING_REQUIRED", "message": MISSING_WORDS, "missing": missing}, 400)
    unknown = next((name for name in arguments if name not in operation.arguments), None)
    if unknown is not None:
        name = shorten(unknown, _NAME_SHOWN)
        return json_reply({"error": f"{operation.function}() got an unexpected keyword argument '{name}'"})
    wrong = problems(arguments, operation.input_schema)
    if wrong:
        return invalid(RequestError(wrong))
    return _outcome(operation, call, arguments)


def invalid(error: RequestError) -> Reply:
    """The reply to a request of the wrong shape."""
    body = {
        "error_code": "INVALID_REQUEST",
        "message": error.message,
        "errors": [msgspec.to_builtins(problem) for problem in error.problems],
        "problem": error_facts(error),
    }
    return json_reply(body, 400)


def _outcome(operation: Operation, call: Call, arguments: dict[str, Any]) -> Reply:
    try:
        return json_reply(call.explained(operation(call, arguments)))
    except UnwritableError as error:
        return _internal(str(error))
    except RequestError as error:
        return invalid(error)
    except InnkeeperError as error:
        return json_reply(_told(error, call))
    except Exception as error:  # noqa: BLE001 - a defect of ours, or memory: the caller gets an answer all the same
        LOG.error("%s: %s", operation.name, type(error).__name__)  # noqa: TRY400 - a traceback may quote a prompt
        return _internal(type(error).__name__)


def _told(error: InnkeeperError, call: Call) -> dict[str, Any]:
    facts = error_facts(error)
    told = {"error": facts["message"]}
    return told if call.house.settings.profile == _ORIGINAL else {**told, "problem": facts}


def _internal(detail: str) -> Reply:
    body = {"error_code": "INTERNAL_ERROR", "message": "Internal Server Error", "detail": detail}
    return json_reply(body, 500)
