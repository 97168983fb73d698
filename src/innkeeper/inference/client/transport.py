"""Transports beneath a client: httpx, or aiohttp, which takes a tenth of its work a call; and their errors as our own.

A service that passes answers on spends most of its time in its HTTP client: `QuickSession` is what `AsyncClient` uses of an
`httpx.AsyncClient`, over aiohttp. What goes wrong is raised as httpx's own errors, so that whoever uses it need not know which of
the two it is; `broken` is our error for one of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from innkeeper.inference.client.endpoint import Endpoint, sample
from innkeeper.inference.errors import DecodeError, ProviderConnectionError, ProviderTimeoutError, StreamCutError
from innkeeper.prompt import ProviderError

if TYPE_CHECKING:
    import ssl

    import aiohttp
    import httpx

    from innkeeper.inference.client.egress import Egress


IDLE_CONNECTIONS: Final = 64
"""Connections that a client keeps open between requests. How many are in use at once is for its caller to limit."""


class QuickAnswer(NamedTuple):
    """An answer whose body is to be read."""

    status_code: int
    headers: Any
    body: Any

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The body as it comes, unpacked."""
        with _translated():
            async for piece in self.body.iter_any():
                yield piece


class QuickSession:
    """The connections to one endpoint. One instance belongs to one event loop.

    ``longest_read``: seconds after which a read surely ends by itself.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint, self.longest_read = endpoint, endpoint.timeout
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def stream(self, method: str, url: str, content: bytes | None, headers: dict[str, str]) -> AsyncIterator[Any]:
        """Send a request; its answer, whose connection is closed with the block unless the body was read."""
        from yarl import URL

        with _translated():
            answer = await self._opened().request(
                method, URL(url, encoded=True), data=content, headers=headers, allow_redirects=False
            )
        try:
            yield QuickAnswer(answer.status, answer.headers, answer.content)
        finally:
            answer.release()

    async def aclose(self) -> None:
        """Close the connections."""
        from asyncio import sleep  # here, so that a blocking client does not load it

        session, self._session = self._session, None
        if session is not None:
            await session.close()
            await sleep(0)  # sockets are let go in the loop's next round

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp
            import httpx

            endpoint, total = self._endpoint, self._endpoint.total_timeout
            secure = endpoint.base_url.startswith("https://")
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=httpx.create_ssl_context() if secure else False),
                timeout=aiohttp.ClientTimeout(
                    total=None, connect=min(endpoint.open_timeout, total), sock_read=min(endpoint.timeout, total)
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


@contextmanager
def _translated() -> Iterator[None]:
    """What aiohttp raises, as httpx's error for the same."""
    import aiohttp
    import httpx

    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise httpx.ConnectTimeout(str(error)) from error
    except aiohttp.ServerTimeoutError as error:
        raise httpx.ReadTimeout(str(error)) from error
    except aiohttp.InvalidURL as error:
        raise httpx.InvalidURL(str(error)) from error
    except aiohttp.ClientConnectorError as error:
        raise httpx.ConnectError(str(error)) from error
    except aiohttp.ClientPayloadError as error:
        kind = httpx.DecodingError if "content-encoding" in str(error).lower() else httpx.RemoteProtocolError
        raise kind(str(error)) from error
    except aiohttp.ServerDisconnectedError as error:
        raise httpx.RemoteProtocolError(str(error)) from error
    except (aiohttp.ClientError, ValueError) as error:
        raise httpx.RemoteProtocolError(str(error) or type(error).__name__) from error
    except OSError as error:
        raise httpx.ReadError(str(error)) from error


def connections(
    endpoint: Endpoint, *, transport: Any, egress: Egress | None, quick: bool
) -> httpx.AsyncClient | QuickSession:
    """Open what asks an endpoint: aiohttp where ``quick`` asks for it and it serves, else httpx. No connection is made yet."""
    from urllib.request import getproxies

    if quick and transport is None and egress is None and find_spec("aiohttp") is not None and not getproxies():
        return QuickSession(endpoint)
    import httpx

    total = endpoint.total_timeout
    client = httpx.AsyncClient(
        transport=transport,
        timeout=httpx.Timeout(min(endpoint.timeout, total), connect=min(endpoint.open_timeout, total)),
        verify=trust(endpoint),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS),
        trust_env=egress is None,
    )
    if egress is None:
        return client
    from innkeeper.inference.client.sockets import guard_connections

    return guard_connections(client, egress)


def trust(endpoint: Endpoint) -> ssl.SSLContext | bool:
    """What TLS connections to an endpoint are checked by, as httpx takes it.

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
