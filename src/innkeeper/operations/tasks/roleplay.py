"""Roleplay: ``roleplay-chat`` of the requirement document: a turn with a character, with what is remembered and where they are.

The document's reply is kept (dynamic-prompting reference 3.6); what its code never filled in tells the truth here or is null:
``memory_updated`` is what was written in this turn, ``prompt_template_id`` and ``prompt_template_name`` name what answered,
``consistency_score`` is null, since nothing measures it. Pictures are made by ``generate-scene``; a door puts its reply beside.
"""

from __future__ import annotations

from typing import Any

from innkeeper.operations.tasks.chat import provider_of, turn_facts
from innkeeper.operations.tasks.turn import TurnAnswer


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
