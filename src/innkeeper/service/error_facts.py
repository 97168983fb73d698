"""The one table from our errors to what the model surfaces answer: an HTTP status, OpenAI's words, and whether to try again.

A provider's error keeps its meaning, except that a key of ours which a provider refuses is not the caller's: that is a 502.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.inference.errors import AnswerError, HttpError
from innkeeper.inference.reasons import Reason, reason_of
from innkeeper.inference.response.views import chat, messages
from innkeeper.inference.response.views.view import ErrorFacts
from innkeeper.operations.refusals import error_details, function_facts
from innkeeper.prompt.errors import InnkeeperError, ProviderError
from innkeeper.service.exchange import HttpReply, error_reply, internal_error, json_reply
from innkeeper.service.guard.grants import INSPECTOR, surface_of

PREFIX: Final = "/v1/"
"""What the paths of the model surfaces begin with."""

FUNCTIONS: Final = "/functions/"
"""What the paths of the document's functions begin with."""

_REASONS: Final[Mapping[Reason, tuple[int, str]]] = {
    "authentication": (502, "provider_authentication"),
    "quota": (429, "insufficient_quota"),
    "rate_limit": (429, "rate_limit_exceeded"),
    "overloaded": (503, "overloaded"),
    "context_length": (400, "context_length_exceeded"),
    "content_policy": (400, "content_policy_violation"),
    "bad_request": (400, "provider_bad_request"),
    "not_found": (404, "provider_not_found"),
    "conflict": (409, "provider_conflict"),
    "timeout": (504, "provider_timeout"),
    "connection": (502, "provider_connection"),
    "cut_stream": (502, "provider_stream_cut"),
    "bad_answer": (502, "provider_bad_answer"),
    "cancelled": (499, "cancelled"),
}
_PROVIDER: Final = (502, "provider_error")
_LASTING: Final = frozenset({"provider_authentication", "insufficient_quota"})
"""Codes of a status that clients try again by themselves, where that does not mend it."""

_TYPES: Final[Mapping[int, str]] = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES: Final = {"usage": "invalid_value", "format": "invalid_json"}
_UNREADABLE: Final = 422
_OURS: Final = 500

INTERNAL: Final = ErrorFacts(_OURS, "server_error", "internal_error", "something went wrong here; the log says where")


def facts_of(error: InnkeeperError) -> ErrorFacts:
    """An error as the model surfaces tell it. Data that cannot be read is the caller's mistake: 400, as OpenAI has it."""
    facts = error.to_dict()
    if isinstance(error, ProviderError):
        status, code = _REASONS.get(reason_of(error), _PROVIDER)
    elif isinstance(error, AnswerError):  # what a model wrote is no mistake of who asked it
        status, code = _REASONS["bad_answer"]
    else:
        status = 400 if error.http_status == _UNREADABLE else error.http_status
        code = str(error.details.get("code") or _CODES.get(facts["kind"], facts["kind"]))
    kind = _TYPES.get(status, "server_error" if status >= _OURS else "invalid_request_error")
    hint = f" ({facts['hint']})" if facts.get("hint") else ""
    return ErrorFacts(status, kind, code, f"{facts['message']}{hint}", (facts.get("where") or {}).get("path"))


def openai_error(error: InnkeeperError) -> dict[str, Any]:
    """An error as OpenAI has it."""
    return chat.envelope(facts_of(error))


def error_headers(error: InnkeeperError) -> dict[str, str]:
    """When to come back, where that is known, and that trying again is no use, where it is none."""
    headers = {}
    wait: Any = error.retry_after if isinstance(error, HttpError) else error.details.get("retry_after")
    if wait is not None:
        headers["retry-after"] = f"{wait:g}"
    if facts_of(error).code in _LASTING:
        headers["x-should-retry"] = "false"
    return headers


def service_facts(error: InnkeeperError) -> dict[str, Any]:
    """An error as OpenAI has it, with ``innkeeper.route_trace`` and the like beside it."""
    more = error_details(error)
    return {**openai_error(error), "innkeeper": more} if more else openai_error(error)


def refusal(path: str, error: InnkeeperError) -> HttpReply:
    """The reply to an error that came before any surface, in the words of the surface at this path."""
    if surface_of(path) == INSPECTOR:
        return inspector_reply(path, error)
    if path.startswith(FUNCTIONS):
        reply = json_reply(function_facts(error), facts_of(error).status)
    elif path.startswith(PREFIX):
        reply = surface_reply(path, facts_of(error))
    else:
        return error_reply(error)
    return HttpReply(reply.status, reply.body, {**error_reply(error).headers, **error_headers(error)})


def defect_reply(path: str, detail: str) -> HttpReply:
    """The reply to a defect; ``detail`` is for surfaces that tell it."""
    if path.startswith(FUNCTIONS):
        return json_reply({"success": False, "error": INTERNAL.message, "code": INTERNAL.code}, INTERNAL.status)
    if surface_of(path) == INSPECTOR:
        body = {"error": {"code": "internal", "message": "something went wrong here"}}
        return json_reply(body, INTERNAL.status)
    return surface_reply(path, INTERNAL) if path.startswith(PREFIX) else internal_error(detail)


def inspector_reply(path: str, error: InnkeeperError) -> HttpReply:
    """An error as the inspector's page shows it, and as its API tells it."""
    headers = error_reply(error).headers
    if not path.startswith(PREFIX):
        text = f"{error.message}\n{error.hint or ''}\n".encode("utf-8", "replace")
        return HttpReply(error.http_status, text, headers, "text/plain; charset=utf-8")
    from innkeeper.service.inspector.views.workspace import problem_body

    return HttpReply(error.http_status, problem_body(error), headers)


def surface_reply(path: str, facts: ErrorFacts) -> HttpReply:
    """An error in the shape of the model surface at this path."""
    write = messages.envelope if path.startswith(f"{PREFIX}messages") else chat.envelope
    return json_reply(write(facts), facts.status)
