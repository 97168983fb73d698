"""Bodies of operations: what the OpenAPI document says of them is what is read."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from innkeeper.prompt.errors import UsageError
from innkeeper.service.operations.http import HttpPath, described
from innkeeper.service.operations.paths import JOBS, SCENES, STORED, TASKS, WORKERS

POSTS = [path for path in (*TASKS, *JOBS, *WORKERS, *SCENES, *STORED) if path.method == "POST" and not path.signed]
WHOLE = [path for path in POSTS if not path.fields and not path.operation.whole]


def schema_of(path: HttpPath) -> dict[str, Any]:
    """The schema of a path's body, complete in itself."""
    described_paths, schemas = described([path])
    body = described_paths[path.path]["post"].get("requestBody", {"content": {"application/json": {"schema": {}}}})
    return {**body["content"]["application/json"]["schema"], "components": {"schemas": schemas}}


def accepted(path: HttpPath, body: dict[str, Any]) -> bool:
    """Whether an operation reads a body."""
    try:
        path.operation.read(body)
    except UsageError:
        return False
    return True


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.path)
def test_what_is_described_is_what_is_read(path: HttpPath) -> None:
    """Null where a field may be left out, a field that lacks, one too many, a wrong type: schema and reader agree."""
    schema, fields = schema_of(path), path.operation.request.__struct_encode_fields__
    validator = Draft202012Validator(schema)
    bodies: list[dict[str, Any]] = [{}, dict.fromkeys(fields), {"no_such_field": 1}]
    values: list[Any] = ["", None, [[]], 2.0]
    bodies += [{name: value} for name in fields for value in values]
    for body in bodies:
        if validator.is_valid(body):
            assert accepted(path, body), body
        elif "no_such_field" in body:
            assert not accepted(path, body), body
