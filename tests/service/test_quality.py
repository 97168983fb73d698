"""A running service from its operator's side: keys that bound, lines that tell nothing secret, numbers, and its end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.inference.fake import EchoServer, Fault
from innkeeper.library.db.engine import Database
from tests.service.programs import Service

ALL, CHAT, ONCE, SLOW, WATCH, POOR = "all-k3y", "chat-k3y", "once-k3y", "tokens-k3y", "watch-k3y", "poor-k3y"
RICH = "rich-k3y"
KEYS = f"""
{ALL}
{CHAT} scope=chat route=one calls=1
{ONCE} rate=1
{SLOW} tokens=1
{WATCH} scope=metrics
{POOR} spend=0.5
{RICH} spend=1000 calls=2
"""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The key file."""
    path = tmp_path_factory.mktemp("keys") / "keys"
    path.write_text(KEYS)
    return path


@pytest.fixture(scope="module")
def service(keys: Path) -> Iterator[Service]:
    """A service with two routes to one provider."""
    with EchoServer(*["Good evening."] * 50) as provider:
        routes = [f"--route={name}={provider.base_url}:m" for name in ("one", "two")]
        with Service.command(*routes, "--key-file", str(keys), "--no-grpc", "--price", "one=900000,0") as running:
            yield running


def chat(service: Service, key: str, model: str = "one", **body: Any) -> httpx.Response:
    """One call of a chat."""
    asked = {"model": model, "messages": [{"role": "user", "content": "hidden-words"}], **body}
    return service.post("/v1/chat/completions", asked, headers={"authorization": f"Bearer {key}"})


def test_scopes(service: Service) -> None:
    """A key reaches its surfaces and routes, is told in the surface's words where it may not, and sees what it may use."""
    assert chat(service, CHAT).json()["choices"][0]["message"]["content"] == "Good evening."
    refused = chat(service, CHAT, "two")
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")
    assert chat(service, WATCH).status_code == 403
    listed = httpx.get(f"{service.url}/v1/models", headers={"x-api-key": CHAT}).json()["data"]
    assert [model["id"] for model in listed] == ["one"]
    assert httpx.get(f"{service.url}/docs", headers={"x-api-key": CHAT}).status_code == 200


def test_rates(service: Service) -> None:
    """Requests and tokens of a minute, and money of a day, run out with 429 and when to come back; another key goes on."""
    assert chat(service, ONCE).status_code == 200
    assert chat(service, SLOW).status_code == 200
    assert chat(service, POOR).status_code == 200
    for key, code in ((ONCE, "rate_limit"), (SLOW, "token_rate_limit"), (POOR, "spend_limit")):
        refused = chat(service, key)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, code)
        assert int(refused.headers["retry-after"]) > 0
    assert chat(service, ALL).status_code == 200


def test_raw_bodies(service: Service) -> None:
    """A key reaches no other route by one, and its use is counted: a stream that would not tell it is refused."""

    def raw(key: str, route: str, **body: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {key}", "x-innkeeper-mode": "raw", "x-innkeeper-route": route}
        asked = {"model": "m", "messages": [{"role": "user", "content": "hidden-words"}], **body}
        return service.post("/v1/chat/completions", asked, headers=headers)

    assert raw(CHAT, "one").status_code == 200
    assert raw(CHAT, "two").status_code == 403
    silent = raw(RICH, "one", stream=True)
    assert (silent.status_code, silent.json()["error"]["param"]) == (400, "stream_options.include_usage")
    assert raw(RICH, "one", stream=True, stream_options={"include_usage": True}).status_code == 200
    assert raw(ALL, "one", stream=True).status_code == 200


def test_several_answers_count(service: Service) -> None:
    """Each of them is one of the requests that a key may have at once."""
    assert chat(service, RICH, n=2).status_code == 200
    refused = chat(service, RICH, n=3)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "concurrency_limit")
    assert chat(service, RICH, n=2).status_code == 200


@pytest.mark.endurance
def test_two_services_share_what_a_key_may_spend(tmp_path: Path) -> None:
    """Two processes that answer one key at the same time spend no more than its money and one request each."""
    (tmp_path / "keys").write_text("one-k3y spend=0.001\n")
    Database.open(tmp_path / "library.db").close()
    with EchoServer(*["Good evening."] * 200) as provider:
        place = (f"--route=one={provider.base_url}:m", "--price", "one=10,10", "--key-file", str(tmp_path / "keys"))
        words = (*place, "--no-grpc", "--workers", "1", "--database", str(tmp_path / "library.db"))
        with Service.command(*words) as one, Service.command(*words) as other, ThreadPoolExecutor(2) as pool:
            costs = [cost for spent in pool.map(_spend_all, (one, other)) for cost in spent]
            assert 0.001 <= sum(costs) <= 0.001 + 2 * max(costs)
        with Service.command(*words) as again:
            assert chat(again, "one-k3y").status_code == 429


def _spend_all(service: Service) -> list[float]:
    """What requests cost, one after the other, until the money is gone."""
    costs = []
    while (reply := chat(service, "one-k3y")).status_code == 200:
        costs.append(reply.json()["usage"]["total_tokens"] * 1e-5)
    return costs


def test_owners(service: Service) -> None:
    """A stored response belongs to the key that made it: for any other there is none."""
    headers = {"authorization": f"Bearer {ALL}"}
    made = service.post("/v1/responses", {"model": "one", "input": "hello"}, headers=headers).json()
    place = f"{service.url}/v1/responses/{made['id']}"
    assert httpx.get(place, headers=headers).json()["id"] == made["id"]
    assert httpx.get(place, headers={"x-api-key": CHAT}).status_code == 404
    assert httpx.delete(place, headers={"x-api-key": CHAT}).status_code == 404
    assert httpx.delete(place, headers=headers).status_code == 200


def test_metrics(service: Service) -> None:
    """Calls and tokens are counted, for the key that may look."""
    chat(service, ALL, stream=True, stream_options={"include_usage": True})
    text = httpx.get(f"{service.url}/metrics", headers={"x-api-key": WATCH}).text
    assert 'innkeeper_calls_total{method="POST",status="200",surface="chat"}' in text
    assert 'innkeeper_tokens_total{kind="output",profile="",route="one"}' in text
    service.wait_ready()


def _wait_for(provider: EchoServer, requests: int) -> None:
    """Wait until the provider has had so many requests."""
    until = time.monotonic() + 60
    while len(provider.requests) < requests:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_log_and_end(keys: Path) -> None:
    """Each call is a line of JSON without what was said, queries and keys; the service ends with 0, whatever is under way."""
    with EchoServer("Good evening.", Fault.stall(400, "One two three four."), Fault.stall()) as provider:
        words = (f"--route=one={provider.base_url}:m", "--key-file", str(keys), "--log", "json", "--stop-seconds", "1")
        with Service.command(*words, "--no-grpc") as running, ThreadPoolExecutor(2) as pool:
            assert chat(running, ALL).status_code == 200
            httpx.get(f"{running.url}/v1/models?key=hidden-query", headers={"x-api-key": ALL})
            stream = pool.submit(chat, running, ALL, stream=True)
            _wait_for(provider, 2)
            silent = pool.submit(chat, running, ALL)
            _wait_for(provider, 3)
            time.sleep(0.3)
            running.process.terminate()
            told = running.process.communicate(timeout=120)[1]
            assert running.process.returncode == 0
            assert isinstance(stream.exception(), httpx.RemoteProtocolError) or stream.result().status_code in {
                200,
                503,
            }
            assert (silent.result().status_code, silent.result().headers["retry-after"]) == (503, "1")
    lines = [json.loads(line) for line in told.splitlines()]
    first = next(line for line in lines if line.get("surface") == "chat")
    assert (first["route"], first["model"], first["status"], first["level"]) == ("one", "m", 200, "info")
    assert first["input_tokens"] > 0
    assert first["request_id"]
    assert not any(secret in told for secret in ("hidden", "k3y", "evening", "three"))
