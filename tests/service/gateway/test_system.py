"""System pages: what the gateway says of itself."""

from typing import Any

from innkeeper.service import Gateway, Keys, Settings
from innkeeper.service.gateway.operations import OPERATIONS
from tests.service.gateway.calls import get, post

MACRO = "modules/smarttavern/macro"


def test_openapi_with_keys() -> None:
    """Where a key is needed, the OpenAPI document says so."""
    assert get(Gateway(Settings(keys=Keys("k"))), "/openapi.json")[1]["security"] == [{"bearer": []}, {"key": []}]


def test_registry() -> None:
    """The list of operations has each once, with its schemas; so does the OpenAPI document, for GET and POST."""
    gateway = Gateway()
    _, listed = post(gateway, "modules/api_gateway/list_apis", {})
    assert listed["total"] == len(listed["apis"]) == len(OPERATIONS)
    assert {f"{api['namespace']}/{api['path']}" for api in listed["apis"]} == set(OPERATIONS)
    assert all(api["description"] and api["input_schema"]["type"] == "object" for api in listed["apis"])
    _, document = get(gateway, "/openapi.json")
    paths = {path: set(methods) for path, methods in document["paths"].items() if "smarttavern" in path}
    assert {f"/api/{name}" for name in OPERATIONS if "smarttavern" in name} == set(paths)
    assert set(map(frozenset, paths.values())) == {frozenset({"get", "post"})}
    assert "security" not in document
    _, info = get(gateway, "/api/info")
    assert (info["endpoints"], info["websocket_connections"]) == (len(OPERATIONS), 0)
    _, config = post(gateway, "modules/api_gateway/info", {})
    assert (config["endpoints"], config["config"]["key"]) == (len(OPERATIONS), False)


def test_openapi_refers_to_what_it_has() -> None:
    """Every reference of the OpenAPI document is to one of its components."""
    _, document = get(Gateway(), "/openapi.json")
    found = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.update([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    walk(document)
    assert found == {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
