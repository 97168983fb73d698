"""QuickSession: what `AsyncClient` uses of an `httpx.AsyncClient`, over aiohttp: a tenth of its work a call.

A service that passes answers on spends most of its time in its HTTP client. What goes wrong is raised as httpx's own errors, so
that whoever uses it need not know which of the two it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.request import getproxies

from innkeeper.inference.client.endpoint import Endpoint

if TYPE_CHECKING:
    import aiohttp


def is_quick(endpoint: Endpoint) -> bool:
    """Whether a session can be used: the library is installed, and no proxy stands between, which httpx knows better."""
    return find_spec("aiohttp") is not None and not getproxies()


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
    """The connections to one endpoint. One instance belongs to one event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
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
        session, self._session = self._session, None
        if session is not None:
            await session.close()
            await asyncio.sleep(0)  # sockets are let go in the loop's next round

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp
            import httpx

            place = self._endpoint
            total = place.total_timeout
            times = aiohttp.ClientTimeout(
                total=None, connect=min(place.open_timeout, total), sock_read=min(place.timeout, total)
            )
            secure = place.base_url.startswith("https://")
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=httpx.create_ssl_context() if secure else False),
                timeout=times,
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
