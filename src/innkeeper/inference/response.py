"""Response: one answer of a provider, decoded; and the errors that statuses and bodies become."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.inference.endpoint import Endpoint
from innkeeper.inference.errors import DecodeError, HttpError, ReplyError
from innkeeper.inference.limits import SAMPLE_CHARACTERS

__all__ = ["Response", "decoded", "error_of", "public_headers", "raise_for_status", "sample"]

_SUCCESS: Final = range(200, 300)
_HIDDEN_HEADERS: Final = frozenset({"set-cookie", "authorization", "proxy-authorization", "www-authenticate"})


class Response(msgspec.Struct, frozen=True):
    """A status, the headers (lower-case names, cookies left out) and the body as JSON data."""

    status: int
    headers: Mapping[str, str]
    body: Any

    def __repr__(self) -> str:
        """The status and the kind of body only: answers may be private."""
        return f"Response(status={self.status}, body={type(self.body).__name__})"


def public_headers(headers: Mapping[str, str], endpoint: Endpoint) -> dict[str, str]:
    """A response's headers with lower-case names, without cookies, and without our secrets where they are echoed."""
    named = ((name.lower(), endpoint.redact(value)) for name, value in headers.items())
    return {name: value for name, value in named if name not in _HIDDEN_HEADERS}


def sample(raw: bytes | str, endpoint: Endpoint) -> str:
    """The start of a body for an error message: redacted, then cut, on one line."""
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    clean = " ".join(endpoint.redact(text)[: 64 * SAMPLE_CHARACTERS].split())
    shown = clean[:SAMPLE_CHARACTERS]
    return "".join(c if c.isprintable() else "\ufffd" for c in shown) + ("…" if len(clean) > len(shown) else "")


def decoded(status: int, headers: Mapping[str, str], raw: bytes, endpoint: Endpoint) -> Response:
    """A response from a whole body. Raises `HttpError`, `DecodeError`, or `ReplyError` for an error in a 200."""
    shown = public_headers(headers, endpoint)
    raise_for_status(status, shown, raw, endpoint)
    body = _json(raw, shown, endpoint)
    failure = error_of(body, endpoint)
    if failure is not None:
        raise failure
    return Response(status, shown, body)


def raise_for_status(status: int, headers: Mapping[str, str], raw: bytes, endpoint: Endpoint) -> None:
    """Raise `HttpError` unless ``status`` is a success; its message is the provider's own where the body has one."""
    if status in _SUCCESS:
        return
    try:
        body = json.loads(endpoint.redact(raw.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        body = None
    said = _message(body, endpoint)
    msg = f"the provider answered with status {status}" + (f": {said}" if said else "")
    raise HttpError(
        msg, status=status, headers=headers, sample=sample(raw, endpoint), body=body, hint=_HINTS.get(status)
    )


_HINTS: Final = {
    301: "redirects are not followed; use the address it points to as base_url",
    302: "redirects are not followed; use the address it points to as base_url",
    307: "redirects are not followed; use the address it points to as base_url",
    308: "redirects are not followed; use the address it points to as base_url",
    401: "check api_key (INNKEEPER_API_KEY)",
    403: "the key may not do this",
    404: "check base_url, api_prefix and the model's name",
    413: "the request is too large; shorten the prompt",
    429: "too many requests or no credit left; wait as long as retry-after says",
    529: "the provider is overloaded; try again later",
}


def error_of(body: Any, endpoint: Endpoint) -> ReplyError | None:
    """The error that a body or a stream event reports under ``error``, if it does."""
    if not isinstance(body, Mapping) or not body.get("error"):
        return None
    error = body["error"]
    code = error.get("code") if isinstance(error, Mapping) else None
    status = code if isinstance(code, int) and not isinstance(code, bool) else None
    said = _message(body, endpoint) or "no message"
    text = None if code is None else sample(str(code), endpoint)
    return ReplyError(f"the provider reports an error: {said}", code=text, status=status)


def _message(body: Any, endpoint: Endpoint) -> str:
    """``error.message`` in its usual spellings."""
    error = body.get("error", body.get("detail")) if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        error = error.get("message")
    if error is None and isinstance(body, Mapping):
        error = body.get("message")
    return sample(error, endpoint) if isinstance(error, str) else ""


def _json(raw: bytes, headers: Mapping[str, str], endpoint: Endpoint) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        kind = headers.get("content-type", "no content type").partition(";")[0]
        msg = f"the provider's answer is not JSON ({sample(kind, endpoint)}, {len(raw):,} bytes)"
        hint = "check base_url and api_prefix: this looks like a web page" if "html" in kind else None
        raise DecodeError(msg, sample=sample(raw, endpoint), hint=hint) from error
