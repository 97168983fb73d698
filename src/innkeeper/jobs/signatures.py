"""Signatures of webhooks: of providers', which are checked, and of ours, which are made.

Ours and Replicate's are of one kind, https://www.standardwebhooks.com: HMAC-SHA256 over the identifier, the time and the body.
fal's are Ed25519 over the request, the user, the time and the hash of the body, by keys that it publishes
(https://docs.fal.ai/model-apis/model-endpoints/webhooks, https://replicate.com/docs/topics/webhooks/verify-webhook).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Any, Final

from innkeeper.jobs.backend import WebhookRefusedError
from innkeeper.jobs.limits import WEBHOOK_SECONDS
from innkeeper.prompt.errors import ConfigError
from innkeeper.prompt.machine import Secret

WEBHOOK_SECRET: Final = "INNKEEPER_WEBHOOK_SECRET"  # noqa: S105 - a name
"""The environment variable, and the name in the vault, of the secret that signs our messages about jobs."""


def check_time(text: str, now: float) -> None:
    """Let a webhook pass whose time is near ours. Raises `WebhookRefusedError`."""
    try:
        at = int(text)
    except ValueError:
        raise WebhookRefusedError("the webhook has no time") from None
    if abs(now - at) > WEBHOOK_SECONDS:
        raise WebhookRefusedError("the webhook is of another time", hint="check the clock of this machine")


def check_hmac(headers: Mapping[str, str], body: bytes, secret: Secret, now: float) -> str:
    """The identifier of a webhook that is signed with the secret. Raises `WebhookRefusedError`."""
    delivery, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    signatures = [
        word.partition(",")[2] for word in headers.get("webhook-signature", "").split() if word.startswith("v1,")
    ]
    if not delivery or not signatures:
        raise WebhookRefusedError("the webhook is not signed")
    expected = _hmac(secret, delivery, at, body)
    if not any(hmac.compare_digest(expected.encode(), one.encode("utf-8", "replace")) for one in signatures):
        raise WebhookRefusedError("the webhook's signature does not hold")
    check_time(at, now)
    return delivery


def signed_headers(delivery: str, at: int, body: bytes, secret: Secret) -> dict[str, str]:
    """The headers of a webhook of ours."""
    return {
        "content-type": "application/json",
        "webhook-id": delivery,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{_hmac(secret, delivery, str(at), body)}",
    }


def _hmac(secret: Secret, delivery: str, at: str, body: bytes) -> str:
    text = secret.reveal()
    try:
        key = (
            base64.b64decode(text.removeprefix("whsec_"), validate=True) if text.startswith("whsec_") else text.encode()
        )
    except (ValueError, binascii.Error):
        raise ConfigError("the secret of webhooks is not base64 behind whsec_") from None
    if not key:
        raise ConfigError("there is no secret of webhooks", hint="set one with `innkeeper admin vault set`")
    return base64.b64encode(hmac.new(key, f"{delivery}.{at}.".encode() + body, hashlib.sha256).digest()).decode()


def check_ed25519(headers: Mapping[str, str], body: bytes, keys: Iterable[Mapping[str, Any]], now: float) -> str:
    """The request of a webhook of fal's that one of the published keys (a JWKS) signed. Raises `WebhookRefusedError`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    names = ("request-id", "user-id", "timestamp")
    request, user, at = (headers.get(f"x-fal-webhook-{name}", "") for name in names)
    try:
        signature = bytes.fromhex(headers.get("x-fal-webhook-signature", ""))
    except ValueError:
        signature = b""
    if not request or not signature:
        raise WebhookRefusedError("the webhook is not signed")
    message = "\n".join((request, user, at, hashlib.sha256(body).hexdigest())).encode()
    for key in keys:
        try:
            raw = base64.urlsafe_b64decode(str(key.get("x", "")) + "==")
            Ed25519PublicKey.from_public_bytes(raw).verify(signature, message)
        except (InvalidSignature, ValueError, binascii.Error):
            continue
        check_time(at, now)
        return request
    raise WebhookRefusedError("the webhook's signature does not hold")
