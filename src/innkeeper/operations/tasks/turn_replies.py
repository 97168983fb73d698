"""Replies to turns: ``playground-chat`` and ``roleplay-chat`` of the requirement document (dynamic-prompting reference 3.6).

The document's fields are kept, with defined meanings. ``template_meta`` belongs to this call, ``nsfw_enforce`` is the effective
tier, diagnostics count the changes of post-processing. Fields that the document's code never filled in are true or null:
``memory_updated`` says whether this turn remembered anything, ``consistency_score`` is null, since nothing measures it. Pictures
are made by ``generate-scene``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.gate.tier import Tier
from innkeeper.operations.tasks.turn import TurnAnswer

DIAGNOSTICS: Final[Mapping[str, str]] = {
    "removed_meta": "meta_labels",
    "user_lines_removed": "user_lines",
    "stage_dir_converted": "asides",
    "narrator_normalized": "narrator",
    "first_line_prefixed": "speaker",
    "emojis_removed": "emoji",
}
"""The document's diagnostics, and the steps of post-processing that they count."""


def playground_reply(turn: TurnAnswer, *, took_ms: float, cache_read: str | None = None) -> dict[str, Any]:
    """Return the reply of ``playground-chat``. ``cache_read`` is the moment when the catalogue was read."""
    answer, row, character = turn.answer, turn.conversation, turn.character
    template = None if answer is None else answer.prepared.resolution.template
    context = "general" if answer is None else answer.prepared.request.use_case
    tier = turn.reply.tier or Tier.SFW.value
    steps = () if turn.processed is None else turn.processed.steps
    counts = {report.step: len(report.differences) for report in steps if report.changed}
    return {
        "success": True,
        "response": turn.text,
        "conversation_id": row.id,
        "generation_time": round(took_ms, 3),
        "context_type": context,
        "content_tier": tier,
        "nsfw_enforce": tier == Tier.NSFW.value,
        "template_meta": {
            "origin": _origin(turn),
            "context_type": context,
            "content_tier": tier,
            "template_key": None if template is None else str(template.key),
            "cache_refreshed_at": cache_read,
            "character_id": row.character_id,
            "character_name": None if character is None else character.name,
        },
        "prompt_template_name": None if template is None else template.name,
        "enforcement_diagnostics": {name: counts.get(step, 0) for name, step in DIAGNOSTICS.items()},
        "model_provider": _provider(turn),
        "model_used": turn.reply.model_key or "",
        **_common_fields(turn),
    }


def roleplay_reply(turn: TurnAnswer, *, took_ms: float) -> dict[str, Any]:
    """Return the reply of ``roleplay-chat``."""
    answer = turn.answer
    template = None if answer is None else answer.prepared.resolution.template
    steps = [] if answer is None or answer.route_trace is None else answer.route_trace["steps"]
    fell_back = len(steps) > 1
    model = turn.reply.model_key or ""
    return {
        "success": True,
        "response": turn.text,
        "conversation_id": turn.conversation.id,
        "model_used": ":".join(part for part in (_provider(turn), model) if part),
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
        **_common_fields(turn),
    }


def _provider(turn: TurnAnswer) -> str:
    """Return the provider that answered; empty for a turn that was answered before."""
    facts = turn.profile or turn.answer
    return "" if facts is None else facts.provider


def _origin(turn: TurnAnswer) -> str:
    """Return the origin of the prompt: a source of templates, a profile, or ``replay`` for an earlier answer."""
    if turn.answer is not None:
        return turn.answer.prepared.resolution.source.value
    return "replay" if turn.profile is None else "profile"


def _common_fields(turn: TurnAnswer) -> dict[str, Any]:
    """Return the fields that every reply has beside the document's."""
    facts = {} if turn.answer is None else turn.answer.to_dict()
    facts.pop("text", None)
    if turn.profile is not None:
        facts = {"profile": turn.profile.name, "plan": turn.profile.plan, "tier": dict(turn.profile.tier)}
    return {
        "message_id": turn.reply.id,
        "seq": turn.reply.seq,
        "user_message_id": None if turn.message is None else turn.message.id,
        "replayed": turn.replayed,
        "finish_reason": turn.reply.finish_reason,
        "memory": turn.memory,
        "context": turn.context,
        "post_processing": _post_processing(turn),
        **facts,
    }


def _post_processing(turn: TurnAnswer) -> dict[str, Any]:
    """Return the changes to the model's text, step by step."""
    if turn.processed is None:
        return {"changed": turn.reply.original is not None, "steps": turn.reply.post_processing or []}
    return {"changed": turn.processed.changed, "steps": msgspec.to_builtins(turn.processed.steps)}
