"""What goes over the wire and what comes back, the same for both clients, without I/O.

Requests are written as bytes; answers are decoded into a `Response`; statuses, error bodies and failures of the transport
become our own errors. Secrets are redacted from everything that is shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.errors import (
    SAMPLE_CHARACTERS,
    DecodeError,
    HttpError,
    ProviderConnectionError,
    ProviderTimeoutError,
    ReplyError,
    StreamCutError,
)
from innkeeper.prompt import ProviderError, UsageError
from innkeeper.prompt.text import scalar_text

if TYPE_CHECKING:
    import ssl


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
    start = clean[:SAMPLE_CHARACTERS]
    return "".join(c if c.isprintable() else "\ufffd" for c in start) + ("…" if len(clean) > len(start) else "")


def decoded(status: int, headers: Mapping[str, str], raw: bytes, endpoint: Endpoint) -> Response:
    """A response from a whole body. Raises `HttpError`, `DecodeError`, or `ReplyError` for an error in a 200."""
    public = public_headers(headers, endpoint)
    raise_for_status(status, public, raw, endpoint)
    body = _json(raw, public, endpoint)
    failure = error_of(body, endpoint)
    if failure is not None:
        raise failure
    return Response(status, public, body)


def raise_for_status(status: int, headers: Mapping[str, str], raw: bytes, endpoint: Endpoint) -> None:
    """Raise `HttpError` unless ``status`` is a success; its message is the provider's own where the body has one."""
    if status in _SUCCESS:
        return
    try:
        body = json.loads(endpoint.redact(raw.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        body = None
    reason = _message(body, endpoint)
    msg = f"the provider answered with status {status}" + (f": {reason}" if reason else "")
    raise HttpError(
        msg, status=status, headers=headers, sample=sample(raw, endpoint), body=body, hint=_HINTS.get(status)
    )


_HINTS: Final = {
    301: "redirects are not followed; use the address it points to as base_url",
    302: "redirects are not followed; use the address it points to as base_url",
    307: "redirects are not followed; use the address it points to as base_url",
    308: "redirects are not followed; use the address it points to as base_url",
    401: "check the key: INNKEEPER_API_KEY, api_key, or `innkeeper keys set` with the name of the provider or host",
    403: "the key may not do this",
    404: "check base_url, api_prefix and the model's name",
    413: "the request is too large; shorten the prompt",
    429: "too many requests or no credit left; wait as long as retry-after says",
    529: "the provider is overloaded; try again later",
}


def error_of(body: Any, endpoint: Endpoint) -> ReplyError | None:
    """The error that a body or a stream event reports under ``error``, if it does.

    Its ``code`` is the provider's own word for it: of ``code``, ``type`` and ``status``, the first that is one, else a number.
    """
    if not isinstance(body, Mapping) or not body.get("error"):
        return None
    error = body["error"] if isinstance(body["error"], Mapping) else {}
    told = [error.get(name) for name in ("code", "type", "status")]
    number = next((one for one in told if isinstance(one, int) and not isinstance(one, bool)), None)
    word = next((one for one in told if isinstance(one, str) and one), None if number is None else str(number))
    reason = _message(body, endpoint) or "no message"
    text = None if word is None else sample(word, endpoint)
    return ReplyError(f"the provider reports an error: {reason}", code=text, status=number)


def _message(body: Any, endpoint: Endpoint) -> str:
    """``error.message`` in its usual spellings; Google puts the body of a failed stream into a list."""
    body = body[0] if isinstance(body, list) and body else body
    error = body.get("error", body.get("detail")) if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        error = error.get("message")
    if error is None and isinstance(body, Mapping):
        error = body.get("message")
    return sample(error, endpoint) if isinstance(error, str) else ""


def _json(raw: bytes, headers: Mapping[str, str], endpoint: Endpoint) -> Any:
    try:
        return json.loads(raw.decode(json.detect_encoding(raw), "replace"))
    except (ValueError, RecursionError) as error:
        kind = headers.get("content-type", "no content type").partition(";")[0]
        msg = f"the provider's answer is not JSON ({sample(kind, endpoint)}, {len(raw):,} bytes)"
        hint = "check base_url and api_prefix: this looks like a web page" if "html" in kind else None
        raise DecodeError(msg, sample=sample(raw, endpoint), hint=hint) from error


def encoded(request: Any) -> bytes:
    """A request as JSON, keys in the order it has them. Raises `UsageError` for what JSON cannot say."""
    try:
        text = json.dumps(request, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"the request is not JSON data: {error}"
        raise UsageError(msg) from error
    return scalar_text(text).encode()


def times(endpoint: Endpoint) -> Any:
    """The endpoint's times as the transport takes them; none is longer than the total."""
    import httpx

    total = endpoint.total_timeout
    return httpx.Timeout(min(endpoint.timeout, total), connect=min(endpoint.open_timeout, total))


def trust(endpoint: Endpoint) -> ssl.SSLContext | bool:
    """What TLS connections to an endpoint are checked by, as the transport takes it.

    An address without TLS has none to check, and reading the machine's certificates takes longer than all else before the first
    request: there a context that trusts nobody does. With a proxy, which may be reached by TLS itself, they are read.
    """
    import ssl
    from urllib.request import getproxies

    plain = endpoint.base_url.startswith("http://") and not getproxies()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True


def transport_errors() -> tuple[type[Exception], ...]:
    """What the transport raises for everything that is not the caller's fault."""
    import httpx

    # A host name that cannot be spelled in DNS surfaces as a UnicodeError of the resolver.
    return httpx.HTTPError, httpx.InvalidURL, UnicodeError


def broken(error: Exception, endpoint: Endpoint, *, partial: str | None = None) -> ProviderError:
    """Our error for one of `transport_errors`; ``partial`` is the text so far when a stream was under way."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return _late(error, endpoint, partial)
    failure = _failure(error, endpoint, partial)
    failure.origin = f"{endpoint.base_url}: {endpoint.redact(str(error)) or type(error).__name__}"
    return failure


def _failure(error: Exception, endpoint: Endpoint, partial: str | None) -> ProviderError:
    import httpx

    # What a transport says may hold addresses that nobody has written anywhere: those that a name was resolved to.
    reason = "" if endpoint.name else f": {sample(str(error), endpoint) or type(error).__name__}"
    if isinstance(error, httpx.DecodingError):
        return DecodeError(f"the provider's answer is not encoded as it says{reason}")
    if partial is not None:
        return StreamCutError(f"the stream from {endpoint.shown} broke{reason}", partial=partial)
    if isinstance(error, (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)):
        return ProviderConnectionError(f"the connection to {endpoint.shown} broke{reason}")
    hint = None if endpoint.name else "check base_url and that the server runs"
    failure = ProviderConnectionError(f"no connection to {endpoint.shown}{reason}", hint=hint)
    failure.opened = False
    return failure


def _late(error: Exception, endpoint: Endpoint, partial: str | None) -> ProviderTimeoutError:
    import httpx

    phases: dict[type, str] = {httpx.ConnectTimeout: "open", httpx.PoolTimeout: "open", httpx.WriteTimeout: "write"}
    phase = phases.get(type(error), "read")
    allowed = endpoint.open_timeout if isinstance(error, httpx.ConnectTimeout) else endpoint.timeout
    msg = f"no answer from {endpoint.shown} within {allowed:g} s ({phase})"
    return ProviderTimeoutError(msg, phase=phase, partial=partial or "")
