"""Batch: what a provider tells of a batch of requests, and the protocol of the wires that speak of them.

A batch is created once. Its name is ours, and is in the name of each of its requests; a provider that keeps the name of a batch
can be asked whether it has one, after a process has ended between the request and the answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, NamedTuple

import msgspec

from innkeeper.inference.adapters.decoding import AnswerDecoder
from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.endpoint import decoded, encoded
from innkeeper.inference.errors import BatchCancelledError, BatchExpiredError, BatchFailedError
from innkeeper.inference.response.events import ModelEvent
from innkeeper.prompt import InnkeeperError, ProviderError
from innkeeper.prompt.data import EMPTY

Outcome = Literal["", "ended", "failed", "expired", "cancelled"]
"""How a batch ended; empty while it is under way. One that expired or was cancelled may have answers, too."""

MAX_BATCH_ROWS: Final = 10_000
"""Requests of one batch (no error: further ones are another batch)."""

MAX_BATCH_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the requests of one batch (no error: further ones are another batch)."""

STOPPED: Final[Mapping[str, type[ProviderError]]] = {
    "failed": BatchFailedError,
    "expired": BatchExpiredError,
    "cancelled": BatchCancelledError,
}
"""The error of a request that has no answer, by the outcome of its batch."""


class ProviderBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch at its provider.

    ``name`` is ours, where the provider keeps it; ``created`` are seconds since 1970. ``total`` and ``done`` are requests.
    ``reason`` is why it failed; ``files`` are those with its results.
    """

    id: str
    name: str = ""
    outcome: Outcome = ""
    created: float = 0.0
    total: int = 0
    done: int = 0
    reason: str = ""
    files: tuple[str, ...] = ()


class BatchResult(NamedTuple):
    """What became of one request: the ``body`` of its answer, or the ``error`` in its place."""

    name: str
    body: Mapping[str, Any] = EMPTY
    error: InnkeeperError | None = None


class BatchRequest(NamedTuple):
    """One request of a batch: its name, and the body of a request to the same model."""

    name: str
    body: Mapping[str, Any]


class BatchWire(ABC):
    """How one provider speaks of batches, over the client of a model of its own."""

    max_bytes: ClassVar[int] = MAX_BATCH_BYTES
    keeps_names: ClassVar[bool] = True
    """Whether the provider tells the name of a batch that was created by it."""

    def __init__(self, client: Client, model: str, *, price_share: float = 1.0) -> None:
        self.client, self.model, self.price_share = client, model, price_share

    @abstractmethod
    def prepared(self, name: str, requests: Sequence[BatchRequest]) -> bytes:
        """What `create` sends; files that it names are uploaded. Nothing is paid yet. Raises `ProviderError` and its kin."""

    @abstractmethod
    def create(self, content: bytes) -> ProviderBatch:
        """Create a batch, which is paid for. It is sent once. Raises `ProviderError` and its kin."""

    @abstractmethod
    def look(self, batch_id: str) -> ProviderBatch:
        """Return how a batch is. Raises `ProviderError` and its kin."""

    @abstractmethod
    def results(self, batch: ProviderBatch) -> Iterator[BatchResult]:
        """Yield what became of the requests of a batch that has ended, in any order. Raises `ProviderError` and its kin."""

    @abstractmethod
    def recent(self) -> Iterator[ProviderBatch]:
        """Yield the batches of this key, the newest first. Raises `ProviderError` and its kin."""

    def json(self, method: str, path: str, content: bytes | None = None) -> Mapping[str, Any]:
        """Return a page of the provider, which is an object. Raises `ProviderError` and its kin."""
        raw = b"".join(self.client.fetch(method, self.client.endpoint.api_prefix + path, content))
        body = decoded(200, EMPTY, raw, self.client.endpoint).body
        if not isinstance(body, Mapping):
            raise BatchFailedError("the provider's answer about a batch is not a JSON object")
        return body


def answer_events(client: Client, body: Mapping[str, Any]) -> Generator[ModelEvent]:
    """The events of the body of a request's answer. Raises `DecodeError`, and `ReplyError` for an error in its place."""
    decoder = AnswerDecoder(client.adapter.reading(), client.endpoint, 200, EMPTY)
    yield from decoder.feed(encoded(body))
    yield from decoder.close()


def stopped(batch: ProviderBatch) -> ProviderError:
    """Return the error of a request that its batch has no answer to."""
    kind = STOPPED.get(batch.outcome, BatchFailedError)
    reason = batch.reason or {"ended": "it has no result", "failed": "the provider failed it"}.get(batch.outcome, "")
    text = f"the batch {batch.id} {batch.outcome if batch.outcome != 'ended' else 'has ended'} without an answer"
    return kind(f"{text}: {reason}" if reason else text, hint="the same command submits the row again")
