"""``/functions/v1/character-suggestions`` in the requirement document's shapes, and ``/v1/characters:suggest``."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

import msgspec
from starlette.routing import BaseRoute, Route

from innkeeper.library.tier import Ceilings
from innkeeper.operations.tasks.suggestions import SuggestionRequest, Suggestions, suggestions_reply
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.text import scalar_text
from innkeeper.service.tasks.calls import Opened, TaskCall, function, service, text_of


def suggestion_routes(tasks: Opened) -> list[BaseRoute]:
    """The routes."""
    return [
        Route("/functions/v1/character-suggestions", function(tasks, "suggest", suggested), methods=["POST"]),
        Route("/v1/characters:suggest", service(tasks, "suggest", suggested), methods=["POST"]),
    ]


async def suggested(call: TaskCall) -> Mapping[str, Any]:
    """Suggestions, with the reply of ``character-suggestions``."""
    began = perf_counter()
    wanted = suggestion_fields(call.body, owner=call.owner, ceilings=call.ceilings, number=call.number)
    rows = call.tasks.library.catalogue.models
    row = next((row for row in rows if wanted.model in {row.id, row.model_key}), None)
    wanted = msgspec.structs.replace(wanted, model=row.model_key if row else wanted.model)
    found = await Suggestions(call.tasks).suggest(wanted, **call.terms())
    name = row.display_name if row else ""
    return suggestions_reply(found, took_ms=(perf_counter() - began) * 1000, display_name=name)


_TIERS: Final = ("contentRating", "content_rating", "contentType", "content_mode")


def suggestion_fields(
    body: Mapping[str, Any], *, owner: str = "", ceilings: Ceilings | None = None, number: str = ""
) -> SuggestionRequest:
    """What a body asks for. Raises `UsageError` for a field of another type, `FieldError` for a type that there is not."""
    age = body.get("declaredAge", body.get("declared_age"))
    if not isinstance(age, (int, type(None))) or isinstance(age, bool):
        raise UsageError("declaredAge is a number of years", where=Where(path="declaredAge"))
    return SuggestionRequest(
        wanted=text_of(body, "type", "suggestionType", "suggestion_type") or "all",
        character=_character(body),
        content_mode=next((body[name] for name in _TIERS if body.get(name) is not None), None),
        declared_age=age,
        ceilings=ceilings or Ceilings(),
        user_id=owner or None,
        request_id=number or None,
        model=text_of(body, "modelId", "modelKey", "model_id", "model_key") or None,
    )


def _character(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a body tells of a character, by the columns of one."""
    personality, role = _told(body, "personality"), _told(body, "role")
    appearance = _listed(body, "appearance")
    return {
        "name": text_of(body, "name", "characterName"),
        "description": text_of(body, "description"),
        "persona": ", ".join(personality) or None,
        "traits": "\n".join([*_listed(body, "traits"), *(f"Relationships: {line}" for line in role[:1])]) or None,
        "appearance_tags": appearance or None,
        "backstory": "\n".join(_listed(body, "backstory")) or None,
        "voice_tone": text_of(body, "voiceTone", "voice_tone") or None,
    }


def _told(body: Mapping[str, Any], name: str) -> list[str]:
    """The texts of an object, each with its name: ``calm (temperament)``."""
    value = body.get(name)
    if isinstance(value, str):
        return [scalar_text(value)]
    if not isinstance(value, (Mapping, type(None))):
        raise UsageError(f"{name} is an object", where=Where(path=name))
    told = [f"{text} ({part})" for part, text in (value or EMPTY).items() if isinstance(text, str) and text.strip()]
    return [scalar_text("; ".join(told))] if told else []


def _listed(body: Mapping[str, Any], name: str) -> list[str]:
    """A list of texts, or one text. Raises `UsageError`."""
    value = body.get(name)
    if isinstance(value, str):
        return [scalar_text(value)]
    if not isinstance(value, (list, type(None))) or not all(isinstance(one, str) for one in value or ()):
        raise UsageError(f"{name} is a list of texts", where=Where(path=name))
    return [scalar_text(one) for one in value or () if one.strip()]
