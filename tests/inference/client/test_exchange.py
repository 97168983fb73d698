"""Exchanges: what calls want and make of what came, without any client."""

import json
from typing import Any

import httpx
import pytest

from innkeeper.inference.client.chat import Progress
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.exchange import READ, REST, Head, Send, Talk, ask, chat_pieces, healthy, is_wish
from innkeeper.inference.errors import HttpError, ProviderConnectionError, StreamCutError
from innkeeper.prompt import UsageError

ENDPOINT = Endpoint.of({"base_url": "http://h", "api_key": "sk-test-0123456789"}, None, {})
JSON = {"content-type": "application/json"}
URL = ENDPOINT.url("/chat/completions")


def played(talk: Talk, *came: Any) -> tuple[list[Any], list[Any]]:
    """``(wishes, results)`` of a talk whose wishes are answered by what ``came``, errors included."""
    answers, wishes, results = iter(came), [], []
    for step in talk:
        if is_wish(step):
            wishes.append(step)
            answer = next(answers)
            talk.fail(answer) if isinstance(answer, Exception) else talk.give(answer)
        else:
            results.append(step)
    return wishes, results


def test_ask() -> None:
    """One request, its answer read to the end, one result."""
    wishes, (response,) = played(
        Talk(ask(ENDPOINT, "POST", URL, {"a": 1}), ENDPOINT), Head(200, JSON), b'{"b"', b":2}", b""
    )
    assert wishes[0][:3] == ("POST", "http://h/v1/chat/completions", b'{"a":1}')
    assert wishes[0].headers["authorization"] == "Bearer sk-test-0123456789"
    assert wishes[1:] == [READ] * 3
    assert (response.status, response.body) == (200, {"b": 2})


def test_what_json_cannot_say_is_not_sent() -> None:
    """The caller's mistake comes before any wish."""
    with pytest.raises(UsageError, match="not JSON data"):
        played(Talk(ask(ENDPOINT, "POST", URL, {1, 2}), ENDPOINT))


@pytest.mark.parametrize("error", [httpx.ConnectError("no"), ProviderConnectionError("no")], ids=["transport", "ours"])
def test_errors_of_the_transport(error: Exception) -> None:
    """They become our own, with their cause."""
    with pytest.raises(ProviderConnectionError) as caught:
        played(Talk(ask(ENDPOINT, "GET", URL), ENDPOINT), error)
    assert caught.value is error or caught.value.__cause__ is error


def event(**delta: Any) -> bytes:
    """One event of a stream."""
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"


def test_pieces() -> None:
    """Each piece is for the caller as soon as it has come; after the end the rest is let come, and is not given."""
    progress = Progress()
    talk = Talk(chat_pieces(ENDPOINT, URL, {"stream": True}, progress), ENDPOINT, progress)
    wishes, results = played(talk, Head(200, {}), event(content="It "), event(content="is."), b"data: [DONE]\n\n", None)
    assert results == ["It ", "is."]
    assert wishes[1:] == [READ, READ, READ, REST]
    assert progress.partial == "It is."


def test_a_stream_that_breaks() -> None:
    """The error knows the text so far."""
    progress = Progress()
    talk = Talk(chat_pieces(ENDPOINT, URL, {}, progress), ENDPOINT, progress)
    with pytest.raises(StreamCutError) as caught:
        played(talk, Head(200, {}), event(content="It "), httpx.ReadError("gone"))
    assert caught.value.partial == "It "


def test_a_server_that_turns_streams_down_is_asked_once_more() -> None:
    """The same request, unstreamed; a second refusal is the caller's."""
    progress = Progress()
    talk = Talk(chat_pieces(ENDPOINT, URL, {"stream": True, "a": 1}, progress), ENDPOINT, progress)
    refusal, whole = b'{"error": {"param": "stream"}}', b'{"choices": [{"message": {"content": "Yes."}}]}'
    wishes, results = played(talk, Head(400, JSON), refusal, b"", Head(200, JSON), whole, b"")
    assert results == ["Yes."]
    assert [json.loads(wish.content or b"") for wish in wishes if isinstance(wish, Send)] == [
        {"stream": True, "a": 1},
        {"a": 1},
    ]
    again = Talk(chat_pieces(ENDPOINT, URL, {"stream": True}, Progress()), ENDPOINT)
    with pytest.raises(HttpError):
        played(again, Head(400, JSON), refusal, b"", Head(500, JSON), refusal, b"")


HEALTH = {
    "page": ([Head(200, {}), b"ok", b""], True),
    "key": ([Head(401, {}), b""], True),
    "models": ([Head(404, {}), b"", Head(200, JSON), b"{}", b""], True),
    "nothing": ([Head(404, {}), b"", Head(404, JSON), b""], False),
    "broken": ([Head(500, {}), b""], False),
    "nobody": ([httpx.ConnectError("no")], False),
    "nobody_any_more": ([Head(404, {}), b"", httpx.ConnectError("no")], False),
}


@pytest.mark.parametrize(("came", "well"), HEALTH.values(), ids=HEALTH)
def test_healthy(came: list[Any], well: bool) -> None:
    """A health page or a list of models will do."""
    assert played(Talk(healthy(ENDPOINT), ENDPOINT), *came)[1] == [well]
