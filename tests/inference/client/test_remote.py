"""Operations of a service, asked from outside, over a transport that answers as one."""

from __future__ import annotations

import json

import httpx
import msgspec
import pytest

from innkeeper import Client, ProviderError, UsageError
from innkeeper.inference.errors import HttpError
from innkeeper.operations import Operation, Scope
from innkeeper.operations.operation import Blob
from innkeeper.service.errors import RateLimitError


class Ask(msgspec.Struct, frozen=True, rename="camel"):
    """A request with a field that may be absent, and one for the rest."""

    some_text: str
    absent: str | None = None
    others: dict[str, int] = {}


class Answer(msgspec.Struct, frozen=True):
    """A reply."""

    count: int


async def count(request: Ask, scope: Scope) -> Answer:
    """Count."""
    raise NotImplementedError


async def picture(request: Ask, scope: Scope) -> Blob:
    """Draw."""
    raise NotImplementedError


COUNT = Operation("texts.count", count, whole="others")
PICTURE = Operation("texts.picture", picture)


def client(reply: httpx.Response, requests: list[httpx.Request] | None = None) -> Client:
    """A client of a service that gives one reply."""

    def answer(request: httpx.Request) -> httpx.Response:
        if requests is not None:
            requests.append(request)
        return reply

    return Client("http://there/v1", transport=httpx.MockTransport(answer))


def test_replies() -> None:
    """The request is the body at the path by rule; the reply is of the operation's type."""
    requests: list[httpx.Request] = []
    with client(httpx.Response(200, json={"count": 2, "more": 1}), requests) as there:
        assert there.call(COUNT, Ask("a", others={"x": 1})) == Answer(2)
    assert requests[0].url == "http://there/v1/texts:count"
    assert json.loads(requests[0].content) == {"someText": "a", "x": 1}
    with client(httpx.Response(200, content=b"png", headers={"content-type": "image/png"})) as there:
        assert there.call(PICTURE, Ask("a")) == Blob(b"png", "image/png")


def test_errors() -> None:
    """Errors of the service's are of their class; any other status is a provider's error."""
    facts = {"message": "too many", "type": "rate_limit_error", "code": "rate_limit", "param": None}
    refused = httpx.Response(429, json={"error": facts, "innkeeper": {"limit": "RATE"}}, headers={"retry-after": "7"})
    with client(refused) as there, pytest.raises(RateLimitError, match="too many") as caught:
        there.call(COUNT, Ask("a"))
    assert caught.value.details == {"limit": "RATE", "retry_after": "7"}
    assert (caught.value.limit, caught.value.found) == ("RATE", None)
    with client(httpx.Response(502, text="<html>")) as there, pytest.raises(HttpError):
        there.call(COUNT, Ask("a"))
    for code in ("unheard_of", "http", None):
        foreign = httpx.Response(500, json={"error": {"message": "?", "code": code, "hint": 5}, "innkeeper": "?"})
        with client(foreign) as there, pytest.raises(HttpError):
            there.call(COUNT, Ask("a"))


def test_events() -> None:
    """Events come with their names and numbers; an error among them is raised."""
    stream = b': still here\n\nid: 3\nevent: delta\ndata: {"text":"a"}\n\nevent: error\ndata: %s\n\n'
    error = json.dumps({"success": False, "error": "no such field", "code": "usage", "hint": "leave it out"}).encode()
    reply = httpx.Response(200, content=stream % error, headers={"content-type": "text/event-stream; charset=utf-8"})
    with client(reply) as there:
        events = there.stream(COUNT, Ask("a"))
        assert next(events) == ({"text": "a"}, "delta", 3)
        with pytest.raises(UsageError, match="no such field") as caught:
            next(events)
    assert caught.value.hint == "leave it out"
    unknown = httpx.Response(200, content=b"event: error\ndata: []\n\n", headers={"content-type": "text/event-stream"})
    with client(unknown) as there, pytest.raises(ProviderError):
        list(there.stream(COUNT, Ask("a")))
