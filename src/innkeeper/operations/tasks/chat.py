"""Chat: ``playground-chat`` of the requirement document: a turn of a conversation of any kind, with or without a character.

The reply has the document's fields (dynamic-prompting reference 3.6) with defined meanings: ``template_meta`` belongs to this
call, ``nsfw_enforce`` is the effective tier, diagnostics count the changes of post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.library.tier import Tier
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
    """The reply to a call of ``playground-chat`` that took so long. ``cache_read`` is the moment when the catalogue was read."""
    answer, row = turn.answer, turn.conversation
    template = None if answer is None else answer.prepared.resolution.template
    context = "general" if answer is None else answer.prepared.request.use_case
    tier = turn.reply.tier or Tier.SFW.value
    character = turn.character
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
        "enforcement_diagnostics": diagnostics(turn),
        "model_provider": provider_of(turn),
        "model_used": turn.reply.model_key or "",
        **turn_facts(turn),
    }


def provider_of(turn: TurnAnswer) -> str:
    """Who answered; empty for a turn that was answered before."""
    if turn.profile is not None:
        return turn.profile.provider
    return "" if turn.answer is None else turn.answer.provider


def _origin(turn: TurnAnswer) -> str:
    """Where the prompt is from: a source of templates, a profile, or the turn as it was answered before."""
    if turn.answer is not None:
        return turn.answer.prepared.resolution.source.value
    return "replay" if turn.profile is None else "profile"


def diagnostics(turn: TurnAnswer) -> dict[str, int]:
    """How often each of the document's steps has changed the answer."""
    steps = () if turn.processed is None else turn.processed.steps
    counts = {report.step: len(report.differences) for report in steps if report.changed}
    return {name: counts.get(step, 0) for name, step in DIAGNOSTICS.items()}


def turn_facts(turn: TurnAnswer) -> dict[str, Any]:
    """What every reply to a turn tells beside the document's fields."""
    said, answer = turn.said, turn.answer
    facts = {} if answer is None else answer.to_dict()
    facts.pop("text", None)
    if turn.profile is not None:
        facts = {"profile": turn.profile.name, "plan": turn.profile.plan, "tier": dict(turn.profile.tier)}
    return {
        "message_id": turn.reply.id,
        "seq": turn.reply.seq,
        "user_message_id": None if said is None else said.id,
        "replayed": turn.replayed,
        "finish_reason": turn.reply.finish_reason,
        "memory": turn.memory,
        "context": turn.context,
        "post_processing": post_processing(turn),
        **facts,
    }


def post_processing(turn: TurnAnswer) -> dict[str, Any]:
    """What became of what the model wrote, step by step."""
    if turn.processed is None:
        return {"changed": turn.reply.original is not None, "steps": turn.reply.post_processing or []}
    import msgspec

    return {"changed": turn.processed.changed, "steps": msgspec.to_builtins(turn.processed.steps)}
