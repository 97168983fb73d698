"""The table of operations: schemas that are schemas, functions that are there, arguments that they take."""

from typing import Any

import jsonschema
import pytest

from innkeeper.service import Gateway
from innkeeper.service.gateway.operations import OPERATIONS
from tests.service.gateway.calls import post


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
