"""A request through the pool: framed, computed by a worker, and back; against the same work in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Final

from benchmarks.case import Case
from innkeeper.service import Gateway, Request, Settings
from innkeeper.service.gateway.operations import OPERATIONS
from innkeeper.service.gateway.state import AppState
from innkeeper.service.processes.pool import Pool

TABLE: Final = "innkeeper.service.gateway.operations:OPERATIONS"
MACRO: Final = "/api/modules/smarttavern/macro/process_text"
CONSTRUCT: Final = "/api/modules/smarttavern/in_chat_constructor/construct"


def cases() -> Iterator[Case]:
    """A small macro, and constructing with 40 messages and 50 conditions, one call after the other."""
    small = {"text": "{{upper:a}}"}
    yield _case("one macro", MACRO, small, "what the way to the worker costs")
    yield _case("construct", CONSTRUCT, _chat(), "40 messages, 50 conditions")


def _case(name: str, path: str, arguments: dict[str, Any], note: str) -> Case:
    request = Request("POST", path, headers={"content-type": "application/json"}, body=json.dumps(arguments).encode())
    loop, settings, gateway = asyncio.new_event_loop(), Settings(), Gateway(Settings())
    pool = Pool(settings, TABLE, AppState(settings, OPERATIONS))

    def through() -> None:
        assert loop.run_until_complete(pool.answer(request, "a")).status == 200

    return Case(name, through, lambda: gateway.answer(request), "in this process", note)


def _chat() -> dict[str, Any]:
    history = [{"role": ("user", "assistant")[n % 2], "content": f"Message {n} about the ferry."} for n in range(40)]
    place = {"mode": "conditional", "position": "user", "depth": 0, "order": 1, "enabled": True}
    entries = [
        {"id": n, "name": f"e{n}", "condition": f"<<keywords:ferry,word{n}>>", "content": f"Text {n}", **place}
        for n in range(50)
    ]
    return {"history": history, "presets_in_chat": [], "world_books": [entries]}
