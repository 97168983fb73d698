"""Signatures of webhooks: one that holds is taken, any other is refused."""

import base64
import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from innkeeper.jobs.backend import WebhookRefusedError
from innkeeper.jobs.signatures import check_ed25519, check_hmac, signed_headers
from innkeeper.prompt.errors import ConfigError
from innkeeper.prompt.machine import Secret

SECRET = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
BODY = b'{"test": 2432232314}'
AT = 1614265330


def test_published_example() -> None:
    """The example that the specification of Standard Webhooks gives."""
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": str(AT),
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    assert check_hmac(headers, BODY, SECRET, AT + 10) == headers["webhook-id"]
    assert signed_headers(headers["webhook-id"], AT, BODY, SECRET).items() >= headers.items()


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "other"},
        {"webhook-id": ""},
        {"webhook-timestamp": str(AT + 1)},
        {"webhook-timestamp": "soon"},
        {"webhook-signature": ""},
        {"webhook-signature": "v2,g0hM9SsE"},
        {"webhook-signature": "v1,\xff"},
    ],
)
def test_hmac_refused(change: dict[str, str]) -> None:
    """A webhook with anything changed is refused; so is one of another time, and one of several signatures is enough."""
    headers = signed_headers("one", AT, BODY, SECRET)
    assert check_hmac({**headers, "webhook-signature": f"v1,x {headers['webhook-signature']}"}, BODY, SECRET, AT)
    with pytest.raises(WebhookRefusedError):
        check_hmac({**headers, **change}, BODY, SECRET, AT)
    for body, now in ((BODY + b" ", AT), (BODY, AT + 301), (BODY, AT - 301)):
        with pytest.raises(WebhookRefusedError):
            check_hmac(headers, body, SECRET, now)


def test_no_secret() -> None:
    """Nothing is signed without a secret, or with one that is none."""
    for secret in ("", "whsec_", "whsec_!"):
        with pytest.raises(ConfigError):
            signed_headers("one", AT, BODY, Secret(secret))


def fal_hook(body: bytes = BODY, at: int = AT) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """A webhook as fal signs it, and the keys that it publishes."""
    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"test").digest())
    other = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"other").digest())
    message = f"req-1\nuser-1\n{at}\n{hashlib.sha256(body).hexdigest()}".encode()
    headers = {
        "x-fal-webhook-request-id": "req-1",
        "x-fal-webhook-user-id": "user-1",
        "x-fal-webhook-timestamp": str(at),
        "x-fal-webhook-signature": private.sign(message).hex(),
    }
    public = [key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) for key in (other, private)]
    keys = [{"kty": "OKP", "x": base64.urlsafe_b64encode(raw).decode().rstrip("=")} for raw in public]
    return headers, [{"x": "!"}, *keys]


def test_ed25519() -> None:
    """A webhook that any of the published keys signed is taken; a changed one, one without a signature, an old one is not."""
    headers, keys = fal_hook()
    assert check_ed25519(headers, BODY, keys, AT) == "req-1"
    for changed, body, now in (
        ({**headers, "x-fal-webhook-user-id": "x"}, BODY, AT),
        ({**headers, "x-fal-webhook-signature": "zz"}, BODY, AT),
        (headers, BODY + b" ", AT),
        (headers, BODY, AT + 301),
        ({}, BODY, AT),
    ):
        with pytest.raises(WebhookRefusedError):
            check_ed25519(changed, body, keys, now)
    with pytest.raises(WebhookRefusedError):
        check_ed25519(headers, BODY, keys[:2], AT)
