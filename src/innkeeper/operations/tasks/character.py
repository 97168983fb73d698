"""``characters.suggest``: propose parts of a character, in the requirement document's fields and spellings."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Annotated, Any, Final, Required, cast

from msgspec import Meta

from innkeeper.gate.judgement import Judgement
from innkeeper.operations.operation import Operation
from innkeeper.operations.scope import Scope, TaskTerms
from innkeeper.operations.tasks.answer import TaskOutcome
from innkeeper.operations.tasks.suggestions import SUGGESTION_TYPES, SuggestionRequest, Suggestions, suggestions_reply
from innkeeper.prompt.text import scalar_text

_NAMES: Final = {
    "kind": "type",
    "rating": "contentRating",
    "age": "declaredAge",
    "voice_tone": "voiceTone",
    "model": "modelId",
}

Part = dict[str, Any] | str
"""A text, or an object whose texts are named: ``{"temperament": "calm"}``."""

Texts = list[str] | str
"""Texts, or one."""


class SuggestCharacter(TaskTerms, frozen=True, kw_only=True, rename=_NAMES):
    """What to suggest, and what is known of the character."""

    kind: Annotated[str, Meta(extra_json_schema={"enum": [*SUGGESTION_TYPES]})] = "all"
    name: str = ""
    description: str = ""
    traits: Texts = ""
    personality: Part = ""
    role: Part = ""
    appearance: Texts = ""
    backstory: Texts = ""
    voice_tone: str = ""
    age: int | None = None
    rating: Any = None
    model: str = ""


class CharacterSuggestions(TaskOutcome, total=False):
    """Parts of a character, and how they came about. ``missing`` names parts that the model did not write."""

    success: Required[bool]
    missing: Required[list[str]]
    suggestedDescription: str  # noqa: N815 - the document's key
    suggestedTraits: list[str]  # noqa: N815 - the document's key
    suggestedVoiceTone: str  # noqa: N815 - the document's key
    suggestedPersona: str  # noqa: N815 - the document's key
    suggestedAppearance: list[str]  # noqa: N815 - the document's key
    suggestedBackstory: list[str]  # noqa: N815 - the document's key
    suggestedVoiceExamples: list[str]  # noqa: N815 - the document's key
    suggestedForbiddenPhrases: list[str]  # noqa: N815 - the document's key


async def suggest(request: SuggestCharacter, scope: Scope) -> CharacterSuggestions:
    """Suggest parts of a character."""
    began = perf_counter()
    # A model is asked for by its key or by its id in the catalogue; a name that is in neither is left to the router.
    tasks = await scope.tasks()
    rows = tasks.library.catalogue.models
    row = next((row for row in rows if request.model in {row.id, row.model_key}), None)
    fields = SuggestionRequest(
        kind=request.kind,
        character=_columns(request),
        content_mode=request.rating,
        declared_age=request.age,
        ceilings=scope.ceilings,
        user_id=scope.owner.user or None,
        request_id=scope.number or None,
        model=row.model_key if row else request.model or None,
    )
    suggested = await Suggestions(tasks).suggest(fields, **scope.terms(request))
    display_name = row.display_name if row else ""
    took_ms = (perf_counter() - began) * 1000
    return cast("CharacterSuggestions", suggestions_reply(suggested, took_ms=took_ms, display_name=display_name))


def _columns(request: SuggestCharacter) -> dict[str, Any]:
    """The character, by the columns of the library."""
    role = _phrase(request.role)
    return {
        "name": request.name,
        "description": request.description,
        "persona": _phrase(request.personality) or None,
        "traits": "\n".join([*_texts(request.traits), *([f"Relationships: {role}"] if role else [])]) or None,
        "appearance_tags": _texts(request.appearance) or None,
        "backstory": "\n".join(_texts(request.backstory)) or None,
        "voice_tone": request.voice_tone or None,
    }


def _phrase(part: Part) -> str:
    """A part as one text: ``calm (temperament); a pilot (work)``. Values that are not texts are ignored."""
    if isinstance(part, str):
        return part
    named: Mapping[str, Any] = part
    texts = [f"{text} ({name})" for name, text in named.items() if isinstance(text, str) and text.strip()]
    return scalar_text("; ".join(texts))


def _texts(texts: Texts) -> list[str]:
    if isinstance(texts, str):
        return [texts] if texts else []
    return [scalar_text(text) for text in texts if text.strip()]


SUGGEST: Final = Operation(
    "characters.suggest",
    suggest,
    {
        "kind": ("suggestionType", "suggestion_type"),
        "name": ("characterName",),
        "voice_tone": ("voice_tone",),
        "age": ("declared_age",),
        "rating": ("content_rating", "contentType", "content_mode"),
        "model": ("modelKey", "model_id", "model_key"),
    },
    judged=Judgement.TASK,
)
