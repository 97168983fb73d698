"""Wires: the batches of OpenAI (and of servers like it), Anthropic and Gemini, as their references describe them.

OpenAI takes a file of lines and gives files of lines. Anthropic takes the requests themselves and gives lines. Gemini takes the
requests themselves, up to 20 MB, and gives the answers in the batch; more of them are a file of lines, and so are the answers.
Results are in any order, and are joined by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, Final
from urllib.parse import quote

from innkeeper.inference.adapters.adapter import mapping, mappings, text
from innkeeper.inference.batches.batch import STOPPED, BatchRequest, BatchResult, BatchWire, Outcome, ProviderBatch
from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.endpoint import encoded, error_of, raise_for_status, sample
from innkeeper.inference.errors import MAX_BATCH_RESULT_BYTES, BatchFailedError
from innkeeper.inference.routing.route import OWN, Route
from innkeeper.prompt import ProviderError, UsageError
from innkeeper.prompt.data import EMPTY

_Data = Mapping[str, Any]
_Text = Mapping[str, str]

_MOST_PAGES: Final = 20
"""Pages of a list of batches that are read, of 100 each."""


class OpenAIBatches(BatchWire):
    """``/files`` and ``/batches``. ``endpoint`` is where each request goes, such as ``/v1/chat/completions``."""

    def prepared(self, name: str, requests: Sequence[BatchRequest]) -> bytes:
        """Upload the requests as a file; return what creates its batch."""
        url = f"/v1{self.client.adapter.endpoint}"
        lines = [
            encoded({"custom_id": each.name, "method": "POST", "url": url, "body": each.body}) for each in requests
        ]
        kind = (
            f'content-disposition: form-data; name="file"; filename="{name}.jsonl"\r\ncontent-type: application/jsonl'
        )
        parts = (('content-disposition: form-data; name="purpose"', b"batch"), (kind, b"\n".join(lines)))
        path = f"{self.client.endpoint.api_prefix}/files"
        file = _file_name(_uploaded(self.client, path, "multipart/form-data", name, parts).get("id"))
        return encoded(
            {"input_file_id": file, "endpoint": url, "completion_window": "24h", "metadata": {"innkeeper": name}}
        )

    def create(self, content: bytes) -> ProviderBatch:
        """Create the batch of an uploaded file."""
        return self._batch(self.json("POST", "/batches", content))

    def look(self, batch_id: str) -> ProviderBatch:
        """Return how a batch is."""
        return self._batch(self.json("GET", f"/batches/{quote(batch_id, safe='')}"))

    def recent(self) -> Iterator[ProviderBatch]:
        """Yield the batches of the key's project, the newest first."""
        yield from map(self._batch, _pages(self, "/batches?limit=100", "after"))

    def results(self, batch: ProviderBatch) -> Iterator[BatchResult]:
        """Yield the lines of both files: answers, and errors."""
        for file in batch.files:
            for line in _lines(self.client, f"{self.client.endpoint.api_prefix}/files/{quote(file, safe='')}/content"):
                yield self._result(line)

    def _result(self, line: _Data) -> BatchResult:
        name, answer, failure = text(line.get("custom_id")), mapping(line.get("response")), mapping(line.get("error"))
        outcome = _OPENAI_CODES.get(text(failure.get("code")))
        try:
            if outcome is not None:
                raise STOPPED[outcome](sample(text(failure.get("message")) or outcome, self.client.endpoint))
            if failure and not answer:
                raise _reported(self.client, failure)
            body = mapping(answer.get("body"))
            raise_for_status(answer.get("status_code") or 200, EMPTY, json.dumps(body).encode(), self.client.endpoint)
        except ProviderError as error:
            return BatchResult(name, error=error)
        return BatchResult(name, body)

    def _batch(self, data: _Data) -> ProviderBatch:
        counts, problems = mapping(data.get("request_counts")), mappings(mapping(data.get("errors")).get("data"))
        return ProviderBatch(
            id=_id(data.get("id")),
            name=text(mapping(data.get("metadata")).get("innkeeper")),
            outcome=_OPENAI_OUTCOMES.get(text(data.get("status")), ""),
            created=float(_count(data.get("created_at"))),
            total=_count(counts.get("total")),
            done=_count(counts.get("completed")) + _count(counts.get("failed")),
            reason=sample(text(problems[0].get("message")), self.client.endpoint) if problems else "",
            files=tuple(filter(None, (text(data.get("output_file_id")), text(data.get("error_file_id"))))),
        )


_OPENAI_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "completed": "ended",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
}
_OPENAI_CODES: Final[Mapping[str, Outcome]] = {"batch_expired": "expired", "batch_cancelled": "cancelled"}


class AnthropicBatches(BatchWire):
    """``/messages/batches``. The provider keeps no name of a batch: one that may be there is known by its time and size."""

    keeps_names = False

    def prepared(self, name: str, requests: Sequence[BatchRequest]) -> bytes:
        """The requests."""
        return encoded({"requests": [{"custom_id": each.name, "params": each.body} for each in requests]})

    def create(self, content: bytes) -> ProviderBatch:
        """Create a batch."""
        return self._batch(self.json("POST", "/messages/batches", content))

    def look(self, batch_id: str) -> ProviderBatch:
        """Return how a batch is."""
        return self._batch(self.json("GET", f"/messages/batches/{quote(batch_id, safe='')}"))

    def recent(self) -> Iterator[ProviderBatch]:
        """Yield the batches of the key's workspace, the newest first."""
        yield from map(self._batch, _pages(self, "/messages/batches?limit=100", "after_id"))

    def results(self, batch: ProviderBatch) -> Iterator[BatchResult]:
        """Yield the lines of the results."""
        path = f"{self.client.endpoint.api_prefix}/messages/batches/{quote(batch.id, safe='')}/results"
        for line in _lines(self.client, path):
            name, result = text(line.get("custom_id")), mapping(line.get("result"))
            kind = text(result.get("type"))
            outcome = {"canceled": "cancelled", "expired": "expired"}.get(kind)
            if kind == "succeeded":
                yield BatchResult(name, mapping(result.get("message")))
            elif outcome is not None:
                yield BatchResult(name, error=STOPPED[outcome](f"the request {outcome} in its batch"))
            else:
                failure = mapping(result.get("error"))
                yield BatchResult(name, error=_reported(self.client, mapping(failure.get("error")) or failure))

    def _batch(self, data: _Data) -> ProviderBatch:
        counts = {name: _count(number) for name, number in mapping(data.get("request_counts")).items()}
        return ProviderBatch(
            id=_id(data.get("id")),
            outcome="ended" if data.get("processing_status") == "ended" else "",
            created=_moment(data.get("created_at")),
            total=sum(counts.values()),
            done=sum(counts.values()) - counts.get("processing", 0),
        )


class GeminiBatches(BatchWire):
    """``:batchGenerateContent`` and ``/batches``, with the requests in the batch itself, or in a file where they are many."""

    most_inline = 18 * 1024 * 1024
    """Bytes of a batch that has its requests in itself: Google takes 20 MB."""

    def prepared(self, name: str, requests: Sequence[BatchRequest]) -> bytes:
        """The requests; or the name of the file that they are uploaded as."""
        inline = [{"request": each.body, "metadata": {"key": each.name}} for each in requests]
        content = self._content(name, {"requests": {"requests": inline}})
        if len(content) <= self.most_inline:
            return content
        lines = b"\n".join([encoded({"key": each.name, "request": each.body}) for each in requests])
        about = encoded({"file": {"display_name": name, "mime_type": "application/jsonl"}})
        parts = (("content-type: application/json; charset=utf-8", about), ("content-type: application/jsonl", lines))
        path, protocol = f"/upload{self.client.endpoint.api_prefix}/files", {"x-goog-upload-protocol": "multipart"}
        answer = _uploaded(self.client, path, "multipart/related", name, parts, protocol)
        return self._content(name, {"file_name": _file_name(mapping(answer.get("file")).get("name"))})

    def _content(self, name: str, source: _Data) -> bytes:
        return encoded({"batch": {"display_name": name, "input_config": source}})

    def create(self, content: bytes) -> ProviderBatch:
        """Create a batch."""
        path = self.client.adapter.path(self.model, stream=False).rpartition(":")[0]
        return self._batch(self.json("POST", f"{path}:batchGenerateContent", content))

    def look(self, batch_id: str) -> ProviderBatch:
        """Return how a batch is."""
        return self._batch(self._operation(batch_id))

    def recent(self) -> Iterator[ProviderBatch]:
        """Yield the batches of the key's project, the newest first."""
        yield from map(self._batch, _pages(self, "/batches?pageSize=100", "pageToken", "operations"))

    def results(self, batch: ProviderBatch) -> Iterator[BatchResult]:
        """Yield the answers in the batch, or the lines of its file."""
        operation = self._operation(batch.id, MAX_BATCH_RESULT_BYTES)
        output = mapping(operation.get("response")) or mapping(mapping(operation.get("metadata")).get("output"))
        inline = mappings(mapping(output.get("inlinedResponses")).get("inlinedResponses"))
        file = text(output.get("responsesFile"))
        path = f"/download{self.client.endpoint.api_prefix}/{quote(file)}:download?alt=media"
        for each in chain(inline, _lines(self.client, path) if file else ()):
            name = text(each.get("key")) or text(mapping(each.get("metadata")).get("key"))
            failure = mapping(each.get("error"))
            if failure:
                yield BatchResult(name, error=_reported(self.client, failure))
            else:
                yield BatchResult(name, mapping(each.get("response")))

    def _operation(self, batch_id: str, most: int = MAX_BATCH_RESULT_BYTES) -> _Data:
        path = f"{self.client.endpoint.api_prefix}/{quote(batch_id, safe='/')}"
        return _object(b"".join(self.client.fetch("GET", path, most=most)))

    def _batch(self, data: _Data) -> ProviderBatch:
        facts, failure = mapping(data.get("metadata")), mapping(data.get("error"))
        counts = mapping(facts.get("batchStats"))
        state = text(facts.get("state")).removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
        outcome: Outcome = "failed" if failure else _GEMINI_OUTCOMES.get(state, "")
        return ProviderBatch(
            id=_id(data.get("name")),
            name=text(facts.get("displayName")),
            outcome=outcome,
            created=_moment(facts.get("createTime")),
            total=_count(counts.get("requestCount")),
            done=_count(counts.get("requestCount")) - _count(counts.get("pendingRequestCount")),
            reason=sample(text(failure.get("message")), self.client.endpoint) if failure else "",
        )


_GEMINI_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "SUCCEEDED": "ended",
    "FAILED": "failed",
    "EXPIRED": "expired",
    "CANCELLED": "cancelled",
}

_WIRES: Final[Mapping[str, type[BatchWire]]] = {
    "openai": OpenAIBatches,
    "openai-responses": OpenAIBatches,
    "groq": OpenAIBatches,
    OWN: OpenAIBatches,
    "anthropic": AnthropicBatches,
    "gemini": GeminiBatches,
}
"""The wires by the names of providers. An address of one's own is spoken to as OpenAI is."""

_PRICE_SHARE: Final = 0.5
"""What a request costs in a batch of these providers, of its price alone."""


def batches_of(client: Any, route: Route | None) -> BatchWire:
    """Return the batches of a route's provider, over its `Client`. Raises `UsageError` where it takes none."""
    kind = None if route is None else _WIRES.get(route.provider)
    if kind is None or route is None:
        hint = f"send the rows with batch run; batches: {', '.join(name for name in _WIRES if name != OWN)}"
        raise UsageError(f"{'this model' if route is None else route.provider} takes no batches", hint=hint)
    return kind(client, route.model, price_share=1.0 if route.provider == OWN else _PRICE_SHARE)


def _pages(wire: BatchWire, path: str, cursor: str, field: str = "data") -> Iterator[_Data]:
    """The items of a list that is read page by page."""
    address = path
    for _ in range(_MOST_PAGES):
        page = wire.json("GET", address)
        yield from mappings(page.get(field))
        after = page.get("nextPageToken") or (page.get("last_id") if page.get("has_more") else None)
        if not isinstance(after, str):
            return
        address = f"{path}&{cursor}={quote(after, safe='')}"


def _uploaded(
    client: Client, path: str, kind: str, name: str, parts: Iterable[tuple[str, bytes]], headers: _Text = EMPTY
) -> _Data:
    """What a provider says of the file that it gets in the last of the parts, each with its head."""
    boundary = f"innkeeper-{name}"
    pieces = [piece for head, body in parts for piece in (f"--{boundary}\r\n{head}\r\n\r\n".encode(), body, b"\r\n")]
    content = b"".join((*pieces, f"--{boundary}--\r\n".encode()))
    return _object(
        b"".join(client.fetch("POST", path, content, {"content-type": f"{kind}; boundary={boundary}", **headers}))
    )


def _file_name(value: Any) -> str:
    """The name of an uploaded file. Raises `BatchFailedError` where there is none."""
    if not text(value):
        raise BatchFailedError("the provider took the requests, and did not say as which file")
    return text(value)


def _lines(client: Client, path: str) -> Iterator[_Data]:
    """The objects of a page of JSON lines."""
    for line in _split(client.fetch("GET", path, None, {"accept": "*/*"}, most=MAX_BATCH_RESULT_BYTES)):
        yield _object(line)


def _split(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of bytes that come in pieces."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from filter(bytes.strip, lines)
    if rest.strip():
        yield rest


def _object(raw: bytes) -> _Data:
    """A JSON object. Raises `BatchFailedError` for anything else."""
    try:
        return mapping(json.loads(raw))
    except (ValueError, RecursionError) as error:
        raise BatchFailedError("what the provider says of a batch is not JSON") from error


def _reported(client: Client, failure: _Data) -> ProviderError:
    """The error that a provider reports in the place of an answer."""
    return error_of({"error": failure}, client.endpoint) or BatchFailedError("the request failed without a reason")


def _id(value: Any) -> str:
    """The name of a batch at its provider. Raises `BatchFailedError` where there is none."""
    if not text(value):
        raise BatchFailedError("the provider names no batch in its answer")
    return text(value)


def _count(value: Any) -> int:
    """A number, which Google writes as text; 0 for anything else."""
    return int(value) if isinstance(value, (int, str)) and str(value).isdecimal() else 0


def _moment(value: Any) -> float:
    """A date by RFC 3339 in seconds since 1970; 0 for anything else."""
    try:
        return datetime.fromisoformat(text(value)).timestamp()
    except ValueError:
        return 0.0
