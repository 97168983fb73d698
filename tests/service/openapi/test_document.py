"""The OpenAPI document: it says what the application has, all of it and nothing else."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Mount, Route

from innkeeper.inference.requests.request import MAX_CHOICES
from innkeeper.service import Keys, Settings, create_app
from innkeeper.service.gateway.operations import OPERATIONS

_METHODS = ("get", "post", "put", "delete", "patch")


def document(settings: Settings | None = None) -> Any:
    """The document as the service gives it."""

    async def ask() -> Any:
        app = create_app(settings)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            headers = {} if settings is None else {"x-api-key": "k"}
            return (await client.get("/openapi.json", headers=headers)).json()

    return asyncio.run(ask())


@pytest.fixture(scope="module")
def described() -> Any:
    """The document of a service without a key."""
    return document()


def test_all_routes(described: Any) -> None:
    """Every route and method of the application is described, and nothing that it has not."""
    has = {(f"/api/{name}", method) for name in OPERATIONS for method in ("get", "post")}
    has |= {("/api/health", "get"), ("/api/info", "get"), ("/prompt.v1.PromptService/Run", "post")}
    for route in create_app().routes:
        assert isinstance(route, (Route, Mount)) or route.path == "/ws"  # type: ignore[attr-defined]
        if isinstance(route, Route) and route.path != "/api/{path:path}":
            path = re.sub(r":\w+}", "}", route.path)
            has |= {(path, method.lower()) for method in route.methods or () if method != "HEAD"}
    assert {(path, method) for path, item in described["paths"].items() for method in item} == has


def test_schemas(described: Any) -> None:
    """Every schema is one, every reference goes to one that is there, and none is left over."""
    schemas, found = described["components"]["schemas"], set()
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.update([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    walk(described)
    assert found == {f"#/components/schemas/{name}" for name in schemas}


def schemas_in(value: Any) -> Iterator[dict[str, Any]]:
    """Return all objects in a value."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from schemas_in(part)


def test_every_operation_can_be_typed(described: Any) -> None:
    """Lists say what they hold, and defaults are among what is allowed: generators of clients leave no operation out."""
    for schema in schemas_in(described):
        kinds = schema.get("type", ())
        if "array" in ([kinds] if isinstance(kinds, str) else kinds):
            assert "items" in schema, schema
        if isinstance(schema.get("enum"), list):
            assert schema.get("default", schema["enum"][0]) in schema["enum"], schema
            assert not any(isinstance(value, bool) for value in schema["enum"]), schema


def test_limits(described: Any) -> None:
    """What is written in the schemas of others' protocols is what is read."""
    for name in ("ChatRequest", "CompletionRequest"):
        assert described["components"]["schemas"][name]["properties"]["n"]["maximum"] == MAX_CHOICES


def test_parameters(described: Any) -> None:
    """What stands in a path in braces is described as a parameter of it, and errors have a schema."""
    for path, item in described["paths"].items():
        for method, operation in item.items():
            assert method in _METHODS
            named = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))
            assert "default" in operation["responses"]


def test_keys() -> None:
    """A service with keys says which way they are sent, and which pages need none."""
    keyed = document(Settings(keys=Keys("k")))
    assert keyed["security"] == [{"bearer": []}, {"key": []}]
    open_to_all = {path for path, item in keyed["paths"].items() for one in item.values() if one.get("security") == []}
    assert open_to_all == {"/", "/health", "/ready", "/v1/jobs/webhooks/{backend}/{job_id}"}  # the last are signed
