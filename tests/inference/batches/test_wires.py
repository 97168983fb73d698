"""Wires: requests go to a provider as it wants them, and come back by their names, whole, failed, or not at all."""

from typing import Any

import pytest

from innkeeper.inference.batches.batch import BatchRequest, answer_events, stopped
from innkeeper.inference.batches.wires import batches_of
from innkeeper.inference.client.model_clients import answered
from innkeeper.inference.errors import (
    BatchCancelledError,
    BatchExpiredError,
    BatchFailedError,
    HttpError,
    ProviderConnectionError,
)
from innkeeper.inference.routing.route import Route
from innkeeper.prompt import ProviderError, UsageError
from tests.inference.batches.providers import FAKES, MOMENT, FakeBatches, FakeGemini, FakeGeminiFiles, FakeOpenAI


def body(kind: type[FakeBatches], text: str) -> dict[str, Any]:
    """A request with one message."""
    if issubclass(kind, FakeGemini):
        return {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}


def requests(kind: type[FakeBatches], *texts: str) -> list[BatchRequest]:
    """Requests to a provider, named by their number."""
    return [BatchRequest(f"n-{at}", body(kind, text)) for at, text in enumerate(texts)]


@pytest.mark.parametrize("kind", FAKES)
def test_from_requests_to_answers(kind: type[FakeBatches]) -> None:
    """The bodies arrive as they were given; each result has the name of its request, in whatever order."""
    failing: dict[str, str | int] = {"b": 400, "c": "expired"}
    provider = kind(lambda text: failing.get(text, f"Yes: {text}"), looks=2)
    wire, sent = provider.wire(), requests(kind, "a", "b", "c", "d")
    made = wire.create(wire.prepared("a-batch", sent))
    assert [body for _, body in provider.batches["batch_1"]] == [request.body for request in sent]
    assert (made.outcome, made.total, made.created) == ("", 4, MOMENT)
    assert [wire.look(made.id).outcome for _ in range(3)] == ["", "", "ended"]
    ended = wire.look(made.id)
    assert (ended.id, ended.done) == (made.id, 4)
    results = {result.name: result for result in wire.results(ended)}
    texts = [answered(answer_events(wire.client, results[name].body), "m").text for name in ("n-0", "n-3")]
    assert texts == ["Yes: a", "Yes: d"]
    assert isinstance(results["n-1"].error, ProviderError)
    late = results.get("n-2")
    assert isinstance(late.error, BatchExpiredError) if late else issubclass(kind, FakeGemini)
    assert all("secret-key-1" in key for key in provider.keys)


@pytest.mark.parametrize("kind", FAKES)
@pytest.mark.parametrize(("outcome", "error"), [("expired", BatchExpiredError), ("cancelled", BatchCancelledError)])
def test_batches_that_were_stopped(kind: type[FakeBatches], outcome: str, error: type[ProviderError]) -> None:
    """What was answered before is there; the error of the rest says why."""
    provider = kind(lambda text: outcome if text == "b" else "Yes", outcome=outcome)
    wire = provider.wire()
    batch = wire.look(wire.create(wire.prepared("x", requests(kind, "a", "b"))).id)
    assert batch.outcome in {outcome, "ended"}
    results = {result.name: result for result in wire.results(batch)}
    assert results["n-0"].error is None
    missing = results["n-1"].error if "n-1" in results else stopped(batch)
    assert type(missing) is error


@pytest.mark.parametrize("kind", [FakeOpenAI, FakeGemini])
def test_batches_that_failed(kind: type[FakeBatches]) -> None:
    """They have no results, and a reason."""
    wire = kind(outcome="failed").wire()
    batch = wire.look(wire.create(wire.prepared("x", requests(kind, "a"))).id)
    assert (batch.outcome, list(wire.results(batch))) == ("failed", [])
    assert isinstance(stopped(batch), BatchFailedError)
    assert "line 1 is no request" in str(stopped(batch))


@pytest.mark.parametrize("kind", FAKES)
def test_what_is_there_already(kind: type[FakeBatches]) -> None:
    """The newest first, over all pages of the list; with our names, where the provider keeps them."""
    provider = kind()
    wire = provider.wire()
    for name in ("first", "second", "third"):
        wire.create(wire.prepared(name, requests(kind, name)))
    names = ["third", "second", "first"] if wire.keeps_names else [""] * 3
    assert [(batch.name, batch.created) for batch in wire.recent()] == [(name, MOMENT) for name in names]


@pytest.mark.parametrize("kind", FAKES)
def test_a_batch_is_sent_once(kind: type[FakeBatches]) -> None:
    """Whatever goes wrong; a refusal has no key in it."""
    provider = kind()
    wire = provider.wire()
    content = wire.prepared("x", requests(kind, "a"))
    provider.cut = 1
    with pytest.raises(ProviderConnectionError) as broken:
        wire.create(content)
    assert (broken.value.opened, len(provider.batches)) == (True, 1)
    provider.refused = 503
    with pytest.raises(HttpError, match="503") as refused:
        wire.create(content)
    assert "secret-key-1" not in f"{refused.value} {refused.value.to_dict()}"
    assert [method for method, path in provider.requests if path.removeprefix(kind.prefix) in kind.pages] == [
        "POST"
    ] * 2


@pytest.mark.parametrize("target", ["local", "mistral:m", "ollama:m"])
def test_providers_without_batches(target: str) -> None:
    """They are named, with what to do instead."""
    with pytest.raises(UsageError, match="takes no batches"):
        batches_of(None, Route.of("r", target))


def test_a_large_batch_of_gemini_is_a_file() -> None:
    """As soon as its requests are more than Google takes in a batch itself."""
    provider = FakeGeminiFiles()
    wire = FakeGemini.wire(provider)
    assert b"requests" in wire.prepared("small", requests(FakeGemini, "a"))
    assert not provider.files
    content = wire.prepared("large", requests(FakeGemini, *["a" * 10**6] * 19))
    assert (len(content) < 200, len(provider.files)) == (True, 1)
    assert wire.create(content).total == 19


def test_prices() -> None:
    """Half of the price at those who say so; all of it at an address that nobody knows."""
    routes = [Route.of("r", target) for target in ("openai:m", "anthropic:m", "gemini:m", "http://127.0.0.1:1:m")]
    assert [batches_of(None, route).price_share for route in routes] == [0.5, 0.5, 0.5, 1.0]
