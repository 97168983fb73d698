"""ThreadedTransport: a blocking ``httpx`` transport, for tests and special networks, as one of event loops."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from innkeeper.inference.client.portal import in_thread


class ThreadedTransport(httpx.AsyncBaseTransport):
    """Asks ``inner`` in a thread of its own, which is left behind where nobody waits any more."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        content = await request.aread()
        asked = httpx.Request(
            request.method, request.url, headers=request.headers, content=content, extensions=request.extensions
        )
        answer = await in_thread(lambda: self._inner.handle_request(asked))
        return httpx.Response(
            answer.status_code,
            headers=answer.headers,
            stream=_ThreadedStream(answer.stream),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        """Close the transport."""
        await in_thread(self._inner.close)


class _ThreadedStream(httpx.AsyncByteStream):
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces: Iterator[bytes] = iter(self._inner)
        while (piece := await in_thread(lambda: next(pieces, None))) is not None:
            yield piece

    async def aclose(self) -> None:
        """Close the body."""
        await in_thread(self._inner.close)
