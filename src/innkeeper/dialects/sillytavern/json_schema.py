"""JSON replies: the schema with its references inlined, and how each source takes it.

``json_schema`` of a request is ``{name, value, description?, strict?}``. References to ``$defs`` are put in place.
(sillytavern-bodies.md 7.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from innkeeper.dialects.report import jsonable
from innkeeper.dialects.sillytavern.conversion import js_json
from innkeeper.dialects.sillytavern.request import ProviderRequest
from innkeeper.prompt.errors import LimitError

MAX_SCHEMA_NODES: Final = 20_000
"""Values of a schema once its references are in place (`LimitError`)."""

Format = Callable[[ProviderRequest], dict[str, Any]]
"""The fields of a body that ask for JSON."""


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without ``$schema`` and ``$defs``, a copy of the definition in each reference's place.

    A reference to a definition within itself, or to none, becomes an empty schema. Raises `LimitError`.
    """
    made: dict[str, Any] = _Inlining(schema).value(jsonable(schema), ())
    return made


class _Inlining:
    """One schema whose references are being inlined."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._definitions = jsonable(schema.get("$defs") or {})
        self._nodes = 0

    def value(self, value: Any, within: tuple[str, ...]) -> Any:
        self._nodes += 1
        if self._nodes > MAX_SCHEMA_NODES:
            raise LimitError("the size of a JSON schema", limit="MAX_SCHEMA_NODES", allowed=MAX_SCHEMA_NODES)
        if isinstance(value, list):
            return [self.value(item, within) for item in value]
        if not isinstance(value, dict):
            return value
        reference = value.get("$ref")
        prefix = "#/$defs/"
        name = reference.removeprefix(prefix) if isinstance(reference, str) and reference.startswith(prefix) else None
        if name is None:
            return {key: self.value(item, within) for key, item in value.items() if key not in ("$schema", "$defs")}
        if name in within or name not in self._definitions:
            return {}
        return self.value(self._definitions[name], (*within, name))


_NOT_FOR_GOOGLE: Final = frozenset({"default", "additionalProperties", "exclusiveMinimum", "propertyNames"})


def google_schema(schema: Mapping[str, Any]) -> Any:
    """The schema without the words that Google refuses."""
    return _without(inlined(schema))


def _without(value: Any) -> Any:
    if isinstance(value, list):
        return [_without(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _without(item) for key, item in value.items() if key not in _NOT_FOR_GOOGLE}


def _named(request: ProviderRequest) -> dict[str, Any]:
    schema = request.schema
    return {
        "name": schema.get("name"),
        "strict": request.schema.get("strict") is not False,
        "schema": inlined(schema["value"]),
    }


def _described(request: ProviderRequest) -> dict[str, Any]:
    about = request.schema.get("description")
    return {**_named(request), **({} if about is None else {"description": about})}


FORMATS: Final[Mapping[str, Callable[[ProviderRequest], Any]]] = {
    "named": _named,
    "described": _described,
    "bare": lambda request: {"schema": inlined(request.schema["value"])},
    "itself": lambda request: inlined(request.schema["value"]),
}
"""The forms of ``json_schema``: with name and strictness, also with the description, alone in an object, or alone."""


def schema_fields(request: ProviderRequest, form: str) -> dict[str, Any]:
    """``response_format`` in one of `FORMATS`, ``cohere``'s, or ``object`` (any JSON); nothing where any reply will do."""
    if not request.schema:
        return {}
    if form == "object":
        return {"response_format": {"type": "json_object"}}
    if form == "cohere":
        return {"response_format": {"type": "json_schema", "schema": inlined(request.schema["value"])}}
    if form in FORMATS:
        return {"response_format": {"type": "json_schema", "json_schema": FORMATS[form](request)}}
    request.report.loss("the schema of the reply is not sent: there is no place for it")
    return {}


_WORDS: Final = "JSON schema for the response:\n"


def asked_in_words(request: ProviderRequest) -> ProviderRequest:
    """The request with the schema as its last user message, for sources that know JSON mode alone."""
    if not request.schema:
        return request
    text = json.dumps(json.loads(js_json(inlined(request.schema["value"]))), indent=4, ensure_ascii=False)
    request.report.repair("the schema of the reply was sent as a message")
    return request.with_messages([*request.messages, {"role": "user", "content": _WORDS + text}])
