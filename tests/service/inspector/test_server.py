"""The inspector beside a service, behind its keys."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from innkeeper.service.guard.application import guarded_application
from innkeeper.service.guard.grants import Grant, Keys
from innkeeper.service.guard.work import Gate
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.server import entrance
from innkeeper.service.inspector.surface import Inspector
from innkeeper.service.settings import Settings
from tests.service.inspector.opened import BASE, session_of

WORKSPACE = "/v1/inspector/workspace"
KEYS = Keys("open", "narrow", grants={"narrow": Grant(scope=("chat",))})


def service(keys: Keys) -> tuple[TestClient, Inspector]:
    """A service with an inspector beside it."""

    async def other(_: Any) -> PlainTextResponse:
        return PlainTextResponse("other")

    settings = Settings(keys=keys)
    inspector = Inspector(session_of({}), Access())
    gate = Gate(calls=4, volume=2**28, keys=keys)
    routes = [*inspector.routes, Route("/{path:path}", other)]
    app = guarded_application(routes, settings, gate, access=inspector.access)
    return TestClient(app, base_url=BASE, follow_redirects=False), inspector


@pytest.mark.parametrize(("key", "status"), [("open", 200), ("narrow", 403), ("wrong", 401), ("", 401)])
def test_a_key_with_the_scope_may_look(key: str, status: int) -> None:
    """Others may not, nor who brings none; a program with a key needs no origin, also where something changes."""
    client, _ = service(KEYS)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    assert client.get(WORKSPACE, headers=headers).status_code == status
    changed = client.post("/v1/inspector/files?name=a", content=b"{}", headers=headers)
    assert changed.status_code == (status if key in {"open", "narrow", "wrong"} else 403)


def test_who_opens_the_address_looks_without_a_key() -> None:
    """Under any name of the service: the cookie belongs to that name."""
    client, inspector = service(KEYS)
    assert client.get(entrance("", inspector.access)).status_code == 303
    assert client.get(WORKSPACE).status_code == 200


def test_a_service_without_keys_is_opened_by_its_address_alone() -> None:
    """As `innkeeper inspect` is."""
    client, inspector = service(Keys())
    assert client.get(WORKSPACE).status_code == 401
    assert client.get(entrance("", inspector.access)).status_code == 303
    assert client.get(WORKSPACE).status_code == 200
    assert client.get(WORKSPACE, headers={"host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(("path", "text"), [("/", "other"), ("/v1/models", "other"), ("/inspectors", "other")])
def test_all_else_is_the_service(path: str, text: str) -> None:
    """Only the inspector's own paths are its."""
    client, _ = service(Keys())
    assert client.get(path).text == text
