"""Scene texts: ``enhance-prompt`` for ``scene_creation`` and ``scene_starters``: JSON with fixed keys.

The provider enforces a schema if it can. The answer is parsed from its first brace to its last; if that fails, the text of the
request replaces it, and the answer says so (dynamic-prompting reference 3.7).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.operations.tasks.answer import TaskAnswer, json_object
from innkeeper.operations.tasks.enhancement import Enhancement
from innkeeper.operations.tasks.execution import TextTask, TextTasks
from innkeeper.prompt.data import FrozenDict, freeze
from innkeeper.prompt.errors import UsageError, Where

SCENE_CREATION: Final = "scene_creation"
"""A scene from an idea: a description, an image prompt, tags, a type."""

SCENE_STARTERS: Final = "scene_starters"
"""Lines with which a scene could begin."""

SCENE_TEXTS: Final = frozenset({SCENE_CREATION, SCENE_STARTERS})
"""The job types that this module answers."""

SCENARIO_TYPES: Final = ("stranger", "relationship", "power_dynamic", "fantasy", "slow_burn")
"""The document's types of scenes."""

_TEXT: Final = {"type": "string"}
_SCHEMAS: Final[Mapping[str, dict[str, Any]]] = {
    SCENE_CREATION: {
        "enhanced_description": _TEXT,
        "scene_prompt": _TEXT,
        "suggested_tags": {"type": "array", "items": _TEXT, "minItems": 3, "maxItems": 5},
        "suggested_scenario_type": {"enum": list(SCENARIO_TYPES)},
    },
    SCENE_STARTERS: {"starters": {"type": "array", "items": _TEXT, "minItems": 3, "maxItems": 3}},
}
_TAGS: Final = 5
_STARTERS: Final = 5
_LONGEST: Final = 2_000
_STOCK: Final = (
    "You made it. I was beginning to wonder.",
    "Mind your step, the floor is wet. What brings you here?",
    "There is a seat by the window, if you would like to talk.",
)
"""Starters for any place, if the model gave none."""


async def scene_text(tasks: TextTasks, request: Enhancement, **terms: Any) -> TaskAnswer:
    """Return a scene's texts as ``details`` of the answer. Raises as `innkeeper.operations.tasks.enhancement.enhance`."""
    if not request.text.strip():
        raise UsageError("there is no scene to begin from", where=Where(path="prompt"), hint="send prompt: TEXT")
    kind = request.job_type
    schema = {"type": "object", "properties": _SCHEMAS[kind], "required": list(_SCHEMAS[kind])}
    form = {"type": "json_schema", "json_schema": {"name": kind, "schema": {**schema, "additionalProperties": False}}}
    task = TextTask(
        prompt=PrepareRequest(
            use_case=kind,
            text=request.text,
            job_type="chat",
            content_mode=request.content_mode,
            ceilings=request.ceilings,
            user_id=request.user_id,
            request_id=request.request_id,
        ),
        task="enhancement",
        options=FrozenDict(response_format=freeze(form)),
        **terms,
    )
    written = await tasks.write(task)
    strategy = f"{kind}_{'' if written.deployment is None else written.deployment.route.provider or 'model'}"
    if written.refused:
        return await tasks.finish(task, written, details={"strategy": "refused"})
    values = _READERS[kind](json_object(written.text) or {})
    if values is None:
        details = {"strategy": f"{kind}_fallback", **_instead(kind, request.text)}
        return await tasks.finish(task, written, reasons=("not_json",), details=details)
    return await tasks.finish(task, written, details={"strategy": strategy, **values})


def scene_text_reply(request: Enhancement, answer: TaskAnswer) -> dict[str, Any]:
    """Return an answer in the document's format."""
    facts = answer.to_dict()
    text = facts.pop("text")
    details = dict(answer.details)
    strategy = details.pop("strategy")
    refused = answer.refused
    enhanced = details.get("enhanced_description") or "\n".join(details.get("starters", ()))
    return {
        "success": not refused,
        "original_prompt": request.text,
        "enhanced_prompt": None if refused else enhanced,
        "enhancement_strategy": strategy,
        **details,
        **({"error": "the model refused", "code": "refusal", "refusal": text} if refused else {}),
        **facts,
    }


def _scene(values: Mapping[str, Any]) -> dict[str, Any] | None:
    described, prompt = (_line(values.get(name)) for name in ("enhanced_description", "scene_prompt"))
    if not (described or prompt):
        return None
    kind = values.get("suggested_scenario_type")
    return {
        "enhanced_description": described or prompt,
        "scene_prompt": prompt or described,
        "suggested_tags": _lines(values.get("suggested_tags"), _TAGS),
        "suggested_scenario_type": kind if kind in SCENARIO_TYPES else None,
    }


def _starters(values: Mapping[str, Any]) -> dict[str, Any] | None:
    lines = _lines(values.get("starters"), _STARTERS)
    return {"starters": lines} if lines else None


_READERS: Final = {SCENE_CREATION: _scene, SCENE_STARTERS: _starters}


def _instead(kind: str, text: str) -> dict[str, Any]:
    """Return the substitute for an unreadable answer."""
    if kind == SCENE_STARTERS:
        return {"starters": list(_STOCK)}
    return {"enhanced_description": text, "scene_prompt": text, "suggested_tags": [], "suggested_scenario_type": None}


def _line(value: Any) -> str:
    return value.strip()[:_LONGEST] if isinstance(value, str) else ""


def _lines(value: Any, most: int) -> list[str]:
    listed = value if isinstance(value, (list, tuple)) else ()
    return [line for item in listed if (line := _line(item))][:most]
