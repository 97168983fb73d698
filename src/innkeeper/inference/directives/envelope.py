"""The directives envelope: ``{assistant_text, directives: [{type, payload}]}``, as a schema and as an instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.prompt.frozen import EMPTY, FrozenDict, thaw

__all__ = ["SCHEMA_NAME", "Directive", "instruction", "repair_note", "response_format", "schema"]

SCHEMA_NAME: Final = "tavern_directives"


class Directive(msgspec.Struct, frozen=True):
    """One thing an application is asked to do."""

    type: str
    payload: FrozenDict = EMPTY

    def to_dict(self) -> dict[str, Any]:
        """As the envelope holds it."""
        return {"type": self.type, "payload": thaw(self.payload)}


def schema(types: Sequence[str] | None = None) -> dict[str, Any]:
    """The envelope's JSON Schema; ``types`` are the only directive types there are."""
    kind: dict[str, Any] = {"type": "string", **({"enum": list(types)} if types else {})}
    directive = _object({"type": kind, "payload": {"type": "object"}})
    return _object({"assistant_text": {"type": "string"}, "directives": {"type": "array", "items": directive}})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def response_format(mode: str, name: str = SCHEMA_NAME, types: Sequence[str] | None = None) -> dict[str, Any] | None:
    """What a request asks for in ``mode``; nothing in ``prompt_only``."""
    if mode == "json_schema":
        return {"type": mode, "json_schema": {"name": name, "strict": True, "schema": schema(types)}}
    return {"type": mode} if mode == "json_object" else None


def instruction(types: Mapping[str, str] | None = None) -> str:
    """What the model is told about the envelope; ``types`` map each directive type to what it is for."""
    lines = [
        "Answer with one JSON object and nothing else: no prose around it, no code fence.",
        'Its form: {"assistant_text": "what the user reads", "directives": [{"type": "...", "payload": {...}}]}',
        "- assistant_text is always there and is plain text.",
        "- directives is a list; leave it empty when nothing is to be done.",
        "- each directive has a type and a payload, which is an object.",
    ]
    if types:
        lines.append("Directive types:")
        lines += [f"- {name}: {about}" if about else f"- {name}" for name, about in types.items()]
    return "\n".join(lines)


def repair_note(code: str, reasons: Sequence[str] = ()) -> str:
    """What the model is told after an answer that could not be used."""
    lines = [f"Your last answer could not be used ({code})."]
    lines += [f"- {reason}" for reason in reasons]
    return "\n".join([*lines, "Answer again, with a valid JSON object only."])
