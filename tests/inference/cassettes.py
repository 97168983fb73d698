"""Recorded provider traffic as clients that replay it."""

import json
from pathlib import Path
from typing import Any

import httpx
import yaml
from msgspec import Struct

from innkeeper.inference.client.clients import Client

__all__ = ["Interaction", "interactions"]


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
    found = yaml.safe_load(path.read_text("utf-8"))["interactions"]
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
