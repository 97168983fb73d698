"""ProfileTurn: a turn of a stored conversation that a profile answers: its tavern makes the prompt, its route the answer.

What belongs to the conversation is as in every turn (`innkeeper.operations.tasks.turns`): whose it is, its history, what is
remembered, its gate, and that a turn is answered once. Character, lorebooks and preset are the profile's; what is remembered and
where they are goes with the client's system text, set off as material, and the profile says what becomes of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Final

from innkeeper.inference.errors import DecodeError
from innkeeper.inference.requests.request import GenerationRequest
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse
from innkeeper.inference.routing.models import ModelAnswer, ModelNotFoundError, Models
from innkeeper.library.prepare.parts import set_off
from innkeeper.library.prepare.request import PrepareRequest, texts_of, tier_facts
from innkeeper.library.templates.postprocessing import Processed
from innkeeper.library.tier import TierDecision
from innkeeper.library.tiers.gate import TextKind
from innkeeper.operations.tasks.answer import REFUSALS
from innkeeper.operations.tasks.turn import PreparedTurn, ProfileFacts, TurnAnswer, TurnRequest
from innkeeper.operations.tasks.turns import Turns
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.message import Message
from innkeeper.prompt.text import scalar_text

_PROFILE: Final = "profile"


async def take_with_profile(
    turns: Turns, request: TurnRequest, profile: str, models: Models, caller: str
) -> TurnAnswer:
    """Take a turn, answered by the profile of this name among ``models``, for a caller by whom states are kept.

    Raises `ModelNotFoundError` where there is no such profile, `DecodeError` where nothing was answered, what `Turns.take`
    raises, and what building with the profile raises.
    """
    if all(card.name != profile or card.kind != _PROFILE for card in models.cards()):
        raise ModelNotFoundError(profile, [card.name for card in models.cards() if card.kind == _PROFILE])
    async with turns.alone(request):
        return await _taken(turns, request, profile, models, caller)


async def _taken(turns: Turns, request: TurnRequest, profile: str, models: Models, caller: str) -> TurnAnswer:
    turn = await asyncio.to_thread(turns.begin, request)
    if isinstance(turn, TurnAnswer):
        return turn
    prompt = turn.task.prompt
    answer = await models.answer(_generation(turn, profile), caller)
    response = await _whole(answer, profile)
    text = scalar_text(response.text or response.refusal).replace("\0", "")
    finish = "refusal" if response.refusal else response.finish or "stop"
    if not text.strip() and finish not in REFUSALS:
        raise DecodeError("the model wrote nothing", hint="ask again, or another profile")
    decision = await asyncio.to_thread(_judged, turns, prompt, answer, text)
    usage = response.usage
    facts = ProfileFacts(
        name=profile,
        plan=answer.headers.get("x-innkeeper-plan", ""),
        provider=answer.asked.get("provider", ""),
        model=answer.asked.get("model", ""),
        finish_reason=finish,
        tier=FrozenDict(tier_facts(decision)),
        input_tokens=None if usage is None else usage.input_tokens,
        output_tokens=None if usage is None else usage.output_tokens,
    )
    return await asyncio.to_thread(turns.keep, turn, facts, Processed(text, text))


def _generation(turn: PreparedTurn, profile: str) -> GenerationRequest:
    """What the profile is asked: the conversation, and what belongs to it, as a client would send it."""
    prompt, task = turn.task.prompt, turn.task
    told = "\n\n".join(set_off(part) for part in prompt.parts if part.text.strip())
    system = (Message("system", told),) if told else ()
    options: dict[str, Any] = {**task.options}
    if task.max_output_tokens is not None:
        options["max_tokens"] = task.max_output_tokens
    return GenerationRequest(
        surface="task",
        model=profile,
        messages=(*system, *prompt.history, Message("user", prompt.text)),
        options=FrozenDict(options),
        metadata=FrozenDict(conversation=turn.conversation.id),
    )


async def _whole(answer: ModelAnswer, profile: str) -> ModelResponse:
    fold = ResponseFold("resp_task", profile, 0)
    async with aclosing(answer.events) as events:
        async for event in events:
            fold.take(event)
    return fold.response()


def _judged(turns: Turns, prompt: PrepareRequest, answer: ModelAnswer, text: str) -> TierDecision:
    """The decision about what was written, together with all that it was written for. Raises `TierBlockedError`."""
    texts = {
        **texts_of(prompt),
        TextKind.SYSTEM_PROMPT.value: _system_of(answer),
        TextKind.MODEL_OUTPUT.value: text,
    }
    ceilings = turns.library.ceilings(prompt)
    found = {name: said for name, said in texts.items() if said}
    return turns.library.judged(
        found, prompt.content_mode, ceilings, request_id=prompt.request_id or "", actor=turns.owner.user
    ).require()


def _system_of(answer: ModelAnswer) -> str:
    """The system texts of what was sent: cards and lore of the profile among them."""
    body = None if answer.sent is None else answer.sent.body
    messages = body.get("messages") if isinstance(body, Mapping) else None
    if not isinstance(messages, (list, tuple)):
        return ""
    texts = (one.get("content") for one in messages if isinstance(one, Mapping) and one.get("role") == "system")
    return "\n".join(text for text in texts if isinstance(text, str))
