"""worker: ``POST /chat`` of a pure-inference worker (`innkeeper.inference.requests.worker_protocol`).

Its answers, and the first piece of its streams, repeat the hash of the messages: `vouched` passes on only what does.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final

from innkeeper.inference.adapters.adapter import Adapter, Reading, count, mapping, others, text
from innkeeper.inference.adapters.openai_chat import FINISH
from innkeeper.inference.errors import DecodeError, TamperedError
from innkeeper.inference.response.events import Finished, ModelEvent, RefusalDelta, Started, TextDelta, UsageReport
from innkeeper.inference.response.response import Usage

_ECHO: Final = "prompt_sha256"


class WorkerProtocol(Adapter):
    """A pure-inference worker."""

    name = "worker"
    dialect = "openai-compatible"
    base_url = "http://localhost:7861"
    endpoint = "/chat"
    prefix = ""
    ignored = frozenset({"success", "response", "generation_time", "tokens_generated"})

    def reading(self) -> Reading:
        """Reads one answer."""
        return _WorkerReading()


_TOP: Final = WorkerProtocol.ignored | {"request_id", "model", "output", "delta", "finish_reason", "usage", "error"}


class _WorkerReading(Reading):
    def whole(self, body: Mapping[str, Any]) -> Iterator[ModelEvent]:
        if not isinstance(body.get("output"), str):
            msg = "the worker's answer has no output"
            raise DecodeError(msg, hint="is this a worker of protocol v1?")
        yield from self.chunk({**body, "delta": body["output"]}, "message")

    def chunk(self, data: Mapping[str, Any], kind: str) -> Iterator[ModelEvent]:
        yield from self.started(data.get("request_id"), data.get("model"), others(data, _TOP))
        reason = FINISH.get(text(data.get("finish_reason")))
        if written := text(data.get("delta")):
            yield RefusalDelta(text=written) if reason == "refusal" else TextDelta(text=written)
        if reason is None:
            return
        usage = mapping(data.get("usage"))
        yield UsageReport(
            usage=Usage(
                input_tokens=count(usage.get("prompt_tokens")), output_tokens=count(usage.get("completion_tokens"))
            )
        )
        self.finished = True
        yield Finished(reason=reason, word=text(data.get("finish_reason")))


async def vouched(events: AsyncGenerator[ModelEvent], sha256: str) -> AsyncGenerator[ModelEvent]:
    """The events of a worker that repeats this hash of the messages, from the first on. Raises `TamperedError` for others."""
    known = False
    async with aclosing(events) as arriving:
        async for event in arriving:
            echo = event.facts.get(_ECHO) if isinstance(event, Started) else None
            if echo not in (None, sha256):
                raise TamperedError("the worker executed other messages than it was sent")
            known = known or echo is not None
            if not (known or isinstance(event, Started)):
                raise TamperedError("the worker does not say which messages it executed")
            yield event
