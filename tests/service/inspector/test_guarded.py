"""The limits of a key hold in the inspector beside a service, and its calls are logged as all others are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.service.app import create_app
from innkeeper.service.errors import MAX_GUESSES, GuessLimitError
from innkeeper.service.guard.accounts import read_prices
from innkeeper.service.guard.application import guarded_application
from innkeeper.service.guard.grants import Grant, Keys
from innkeeper.service.guard.work import SOCKET, SWITCHED, CallRecord, Gate
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.server import entrance
from innkeeper.service.inspector.surface import Inspector
from innkeeper.service.inspector.talking import InspectorTalk
from innkeeper.service.settings import Settings
from tests.service.inspector.opened import BASE, example_session, session_of

HEADERS = {"authorization": "Bearer k"}


class Service:
    """A service with an inspector beside it, two routes, and a key."""

    def __init__(self, **grant: Any) -> None:
        self.models: list[str] = []
        self.records: list[CallRecord] = []
        settings = Settings(keys=Keys("k", grants={"k": Grant(**grant)}))
        prices = read_prices(("*=1000000,1000000",))
        self.gate = Gate(calls=4, volume=2**20, keys=settings.keys, prices=prices)
        self.gate.observers = (self.records.append,)
        routes = Routes.read(("cheap=http://127.0.0.1:9:small", "dear=http://127.0.0.1:9:huge"))
        models = RouteModels(routes, transport=httpx.MockTransport(self._provide))
        self.inspector = Inspector(example_session(), Access(), InspectorTalk(models, "cheap"))
        app = guarded_application(self.inspector.routes, settings, self.gate, access=self.inspector.access)
        self.client = TestClient(app, base_url=BASE, follow_redirects=False)

    def _provide(self, request: httpx.Request) -> httpx.Response:
        self.models.append(json.loads(request.content)["model"])
        usage = {"prompt_tokens": 90, "completion_tokens": 10}
        lines: list[Any] = [{"choices": [{"delta": {"content": "Aye."}, "finish_reason": "stop"}], "usage": usage}]
        text = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
        return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})

    def talk(self, route: str, headers: Mapping[str, str] = HEADERS) -> int:
        """Ask a route, and return the status."""
        return self.client.post(
            "/v1/inspector/talk", json={"message": "Hi", "route": route}, headers=headers
        ).status_code


def test_a_route_that_the_key_may_not_ask_is_refused() -> None:
    """Nothing is sent to its provider; the error is in the record of the call."""
    service = Service(route=("cheap",))
    assert service.talk("dear") == 403
    assert (service.models, service.records[-1].error) == ([], "scope")
    assert service.talk("cheap") == 200
    assert service.models == ["small"]
    listed = service.client.get("/v1/inspector/models", headers=HEADERS).json()
    assert [model["name"] for model in listed] == ["cheap"]


@pytest.mark.parametrize("limit", [{"rate": 1}, {"tokens": 10}, {"spend": 0.01}])
def test_rate_tokens_and_spending_hold(limit: Mapping[str, float]) -> None:
    """One answer uses the limit up."""
    service = Service(**limit)
    assert [service.talk("cheap") for _ in range(2)] == [200, 429]
    assert service.models == ["small"]


def test_each_call_has_a_record() -> None:
    """With its route, its tokens and its cost; the number is in the reply."""
    service = Service()
    assert service.talk("dear") == 200
    record = service.records[-1]
    assert (record.surface, record.route, record.status) == ("inspector", "dear", 200)
    assert record.caller == Keys("k").name(b"k")
    assert (record.tokens, record.cost) == (100, 100.0)
    assert service.client.get("/v1/inspector/workspace", headers=HEADERS).headers["x-request-id"]


def test_wrong_tokens_and_wrong_keys_are_recorded() -> None:
    """Whoever guesses leaves a trace."""
    service = Service()
    assert service.client.get("/inspector/?token=guess").status_code == 403
    assert service.talk("cheap", {"authorization": "Bearer wrong"}) == 401
    assert [(record.path, record.status) for record in service.records] == [
        ("/inspector/", 403),
        ("/v1/inspector/talk", 401),
    ]


def test_the_service_has_the_inspector_among_its_pages() -> None:
    """One application: one number of requests, one answer to what is not there; other origins get no permission."""
    settings = Settings(grpc_port=None, cors_origins=("http://app.example",))
    inspector = Inspector(session_of({}), Access())
    client = TestClient(create_app(settings, inspector=inspector), base_url=BASE, follow_redirects=False)
    asks = {"origin": "http://app.example", "access-control-request-method": "POST"}
    assert client.options("/v1/models", headers=asks).status_code == 204
    assert client.options("/v1/inspector/talk", headers=asks).status_code == 403
    assert client.get("/v1/inspector/workspace").json()["error"]["code"] == "key_missing"
    assert client.get(entrance("", inspector.access)).status_code == 303
    assert client.get("/v1/inspector/workspace").status_code == 200
    missing = client.get("/v1/inspector/nothing")
    assert (missing.status_code, list(missing.json())) == (404, ["error"])
    packed = client.post("/v1/inspector/files", headers={"content-encoding": "gzip", "origin": BASE}, content=b"x")
    assert packed.status_code == 415


def test_the_cookie_is_a_grant_of_its_own() -> None:
    """The person who opened the address may ask every route; what that costs is recorded too."""
    service = Service(route=("cheap",))
    assert service.client.get(entrance("", service.inspector.access)).status_code == 303
    assert service.talk("dear", {"origin": BASE}) == 200
    assert service.records[-1].cost == 100.0


def test_one_address_has_one_number_of_guesses() -> None:
    """Wrong keys count together wherever they are brought: to the inspector, to other pages, to gRPC."""
    service = Service()
    throttle = service.gate.throttle
    for _ in range(MAX_GUESSES):
        service.talk("cheap", {"authorization": "Bearer wrong"})
    assert service.client.get("/v1/models", headers={"authorization": "Bearer wrong"}).status_code == 429
    with pytest.raises(GuessLimitError):
        throttle.caller({"x-api-key": "wrong"}, "testclient")


def test_a_connection_has_a_record() -> None:
    """With the number that the client is given; one that is refused, too."""
    service = Service()
    live = "ws" + BASE.removeprefix("http") + "/v1/inspector/live"
    with service.client.websocket_connect(live, headers=HEADERS) as socket:
        headers: Any = socket.extra_headers
        number = dict(headers)[b"x-request-id"].decode()
    with pytest.raises(WebSocketDisconnect), service.client.websocket_connect(live, headers={"x-api-key": "wrong"}):
        pass
    records = [(record.number == number, record.method, record.surface, record.status) for record in service.records]
    assert records == [(True, SOCKET, "inspector", SWITCHED), (False, SOCKET, "inspector", 403)]
    assert [record.error for record in service.records] == ["", "key_missing"]
