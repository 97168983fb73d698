"""Roleplay: ``roleplay-chat`` of the requirement document: a turn with a character, with what is remembered and where they are.

The document's reply is kept (dynamic-prompting reference 3.6); what its code never filled in tells the truth here or is null:
``memory_updated`` is what was written in this turn, ``prompt_template_id`` and ``prompt_template_name`` name what answered,
``consistency_score`` is null, since nothing measures it. Pictures are made by ``generate-scene``; a door puts its reply beside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from innkeeper.operations.tasks.chat import provider_of, turn_facts
from innkeeper.operations.tasks.turn import TurnAnswer
from innkeeper.prompt.errors import UsageError, Where


def roleplay_reply(turn: TurnAnswer, *, took_ms: float) -> dict[str, Any]:
    """The reply to a call of ``roleplay-chat`` that took so long."""
    answer = turn.answer
    template = None if answer is None else answer.prepared.resolution.template
    steps = [] if answer is None or answer.route_trace is None else answer.route_trace["steps"]
    fell_back = len(steps) > 1
    model = turn.reply.model_key or ""
    return {
        "success": True,
        "response": turn.text,
        "conversation_id": turn.conversation.id,
        "model_used": ":".join(part for part in (provider_of(turn), model) if part),
        "memory_updated": bool(turn.remembered),
        "scene_generated": False,
        "scene_generating_async": False,
        "consistency_score": None,
        "processing_time": round(took_ms, 3),
        "usedFallback": fell_back,
        "fallbackModel": model if fell_back else None,
        "prompt_template_id": turn.reply.template_id,
        "prompt_template_name": None if template is None else template.name,
        "content_tier": turn.reply.tier,
        **turn_facts(turn),
    }


_TEXTS: Final = ("scene_context", "scene_description", "scene_system_prompt")


def scene_of(body: Mapping[str, Any], starters: Iterable[Any] = ()) -> dict[str, Any]:
    """The scene that a body tells of, with the columns that templates read: place, what happens, how it may begin.

    All of it is a client's word: it is set off as material, and never an instruction. Raises `UsageError` for another type.
    """
    texts = [_text(body, name) for name in _TEXTS]
    lines = [line for line in starters if isinstance(line, str) and line.strip()]
    numbered = "\n".join(f"{number}. {line.strip()}" for number, line in enumerate(lines, 1))
    parts = [*texts, f"Ways to begin:\n{numbered}" if numbered else ""]
    fields = {name: _text(body, name) for name in ("setting", "actions", "positioning", "conversation_context")}
    fields["scene_context"] = "\n\n".join(dict.fromkeys(text for text in parts if text.strip()))
    fields["content_rating"] = _text(body, "scene_content_rating")
    return {name: value for name, value in fields.items() if value}


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, (str, type(None))):
        raise UsageError(f"{name} must be a text", where=Where(path=name))
    return value or ""
