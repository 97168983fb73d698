"""Replicate: predictions, looked at until they end.

https://replicate.com/docs/reference/http
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

from innkeeper.inference.errors import DecodeError, HttpError
from innkeeper.jobs.backend import BackendCall, JobFailure, Progress, Submitted, Webhook, WebhookRefusedError
from innkeeper.jobs.backends.outputs import outputs_in
from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.jobs.job import Output
from innkeeper.jobs.signatures import check_hmac
from innkeeper.prompt.data import FrozenDict, parse_json
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.machine import Secret

_BASE: Final = "https://api.replicate.com"
_VERSION: Final = re.compile(r"[0-9a-f]{32,64}")
_SAFETY: Final = re.compile(r"nsfw|safety|sensitive|content policy|moderation|flagged", re.IGNORECASE)
"""Words by which a prediction's error tells that a safety checker refused it. It has no code of its own for that."""

_PERCENT: Final = re.compile(r"(\d{1,3})%\|")


class Replicate:
    """Replicate. ``secret`` gives the secret that signs its webhooks."""

    name = "replicate"
    repeatable = False
    waits = False

    def __init__(self, wire: MediaWire, secret: Callable[[], Secret] = lambda: Secret("")) -> None:
        self._wire = wire
        self._secret = secret

    def submit(self, call: BackendCall) -> Submitted:
        """Make a prediction: of a version where the model's row names one, else of the official model."""
        body: dict[str, Any] = {"input": dict(call.body)}
        if call.webhook_url:
            body |= {"webhook": call.webhook_url, "webhook_events_filter": ["start", "completed"]}
        if _VERSION.fullmatch(call.version):
            path, body = "/v1/predictions", {"version": call.version, **body}
        else:
            path = f"/v1/models/{quote(call.model, safe='/')}/predictions"
        prediction = self._call("POST", path, call, json=body)
        if not isinstance(prediction, Mapping) or not prediction.get("id"):
            raise DecodeError("the prediction has no id")
        return Submitted(FrozenDict({"id": str(prediction["id"])}))

    def status(self, call: BackendCall, reference: Mapping[str, Any]) -> Progress:
        """Look at the prediction."""
        try:
            prediction = self._call("GET", self._request_url(reference), call)
        except HttpError as error:
            if error.status == 404:  # noqa: PLR2004 - it does not know the prediction
                return Progress("lost")
            raise
        return _progress(prediction if isinstance(prediction, Mapping) else {})

    def cancel(self, call: BackendCall, reference: Mapping[str, Any]) -> None:
        """Cancel the prediction."""
        try:
            self._call("POST", f"{self._request_url(reference)}/cancel", call)
        except HttpError as error:
            if error.status not in {404, 422}:  # it has ended already
                raise

    def fetch(self, call: BackendCall, output: Output) -> bytes:
        """A result, which lies where everybody who knows the address may read it."""
        return self._wire.fetch(output.url, call.egress)

    def webhook(self, headers: Mapping[str, str], body: bytes, now: float) -> Webhook:
        """A webhook that is signed with the secret of the account."""
        secret = self._secret()
        if not secret:
            raise WebhookRefusedError("the secret of webhooks is not set", hint="set `replicate_webhook` in the vault")
        delivery = check_hmac(headers, body, secret, now)
        try:
            prediction = parse_json(body, asset="webhook")
        except FormatError as error:
            raise WebhookRefusedError("the webhook is no JSON") from error
        identifier = prediction.get("id") if isinstance(prediction, Mapping) else None
        return Webhook(delivery, FrozenDict({"id": str(identifier or "")}))

    def _call(self, method: str, path: str, call: BackendCall, *, json: Any = None) -> Any:
        key = {"authorization": f"Bearer {call.key.reveal()}"} if call.key else {}
        base = call.base_url.removesuffix("/v1") or _BASE
        return self._wire.call(method, f"{base}{path}", headers=key, json=json, key=call.key)

    @staticmethod
    def _request_url(reference: Mapping[str, Any]) -> str:
        return f"/v1/predictions/{quote(str(reference['id']), safe='')}"


def _progress(prediction: Mapping[str, Any]) -> Progress:
    status = prediction.get("status")
    if status == "succeeded":
        return Progress("done", outputs=outputs_in(prediction))
    if status in {"canceled", "aborted"}:
        return Progress("cancelled")
    if status == "failed":
        words = str(prediction.get("error") or "the prediction failed")[:300]
        refused = _SAFETY.search(words) is not None
        kind = "provider_policy_refusal" if refused else "provider_failed"
        return Progress("failed", failure=JobFailure(kind, words, retryable=not refused))
    done = _PERCENT.findall(str(prediction.get("logs") or "")[-2_000:])
    share = min(int(done[-1]), 100) / 100 if done else None
    return Progress("queued" if status == "starting" else "running", share)
