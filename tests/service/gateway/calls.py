"""How tests call a gateway in this process."""

import json
from functools import cache
from typing import Any

from innkeeper.service import Gateway, Request

JSON_HEADERS = {"Content-Type": "application/json"}


@cache
def gateway() -> Gateway:
    """A gateway for tests that leave nothing in it, made when the first wants it: it reads the detectors' words."""
    return Gateway()


def post(gateway: Gateway, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    """Status and body of one call."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    reply = gateway.answer(Request.of("POST", f"/api/{path}", {**JSON_HEADERS, **named}, data))
    return reply.status, json.loads(reply.body)


def get(gateway: Gateway, target: str) -> tuple[int, Any]:
    """Status and body of one GET."""
    reply = gateway.answer(Request.of("GET", target))
    return reply.status, json.loads(reply.body)
