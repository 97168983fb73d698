"""The one table from our errors to what the model surfaces answer."""

import json

import pytest

from innkeeper.inference.errors import (
    AnswerError,
    DecodeError,
    HttpError,
    ProviderConnectionError,
    ProviderTimeoutError,
    StreamCutError,
)
from innkeeper.inference.routing.models import ModelNotFoundError
from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError, UsageError, Where
from innkeeper.service.error_facts import INTERNAL, defect_reply, error_headers, facts_of, refusal
from innkeeper.service.errors import KeyMissingError, OverloadError


def http(status: int, **headers: str) -> HttpError:
    """What a provider answered."""
    return HttpError(
        "no", status=status, headers={name.replace("_", "-"): it for name, it in headers.items()}, sample=""
    )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (UsageError("no", where=Where(path="n")), (400, "invalid_request_error", "invalid_value", "n")),
        (FormatError("not JSON"), (400, "invalid_request_error", "invalid_json", None)),
        (LimitError("a body", limit="MAX", allowed=1), (413, "invalid_request_error", "limit", None)),
        (ModelNotFoundError("x"), (404, "invalid_request_error", "model_not_found", "model")),
        (KeyMissingError("no key"), (401, "authentication_error", "key_missing", None)),
        (OverloadError("calls", limit="MAX_CALLS", allowed=1), (503, "server_error", "overload", None)),
        (http(401), (502, "server_error", "provider_authentication", None)),
        (http(429), (429, "rate_limit_error", "rate_limit_exceeded", None)),
        (http(402), (429, "rate_limit_error", "insufficient_quota", None)),
        (http(529), (503, "server_error", "overloaded", None)),
        (http(500), (502, "server_error", "provider_error", None)),
        (http(400), (400, "invalid_request_error", "provider_bad_request", None)),
        (ProviderTimeoutError("late", phase="read"), (504, "server_error", "provider_timeout", None)),
        (ProviderConnectionError("no line"), (502, "server_error", "provider_connection", None)),
        (StreamCutError("cut"), (502, "server_error", "provider_stream_cut", None)),
        (DecodeError("what?"), (502, "server_error", "provider_bad_answer", None)),
        (AnswerError("no JSON", code="EMPTY"), (502, "server_error", "provider_bad_answer", None)),
    ],
    ids=lambda it: type(it).__name__ if isinstance(it, InnkeeperError) else "",
)
def test_facts(error: InnkeeperError, expected: tuple[int, str, str, str | None]) -> None:
    """Status, type, code and field of an error; a provider's keeps its meaning, but for a key of ours that it refuses."""
    facts = facts_of(error)
    assert (facts.status, facts.type, facts.code, facts.param) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (http(429, retry_after="7"), {"retry-after": "7"}),
        (http(429), {}),
        (http(401), {"x-should-retry": "false"}),
        (OverloadError("calls", limit="MAX_CALLS", allowed=1, retry_after=1), {"retry-after": "1"}),
    ],
    ids=["passed on", "not said", "no use", "ours"],
)
def test_headers(error: InnkeeperError, expected: dict[str, str]) -> None:
    """When to come back is passed on; what waiting does not mend says so."""
    assert error_headers(error) == expected


def test_refusals_have_the_surface_s_shape() -> None:
    """The guard's errors are told as each surface tells its own."""
    error = KeyMissingError("no key")
    bodies = {path: json.loads(refusal(path, error).body) for path in ("/v1/models", "/v1/messages", "/api/info")}
    assert bodies["/v1/models"]["error"]["code"] == "key_missing"
    assert bodies["/v1/messages"]["error"]["type"] == "authentication_error"
    assert bodies["/api/info"]["error_code"] == "KEY_MISSING"
    assert refusal("/v1/models", error).headers["www-authenticate"] == "Bearer"


def test_defects_tell_nothing() -> None:
    """A defect of ours is a 500 that quotes nothing."""
    reply = defect_reply("/v1/chat/completions", "ValueError")
    assert (reply.status, json.loads(reply.body)["error"]["message"]) == (500, INTERNAL.message)
    assert json.loads(defect_reply("/api/x", "ValueError").body)["detail"] == "ValueError"


def test_functions_have_their_own_words() -> None:
    """What is refused before a function sees it is told as functions tell it; so is a defect."""
    path = "/functions/v1/enhance-prompt"
    told = refusal(path, OverloadError("calls", limit="MAX_CALLS", allowed=1, retry_after=2))
    body = json.loads(told.body)
    assert (told.status, body["success"], body["code"], body["limit"]) == (503, False, "overload", "MAX_CALLS")
    assert told.headers["retry-after"] == "2"
    missing = refusal(path, KeyMissingError("no key"))
    assert (missing.status, json.loads(missing.body)["success"]) == (401, False)
    defect = defect_reply(path, "KeyError")
    assert (defect.status, json.loads(defect.body)["code"]) == (500, "internal_error")
