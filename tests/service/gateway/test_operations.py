"""The table of operations: schemas that are schemas, functions that are there, arguments that they take."""

from inspect import signature
from typing import Any

import jsonschema
import pytest

from innkeeper.service import Gateway
from innkeeper.service.gateway.engine import Engine
from innkeeper.service.gateway.operations import OPERATIONS
from tests.service.gateway.calls import get, post


@pytest.fixture(scope="module")
def apis() -> dict[str, Any]:
    """What the gateway says of each operation, by its name."""
    said = post(Gateway(), "modules/api_gateway/list_apis", {})[1]["apis"]
    return {f"{api['namespace']}/{api['path']}": api for api in said}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_schemas(name: str, apis: dict[str, Any]) -> None:
    """Schemas are valid and complete in themselves, required arguments said, and paths are in a namespace."""
    for part in ("input_schema", "output_schema"):
        jsonschema.Draft202012Validator.check_schema(apis[name][part])
    operation = OPERATIONS[name]
    asked = {argument: None for argument in operation.types if argument not in operation.required}
    schema = {**apis[name]["input_schema"], "required": []}
    assert jsonschema.Draft202012Validator(schema).is_valid(asked)
    assert tuple(apis[name]["input_schema"].get("required", ())) == operation.required
    assert operation.namespace in {"modules", "workflow", "plugins"}


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


@pytest.mark.parametrize("name", sorted(name for name, found in OPERATIONS.items() if isinstance(found.run, Engine)))
def test_engine_takes_the_arguments(name: str) -> None:
    """The function of the engine has a parameter for each argument, and every one without a default is an argument."""
    operation = OPERATIONS[name]
    assert isinstance(operation.run, Engine)
    parameters = signature(operation.run.function()).parameters
    needed = {parameter.name for parameter in parameters.values() if parameter.default is parameter.empty}
    assert needed <= set(operation.required)
    assert set(operation.types) <= set(parameters)
    assert {"options" if extra == "macro_options" else extra for extra in operation.run.extras} <= set(parameters)
