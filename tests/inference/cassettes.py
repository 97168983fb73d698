"""Recorded provider traffic as clients that replay it, and as answers that an adapter reads."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import yaml
from msgspec import Struct

from innkeeper.inference.client.blocking import Client
from tests import shared

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Ten times as fast where PyYAML came with it."""

__all__ = ["Interaction", "Recorded", "interactions", "recorded"]


class Interaction(Struct):
    """One recorded request and its answer."""

    request: dict[str, Any]
    status: int
    headers: dict[str, str]
    raw: bytes

    def client(self, piece_bytes: int = 0) -> Client:
        """A client whose provider answers as recorded, at once or in pieces of so many bytes."""
        size = piece_bytes or len(self.raw)
        pieces = (self.raw[start : start + size] for start in range(0, len(self.raw), size))
        answer = httpx.Response(self.status, headers=self.headers, content=pieces)
        return Client("http://recorded", transport=httpx.MockTransport(lambda _: answer))


def interactions(path: Path) -> list[Interaction]:
    """The chat completions of a cassette."""
    found = yaml.load(path.read_text("utf-8"), LOADER)["interactions"]  # noqa: S506 - both are safe
    return [_interaction(one) for one in found if one["request"]["uri"].endswith("/chat/completions")]


def _interaction(one: dict[str, Any]) -> Interaction:
    request, response = one["request"], one["response"]
    string = (response.get("body") or {}).get("string")
    if string is None:
        string = json.dumps(response["parsed_body"])
    raw = string if isinstance(string, bytes) else string.encode()
    named = {name.lower(): values[0] for name, values in response["headers"].items()}
    headers = {"content-type": named.get("content-type", "application/json")}
    if isinstance(string, bytes):
        headers["content-encoding"] = named["content-encoding"]
    body = request.get("parsed_body") or json.loads(request["body"])
    return Interaction(body, response["status"]["code"], headers, raw)


ADAPTERS = {
    "/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic-messages",
    ":generateContent": "gemini-generateContent",
    ":streamGenerateContent": "gemini-generateContent",
}
"""Adapters by how the path of an address ends."""


class Recorded(Struct):
    """One recorded answer, and the adapter that it is for."""

    name: str
    adapter: str
    status: int
    kind: str
    raw: bytes

    @property
    def streams(self) -> bool:
        """Whether it came as a stream."""
        return "event-stream" in self.kind

    def data(self) -> list[Any]:
        """What it says: the one body, or the pieces of the stream."""
        if not self.streams:
            return [json.loads(self.raw)]
        lines = self.raw.decode().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def recorded() -> Iterator[Recorded]:
    """All recorded answers that an adapter is for."""
    for folder in ("fixtures/llm_cassettes", "fixtures/pydantic_ai_cassettes"):
        for path in shared.files(folder, "*.yaml"):
            found = yaml.load(path.read_text("utf-8"), LOADER)["interactions"]  # noqa: S506 - both are safe
            for number, one in enumerate(found):
                url = one["request"]["uri"].partition("?")[0]
                adapter = next((name for end, name in ADAPTERS.items() if url.endswith(end)), None)
                if adapter is not None:
                    yield _recorded(f"{path.stem}-{number}", adapter, one["response"])


def _recorded(name: str, adapter: str, response: dict[str, Any]) -> Recorded:
    string = (response.get("body") or {}).get("string")
    raw = json.dumps(response["parsed_body"]).encode() if string is None else string
    raw = gzip.decompress(raw) if isinstance(string, bytes) else raw.encode() if isinstance(raw, str) else raw
    kinds = {key.lower(): values[0] for key, values in response["headers"].items()}
    return Recorded(name, adapter, response["status"]["code"], kinds.get("content-type", ""), raw)
