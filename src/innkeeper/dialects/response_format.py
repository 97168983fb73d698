"""ResponseFormat: what kind of answer is asked for, read from the shapes in which callers say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from innkeeper.dialects.jsonable import jsonable

__all__ = ["ResponseFormat"]

DEFAULT_NAME = "response"


class ResponseFormat(msgspec.Struct, frozen=True):
    """``kind`` is text, json_object, json_schema, or the word that was found; the rest belongs to json_schema."""

    kind: str
    name: str = DEFAULT_NAME
    schema: Mapping[str, Any] | None = None
    strict: bool | None = None
    description: str | None = None

    @classmethod
    def of(cls, value: Any) -> ResponseFormat:
        """Read ``"json"``, ``{"type": ...}`` in the shape of Chat Completions or Responses, or a bare JSON Schema."""
        if not isinstance(value, Mapping):
            text = str(value)
            return cls({"json": "json_object"}.get(text, text))
        kind = str(value.get("type", "json_schema"))
        if kind not in ("text", "json_object", "json_schema"):
            return cls("json_schema", schema=jsonable(value))
        if kind != "json_schema":
            return cls(kind)
        found = value.get("json_schema")
        body = found if isinstance(found, Mapping) else value
        shape = body.get("schema")
        return cls(
            kind,
            name=str(body.get("name") or DEFAULT_NAME),
            schema=jsonable(shape) if isinstance(shape, Mapping) else {},
            strict=body.get("strict"),
            description=body.get("description"),
        )

    def fields(self) -> dict[str, Any]:
        """Name, description, schema and strictness, as OpenAI has them; without those that were not given."""
        known = {"name": self.name, "description": self.description, "schema": self.schema, "strict": self.strict}
        return {key: value for key, value in known.items() if value is not None}
