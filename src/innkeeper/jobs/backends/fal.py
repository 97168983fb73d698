"""fal: jobs in its queue, or, where a model's row says ``sync``, in one call.

Webhooks are signed with keys that fal publishes. https://docs.fal.ai/model-apis/model-endpoints/queue
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final
from urllib.parse import quote, urlsplit

from innkeeper.inference.errors import DecodeError, HttpError
from innkeeper.inference.reasons import reason_of
from innkeeper.jobs.backend import (
    BackendCall,
    JobFailure,
    Progress,
    RefusedByProviderError,
    Submitted,
    Webhook,
    WebhookRefusedError,
    failure_of,
)
from innkeeper.jobs.backends.outputs import flagged, outputs_in
from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.jobs.job import Output
from innkeeper.jobs.signatures import check_ed25519
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import ProviderError

_QUEUE: Final = "https://queue.fal.run"
_SYNC: Final = "https://fal.run"
KEYS: Final = "https://rest.alpha.fal.ai/.well-known/jwks.json"
"""Where fal's keys are."""

_KEYS_SECONDS: Final = 3600.0
_SYNC_SECONDS: Final = 600.0
_OWNER_AND_APP: Final = 2


class Fal:
    """fal. ``keys_url`` is where its keys are, for tests."""

    name = "fal"
    repeatable = False
    waits = False

    def __init__(self, wire: MediaWire, keys_url: str = KEYS) -> None:
        self._wire = wire
        self._keys_url = keys_url
        self._keys: tuple[float, list[Mapping[str, Any]]] = (0.0, [])
        self._lock = threading.Lock()

    def submit(self, call: BackendCall) -> Submitted:
        """Put it in the queue, or wait for it."""
        if call.sync:
            base = call.base_url or _SYNC
            answer = self._call("POST", f"{base}/{call.model}", call, json=dict(call.body), seconds=_SYNC_SECONDS)
            return Submitted(outputs=_results(answer))
        hook = f"?fal_webhook={quote(call.webhook_url, safe='')}" if call.webhook_url else ""
        reply = self._call("POST", f"{self._base(call)}/{call.model}{hook}", call, json=dict(call.body))
        if not isinstance(reply, Mapping) or not reply.get("request_id"):
            raise DecodeError("the queue gave no request_id")
        urls = {name: str(reply.get(f"{name}_url") or "") for name in ("status", "response", "cancel")}
        queue = urlsplit(self._base(call))[:2]  # our key goes nowhere else
        known = {name: url for name, url in urls.items() if urlsplit(url)[:2] == queue}
        return Submitted(FrozenDict({"id": str(reply["request_id"]), **known}))

    def status(self, call: BackendCall, reference: Mapping[str, Any]) -> Progress:
        """Look at the queue, and take the results once they are there."""
        request_url = self._request_url(call, reference)
        try:
            status = self._call("GET", reference.get("status") or f"{request_url}/status", call)
        except HttpError as error:
            if error.status == 404:  # noqa: PLR2004 - it does not know the request
                return Progress("lost")
            raise
        stage = str(status.get("status", "")).upper() if isinstance(status, Mapping) else ""
        if stage == "IN_QUEUE":
            return Progress("queued")
        if stage in {"IN_PROGRESS", ""}:
            return Progress("running")
        try:
            answer = self._call("GET", reference.get("response") or request_url, call)
            return Progress("done", outputs=_results(answer))
        except ProviderError as error:
            failure = failure_of(error)
            if isinstance(error, HttpError) and reason_of(error) == "bad_request":
                return Progress("failed", failure=JobFailure("invalid_request", error.message))
            return Progress("failed", failure=failure) if not failure.retryable else Progress("running")

    def cancel(self, call: BackendCall, reference: Mapping[str, Any]) -> None:
        """Take it out of the queue."""
        try:
            self._call("PUT", reference.get("cancel") or f"{self._request_url(call, reference)}/cancel", call)
        except HttpError as error:
            if error.status not in {400, 404}:  # it has ended already
                raise

    def fetch(self, call: BackendCall, output: Output) -> bytes:
        """A result, which lies on fal's own network of files."""
        return self._wire.fetch(output.url, call.egress)

    def webhook(self, headers: Mapping[str, str], body: bytes, now: float) -> Webhook:
        """A webhook that one of fal's keys signed; keys are fetched anew where none of those known did."""
        try:
            request = check_ed25519(headers, body, self._known_keys(fresh=False), now)
        except WebhookRefusedError:
            request = check_ed25519(headers, body, self._known_keys(fresh=True), now)
        return Webhook(f"{request}:{headers.get('x-fal-webhook-timestamp', '')}", FrozenDict({"id": request}))

    def _known_keys(self, *, fresh: bool) -> list[Mapping[str, Any]]:
        """The published keys. Asked for anew at most once a minute, so that forged webhooks cannot make us ask and ask."""
        with self._lock:
            at, keys = self._keys
            age = monotonic() - at if at else _KEYS_SECONDS + 1
            if age > _KEYS_SECONDS or (fresh and age > _KEYS_SECONDS / 60):
                try:
                    reply = self._wire.call("GET", self._keys_url)
                except ProviderError:
                    return keys
                listed = reply.get("keys") if isinstance(reply, Mapping) else None
                keys = [one for one in listed or () if isinstance(one, Mapping)]
                self._keys = (monotonic(), keys)
            return keys

    def _call(self, method: str, url: str, call: BackendCall, *, json: Any = None, seconds: float | None = None) -> Any:
        key = {"authorization": f"Key {call.key.reveal()}"} if call.key else {}
        return self._wire.call(method, url, headers=key, json=json, seconds=seconds, key=call.key)

    @staticmethod
    def _base(call: BackendCall) -> str:
        return call.base_url or _QUEUE

    def _request_url(self, call: BackendCall, reference: Mapping[str, Any]) -> str:
        """Where a request stands: below the owner and the application, without what of the model comes behind them."""
        application = "/".join(call.model.split("/")[:_OWNER_AND_APP])
        return f"{self._base(call)}/{application}/requests/{quote(str(reference['id']), safe='')}"


def _results(answer: Any) -> tuple[Output, ...]:
    if not isinstance(answer, Mapping):
        raise DecodeError("the answer holds no results")
    if flagged(answer.get("has_nsfw_concepts")):
        raise RefusedByProviderError("the provider's safety checker refused the result")
    outputs = outputs_in(answer)
    if not outputs:
        raise DecodeError("the answer holds no results")
    return outputs
