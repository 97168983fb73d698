"""Reasons: one short list of why a call fails, whatever words, statuses and sentences a provider says it in."""

import json
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.client.endpoint import Endpoint, error_of, raise_for_status
from innkeeper.inference.errors import (
    DecodeError,
    HttpError,
    ProviderConnectionError,
    ProviderTimeoutError,
    RequestCancelledError,
    StreamCutError,
)
from innkeeper.inference.reasons import Reason, reason_of
from innkeeper.prompt import LimitError

ENDPOINT = Endpoint.of({"base_url": "http://provider", "api_key": ""}, None)


def failure(status: int, body: Any) -> HttpError:
    """The error of an answer with this status and body."""
    with pytest.raises(HttpError) as caught:
        raise_for_status(status, {}, json.dumps(body).encode(), ENDPOINT)
    return caught.value


@dataclass(frozen=True)
class Case:
    status: int
    body: Any
    reason: Reason


def openai(message: str, **facts: Any) -> dict[str, Any]:
    """An error body as OpenAI has it."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **facts}}


def anthropic(kind: str, message: str = "No.") -> dict[str, Any]:
    """An error body as Anthropic has it."""
    return {"type": "error", "error": {"type": kind, "message": message}}


def google(status: str, message: str = "No.", code: int = 400, **facts: Any) -> dict[str, Any]:
    """An error body as Google has it."""
    return {"error": {"code": code, "message": message, "status": status, **facts}}


BAD_KEY = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."

CASES = {
    "openai_key": Case(401, openai("Incorrect API key provided", code="invalid_api_key"), "authentication"),
    "openai_region": Case(403, openai("Not here", code="unsupported_country_region_territory"), "authentication"),
    "openai_rate": Case(429, openai("Rate limit reached", type="requests", code="rate_limit_exceeded"), "rate_limit"),
    "openai_quota": Case(429, openai("You exceeded your current quota", code="insufficient_quota"), "quota"),
    "openai_long": Case(400, openai(LONG, code="context_length_exceeded"), "context_length"),
    "openai_policy": Case(400, openai("No.", code="content_policy_violation"), "content_policy"),
    "openai_bad": Case(400, openai("Unknown parameter: 'x'", code="unknown_parameter"), "bad_request"),
    "openai_model": Case(404, openai("The model does not exist", code="model_not_found"), "not_found"),
    "openai_server": Case(500, openai("The server had an error", type="server_error"), "server"),
    "openai_overload": Case(503, openai("Slow down", code="slow_down"), "rate_limit"),
    "azure_policy": Case(400, openai("No.", code="content_filter"), "content_policy"),
    "anthropic_key": Case(401, anthropic("authentication_error", "invalid x-api-key"), "authentication"),
    "anthropic_permission": Case(403, anthropic("permission_error"), "authentication"),
    "anthropic_credit": Case(400, anthropic("invalid_request_error", "Your credit balance is too low"), "quota"),
    "anthropic_long": Case(
        400, anthropic("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), "context_length"
    ),
    "anthropic_large": Case(413, anthropic("request_too_large"), "context_length"),
    "anthropic_rate": Case(429, anthropic("rate_limit_error"), "rate_limit"),
    "anthropic_overload": Case(529, anthropic("overloaded_error"), "overloaded"),
    "anthropic_server": Case(500, anthropic("api_error"), "server"),
    "anthropic_late": Case(504, anthropic("timeout_error"), "timeout"),
    "google_key": Case(400, google("INVALID_ARGUMENT", details=BAD_KEY), "authentication"),
    "google_long": Case(
        400, google("INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens allowed (8)."),
        "context_length",
    ),
    "google_rate": Case(429, google("RESOURCE_EXHAUSTED", code=429), "rate_limit"),
    "google_overload": Case(503, google("UNAVAILABLE", "The model is overloaded.", 503), "overloaded"),
    "google_in_a_list": Case(404, [google("NOT_FOUND", code=404)], "not_found"),
    "google_late": Case(504, google("DEADLINE_EXCEEDED", code=504), "timeout"),
    "openrouter_credit": Case(402, {"error": {"message": "Insufficient credits", "code": 402}}, "quota"),
    "openrouter_policy": Case(403, {"error": {"message": "Flagged by moderation", "code": 403}}, "content_policy"),
    "ollama_model": Case(404, {"error": "model 'x' not found"}, "not_found"),
    "llamacpp_long": Case(
        400,
        {"error": {"code": 400, "message": "it exceeds the available context size", "type": "exceed_context_size_error"}},
        "context_length",
    ),
    "vllm_long": Case(400, {"object": "error", "message": LONG, "type": "BadRequestError", "code": 400}, "context_length"),
    "koboldcpp_busy": Case(503, {"detail": {"msg": "Server is busy", "type": "service_unavailable"}}, "overloaded"),
    "mistral_detail": Case(422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request"),
    "a_page": Case(502, "<html>", "server"),
    "408": Case(408, None, "timeout"),
    "409": Case(409, None, "conflict"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_reason(case: Case) -> None:
    """Each provider's way of saying it is one reason."""
    assert reason_of(failure(case.status, case.body)) == case.reason


@pytest.mark.parametrize(
    "case", [case for case in CASES.values() if isinstance(case.body, dict) and "error" in case.body]
)
def test_reason_in_a_success(case: Case) -> None:
    """The same words in an answer with a success status have the same reason, where words tell it."""
    error = error_of(case.body, ENDPOINT)
    assert error is not None
    if reason_of(error) != case.reason:
        assert reason_of(error) in {"server", "bad_request", "unknown"}


ERRORS: dict[Reason, BaseException] = {
    "connection": ProviderConnectionError("x"),
    "cut_stream": StreamCutError("x"),
    "timeout": ProviderTimeoutError("x", phase="read"),
    "bad_answer": DecodeError("x"),
    "cancelled": RequestCancelledError("x"),
    "too_large": LimitError("x", limit="L", allowed=1),
    "unknown": KeyError("x"),
}


@pytest.mark.parametrize("reason", ERRORS)
def test_errors_without_words(reason: Reason) -> None:
    """Errors that no provider words have reasons, too."""
    assert reason_of(ERRORS[reason]) == reason


NAMES = st.sampled_from(["error", "code", "type", "status", "details", "message", "reason"])
BODIES = st.recursive(
    st.none() | st.text(max_size=9) | st.integers(),
    lambda inner: st.dictionaries(NAMES, inner | st.lists(inner, max_size=2), max_size=3),
    max_leaves=6,
)


@given(status=st.integers(300, 599), body=BODIES)
def test_every_error_has_a_reason(status: int, body: Any) -> None:
    """Whatever an error body holds, there is a reason of the list."""
    assert reason_of(failure(status, body)) in get_args(Reason)


DELAY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36.5s"}


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "3"}, None, 3.0),
        ({"retry-after": "3", "retry-after-ms": "250"}, None, 0.25),
        ({}, google("RESOURCE_EXHAUSTED", details=[BAD_KEY[0], DELAY]), 36.5),
        ({}, [google("RESOURCE_EXHAUSTED", details=[DELAY])], 36.5),
        ({"retry-after": "soon"}, google("RESOURCE_EXHAUSTED", details=[{"retryDelay": "soon"}]), None),
        ({}, None, None),
    ],
    ids=["header", "milliseconds", "google", "google_in_a_list", "nonsense", "nothing"],
)
def test_how_long_to_wait(headers: dict[str, str], body: Any, seconds: float | None) -> None:
    """Each provider's way of saying how long is one number of seconds."""
    assert HttpError("no", status=429, headers=headers, sample="", body=body).retry_after == seconds
