"""DoorGate: what the doors of models do about texts in which the gate is in doubt.

A block of the gate stands below every door (`innkeeper.inference.client.judged`). Here the operator's policy, lists and word
count: the tier is that of the key, of the profile and of the policy, and ``gate`` says whether doubt refuses (``on``) or is only
told (``observe``). A client may make both stricter, and neither looser.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from innkeeper.gate.gate import TierGate, default_gate
from innkeeper.gate.tier import Ceilings, Tier, TierDecision
from innkeeper.inference.client.judged import judged_by, judged_events, texts_of
from innkeeper.inference.requests.request import GenerationRequest
from innkeeper.inference.response.events import ModelEvent
from innkeeper.inference.routing.models import ModelAnswer, ModelCard
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.service.guard.grants import Grant

GateMode = Literal["on", "observe"]
"""What becomes of what is only doubtful."""

GATE: Final = "x-innkeeper-gate"
"""The header by which a client asks for the stricter of the two."""

TIER: Final = "x-innkeeper-tier"
"""The header by which a client asks for a tier; what its key may not have is not given."""


class DoorTerms(NamedTuple):
    """How one call is judged: the tier that it asks for, what bounds that, and whether doubt is only told."""

    requested: Tier
    ceilings: Ceilings
    observe: bool


class DoorGate:
    """The gate of one application's doors.

    Args:
        mode: the service's own word.
        gate: the operator's gate: the packaged one where there is no library.
    """

    def __init__(self, mode: GateMode = "on", gate: Callable[[], TierGate] = default_gate) -> None:
        self.mode, self._gate = mode, gate

    def terms(self, grant: Grant, card: ModelCard | None, headers: Mapping[str, str]) -> DoorTerms:
        """How a call is judged: the key's word counts before the profile's, that before the service's. Raises `UsageError`."""
        profile_tier = card.tier if card is not None else ""
        mode = grant.gate or (card.gate if card is not None else "") or self.mode
        asked_gate, asked_tier = headers.get(GATE, ""), headers.get(TIER, "")
        for name, value, known in ((GATE, asked_gate, ("on", "observe")), (TIER, asked_tier, ("sfw", "nsfw"))):
            if value and value not in known:
                raise UsageError(
                    f"{name} is no {value!r:.40}", where=Where(path=name), hint=f"one of {', '.join(known)}"
                )
        scene = Tier.of(profile_tier) if profile_tier else None
        ceilings = msgspec.structs.replace(grant.ceilings, character=scene)
        return DoorTerms(Tier.of(asked_tier or profile_tier), ceilings, mode == "observe" and asked_gate != "on")

    async def require(self, texts: Mapping[str, str], terms: DoorTerms) -> None:
        """Let texts pass, or not. Raises `TierBlockedError`."""
        gate, terms = await self._settled(terms)
        await judged_by(
            lambda batch: gate.require(batch, terms.requested, terms.ceilings, observe=terms.observe),
            texts,
            waits=gate.reader is not None,
        )

    async def effective(self, terms: DoorTerms) -> Tier:
        """The tier in which a call is judged."""
        gate, terms = await self._settled(terms)
        return Tier.lowest(terms.requested, gate.policy.ceiling, *(tier for _, tier in terms.ceilings.known()))

    async def _settled(self, terms: DoorTerms) -> tuple[TierGate, DoorTerms]:
        """The gate and the terms: no adult tier where nobody reads a second time and nobody answers for that."""
        # A library that has to be opened for the gate of this moment is waited for in a thread.
        gate = self._gate() if self._gate is default_gate else await asyncio.to_thread(self._gate)
        if gate.reader is None and not gate.policy.acknowledged:
            terms = terms._replace(requested=Tier.SFW)
        return gate, terms

    async def answer(self, request: GenerationRequest, answer: ModelAnswer, terms: DoorTerms) -> ModelAnswer:
        """An answer that begins, once its prompt is judged; its events are judged as they come. Raises `TierBlockedError`."""
        texts = texts_of_request(request) if answer.sent is None else texts_of(answer.sent)
        decisions: list[TierDecision] = []
        gate, terms = await self._settled(terms)

        def judge(batch: Mapping[str, str]) -> TierDecision:
            return gate.require(batch, terms.requested, terms.ceilings, observe=terms.observe)

        await judged_by(lambda batch: decisions.append(judge(batch)), texts, waits=gate.reader is not None)

        def begun() -> AsyncGenerator[ModelEvent]:
            return answer.events

        events = judged_events(texts, begun, judge, waits=gate.reader is not None)
        doubt = [decision for decision in decisions if not decision.passed]
        notes = (*answer.notes, *(Note(NoteKind.WARNING, _note_of(decision)) for decision in doubt))
        return answer._replace(events=events, notes=notes)


def _note_of(decision: TierDecision) -> str:
    return f"the gate only observes here: {decision.decision.value} ({', '.join(decision.categories)})"


def texts_of_request(request: GenerationRequest) -> dict[str, str]:
    """The texts of a request that nobody has written for a provider."""
    from innkeeper.gate.bodies import texts_of_body

    return texts_of_body({"messages": [msgspec.to_builtins(message, enc_hook=dict) for message in request.messages]})
