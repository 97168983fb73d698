"""What doors say where they cannot do what a client asks: each in its protocol's words, before anything is sent."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.service import Keys, Settings, create_app

SAID: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]


def opened(*keys: str) -> TestClient:
    """A service with one route, whose provider must not be asked."""

    def nobody(request: httpx.Request) -> httpx.Response:
        raise AssertionError(request.url)

    models = RouteModels(Routes.read(("inn=http://127.0.0.1:9/v1:m",)), transport=httpx.MockTransport(nobody))
    settings = Settings(workers=1, grpc_port=None, keys=Keys(*keys))
    return TestClient(create_app(settings, models=models), base_url="http://127.0.0.1")


@pytest.fixture(scope="module")
def door() -> Iterator[TestClient]:
    """A service without keys."""
    with opened() as client:
        yield client


@pytest.fixture(scope="module")
def locked() -> Iterator[TestClient]:
    """A service with a key."""
    with opened("k-3f2c") as client:
        yield client


@pytest.mark.parametrize(
    ("field", "value", "status", "code"),
    [
        ("conversation", "conv_1", 404, "conversation_not_found"),
        ("prompt", {"id": "pmpt_1"}, 404, "prompt_not_found"),
        ("previous_response_id", "resp_1", 404, "previous_response_not_found"),
        ("background", True, 400, "unsupported"),
    ],
)
def test_what_would_be_half_a_prompt_is_refused(
    door: TestClient, field: str, value: Any, status: int, code: str
) -> None:
    """What a request refers to and is not here: no model answers without it."""
    reply = door.post("/v1/responses", json={"model": "inn", "input": "Hi", field: value})
    assert (reply.status_code, reply.json()["error"]["code"], reply.json()["error"]["param"]) == (status, code, field)


def test_errors_in_anthropics_words_have_an_id(door: TestClient) -> None:
    """Clients show ``request-id`` when something fails."""
    reply = door.post("/v1/messages", json={"model": "none", "max_tokens": 5, "messages": SAID})
    assert (reply.status_code, reply.json()["error"]["type"]) == (404, "not_found_error")
    assert reply.headers["request-id"] == reply.headers["x-request-id"]


@pytest.mark.parametrize(
    ("sent", "code"), [({"authorization": "Bearer k-3f2d"}, "invalid_api_key"), ({}, "key_missing")]
)
def test_a_wrong_key_is_not_a_missing_one(locked: TestClient, sent: dict[str, str], code: str) -> None:
    """A slip in a key is told from a key that was not sent."""
    reply = locked.post("/v1/chat/completions", json={"model": "inn", "messages": SAID}, headers=sent)
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, code)


def test_the_printed_address_says_what_is_here(door: TestClient, locked: TestClient) -> None:
    """Its models by name, unless they are for those with a key."""
    assert "inn" in door.get("/").json()["model_names"]
    assert locked.get("/").json()["model_names"] == []
