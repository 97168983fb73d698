"""The wire of media: JSON calls of providers' addresses, and results from wherever they lie.

Providers are the operator's choice, so their addresses are called as they are. Where a result lies, and where a message about a
job goes, somebody else has said: there only the open internet is called (`Egress`), unless the operator allows more.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.inference.client.egress import Egress
from innkeeper.inference.client.endpoint import Endpoint, encoded, public_headers, raise_for_status, sample
from innkeeper.inference.client.sockets import guard_connections
from innkeeper.inference.client.transport import broken, transport_errors
from innkeeper.inference.errors import DEFAULT_OPEN_TIMEOUT, DecodeError
from innkeeper.jobs.assets import joined
from innkeeper.prompt.data import parse_json
from innkeeper.prompt.errors import InputError, ProviderError
from innkeeper.prompt.machine import Secret

if TYPE_CHECKING:
    import httpx


LOG: Final = logging.getLogger("innkeeper.jobs")

_SECONDS: Final = 60.0
_SUCCESS: Final = range(200, 300)


class MediaWire:
    """Connections for all backends of one process; threads share it.

    ``egress`` is what this process allows, for the jobs that it accepts; ``transport`` is an ``httpx`` transport, for tests.
    """

    def __init__(self, egress: Egress | None = None, transport: Any = None, seconds: float = _SECONDS) -> None:
        self.egress = egress or Egress()
        self._transport = transport
        self._seconds = seconds
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, ...] | None, httpx.Client] = {}

    def call(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        seconds: float | None = None,
        key: Secret | None = None,
        hosts: tuple[str, ...] | None = None,
    ) -> Any:
        """One call of a provider: its body. Raises `ProviderError` and its kin, with the key taken out of what they say.

        ``hosts`` is where one whose address is its own word may be beside the open internet (`AddressRefusedError`).
        """
        endpoint, egress = _endpoint(url, key), None if hosts is None else Egress(hosts)
        if egress is not None:
            egress.check(url)
        content = None if json is None else encoded(json)
        sent = {"accept": "application/json", **({} if content is None else {"content-type": "application/json"})}
        try:
            response = self._client(egress).request(
                method, url, content=content, headers={**sent, **(headers or {})}, timeout=seconds or self._seconds
            )
        except transport_errors() as error:
            raise _broken(error, endpoint) from error
        if response.status_code in _SUCCESS and not response.content:
            return {}
        raise_for_status(response.status_code, public_headers(response.headers, endpoint), response.content, endpoint)
        try:
            return parse_json(response.content, asset="answer")
        except InputError as error:
            raise DecodeError("the provider's answer is no JSON", sample=sample(response.content, endpoint)) from error

    def fetch(self, url: str, egress: Egress | None) -> bytes:
        """A result, from where ``egress`` lets it come; None: from wherever.

        Raises `ProviderError`, `AddressRefusedError`, `LimitError`.
        """
        endpoint = _endpoint(url, None)
        if egress is not None:
            egress.check(url)
        try:
            with self._client(egress).stream("GET", url) as response:
                if response.status_code not in _SUCCESS:
                    raise_for_status(response.status_code, dict(response.headers), response.read()[:4096], endpoint)
                return joined(response.iter_bytes())
        except transport_errors() as error:
            raise _broken(error, endpoint) from error

    def post(self, url: str, body: bytes, headers: Mapping[str, str], egress: Egress, seconds: float = 10.0) -> int:
        """A message to an address that somebody else has said; its status. Raises `ProviderError`, `AddressRefusedError`."""
        egress.check(url)
        try:
            return int(self._client(egress).post(url, content=body, headers=dict(headers), timeout=seconds).status_code)
        except transport_errors() as error:
            raise _broken(error, _endpoint(url, None)) from error

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def _client(self, egress: Egress | None) -> httpx.Client:
        """The client whose connections go where ``egress`` lets them; None: wherever the operator says."""
        name = None if egress is None else egress.allowed
        with self._lock:
            if name not in self._clients:
                self._clients[name] = self._opened(egress)
            return self._clients[name]

    def _opened(self, egress: Egress | None) -> httpx.Client:
        import httpx

        times = httpx.Timeout(self._seconds, connect=DEFAULT_OPEN_TIMEOUT)
        limits = httpx.Limits(max_connections=256, max_keepalive_connections=32)
        client = httpx.Client(transport=self._transport, timeout=times, limits=limits, trust_env=egress is None)
        return client if egress is None or self._transport is not None else guard_connections(client, egress)


def _endpoint(url: str, key: Secret | None) -> Endpoint:
    """An endpoint to take the key and the address out of what errors quote: they are kept with jobs, which their owners read."""
    plain = url.partition("?")[0]
    return Endpoint(base_url=plain, api_prefix="", secrets=() if not key else (key,), name="this job")


def _broken(error: Exception, endpoint: Endpoint) -> ProviderError:
    """Our error for one of the transport's; the log has the address."""
    failure = broken(error, endpoint)
    LOG.warning("%s", failure.origin)
    return failure


Clock = Callable[[], float]
"""Seconds since 1970."""
