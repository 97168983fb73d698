"""AsyncClient: the answers of `Client`, awaited; leaving a stream early closes it at once."""

import asyncio
from typing import Any

import httpx
import pytest

from innkeeper.inference.client.async_client import AsyncClient
from innkeeper.inference.fake.provider import EchoServer
from innkeeper.prompt import UsageError

HELLO = [{"role": "user", "content": "Hello"}]


def test_answers() -> None:
    """Whole answers, streams, models and embeddings are those of the other client."""

    async def run(url: str) -> list[Any]:
        heard: list[str] = []
        async with AsyncClient(url, api_prefix="/v1") as client:
            whole = await client.chat("m", HELLO)
            streamed = await client.chat("m", HELLO, stream=True, include_usage=True, on_delta=heard.append)
            models = await client.models()
            vectors = await client.embeddings(model="e", input="a")
        return [whole.content, heard, streamed.usage, models.body["object"], len(vectors.body["data"]), repr(client)]

    with EchoServer("It is late.", "It is late.") as server:
        found = asyncio.run(run(server.base_url))
        usage = {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}
        assert found == [
            "It is late.",
            ["It ", "is ", "late."],
            usage,
            "list",
            1,
            f"AsyncClient('{server.base_url}/v1')",
        ]


def test_leaving_a_stream_early_closes_it() -> None:
    """The connection is closed when the block is left, not some time later."""
    ended: list[bool] = []

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            while True:
                yield b'data: {"choices": [{"delta": {"content": "again "}}]}\n\n'

        async def aclose(self) -> None:
            ended.append(True)

    async def run() -> str:
        client = AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=Body())))
        async with client.chat_stream("m", HELLO) as stream:
            assert stream.partial == ""
            async for _ in stream:
                break
            with pytest.raises(UsageError, match="has not ended"):
                _ = stream.reply
        assert ended == [True]
        return stream.partial

    assert asyncio.run(run()) == "again "


def test_misuse() -> None:
    """Unknown settings and streams in the wrong place are refused."""
    with pytest.raises(UsageError, match="unknown setting 'tiemout'"):
        AsyncClient("http://h", tiemout=3)
    with pytest.raises(UsageError, match="whole answers"):
        asyncio.run(AsyncClient("http://h").chat_completions(stream=True))
