"""Shapes: JSON Schemas written in a line, as the reference's list of operations writes them.

``{history*:[{role*:enum(system user), content*:str}], world_books*:arr/obj, variables:obj}``: a star marks what is required;
``str int num bool obj arr null any`` are types; ``a/b`` is either; ``[x]`` an array of x; ``{...}`` an object with at least
these properties. What is not required may also be null, which counts as left out.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any, Final

__all__ = ["DIALECT", "schema_of"]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_TYPES: Final = MappingProxyType(
    {
        "str": "string", "int": "integer", "num": "number", "bool": "boolean", "obj": "object", "arr": "array",
        "null": "null",
    }
)  # fmt: skip
_TOKEN: Final = re.compile(r"\s*(enum\([^)]*\)|\w+|[{}\[\]:,*/])")


def schema_of(line: str) -> dict[str, Any]:
    """The JSON Schema of a shape. Raises `ValueError` for a line that is none, which is a defect of ours."""
    tokens = _TOKEN.findall(line)
    if "".join(tokens).replace(" ", "") != line.replace(" ", ""):
        raise ValueError(f"not a shape: {line}")
    reader = _Reader(tokens)
    schema = reader.either()
    if reader.tokens:
        raise ValueError(f"not a shape: {line}")
    return schema


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens[::-1]

    def either(self) -> dict[str, Any]:
        found = [self._one()]
        while self._next("/"):
            found.append(self._one())
        if len(found) == 1:
            return found[0]
        merged: dict[str, Any] = {"type": [schema["type"] for schema in found]}
        for schema in found:
            merged |= {name: value for name, value in schema.items() if name != "type"}
        return merged

    def _one(self) -> dict[str, Any]:
        token = self.tokens.pop()
        if token == "{":  # noqa: S105 - no password
            return self._object()
        if token == "[":  # noqa: S105 - no password
            items = self.either()
            self._expect("]")
            return {"type": "array", "items": items}
        if token.startswith("enum("):
            return {"type": "string", "enum": token[5:-1].split()}
        return {} if token == "any" else {"type": _TYPES[token]}  # noqa: S105 - no password

    def _object(self) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required: list[str] = []
        while not self._next("}"):
            name = self.tokens.pop()
            if self._next("*"):
                required.append(name)
            self._expect(":")
            properties[name] = self.either() if name in required else _optional(self.either())
            self._next(",")
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        return {**schema, "required": required} if required else schema

    def _next(self, token: str) -> bool:
        if self.tokens and self.tokens[-1] == token:
            self.tokens.pop()
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._next(token):
            raise ValueError(f"a shape lacks {token}")


def _optional(schema: dict[str, Any]) -> dict[str, Any]:
    if "type" not in schema:
        return schema
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    changed = {**schema, "type": [*kinds, *(["null"] if "null" not in kinds else [])]}
    return {**changed, "enum": [*schema["enum"], None]} if "enum" in schema else changed
