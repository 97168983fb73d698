"""Writers of a turn's answer: a template whose task is routed to a model, or a profile whose tavern makes the prompt.

A template's answer is shown while it comes: it is held until a sentence or a few lines are there, checked together with all
before it, and shown then. If steps of the template may change more than the beginning, it is shown when it is whole. So is a
profile's answer. To a profile, memories and the scene go with the client's system text, set off as material.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from innkeeper.gate.gate import TextKind
from innkeeper.gate.tier import TierDecision
from innkeeper.inference.errors import DecodeError
from innkeeper.inference.requests.request import GenerationRequest
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.routing.models import ModelAnswer, ModelNotFoundError, Models
from innkeeper.library.errors import FieldError, TemplateNotFoundError
from innkeeper.library.prepare.parts import set_off
from innkeeper.library.prepare.request import PrepareRequest, texts_of, tier_facts
from innkeeper.library.templates.postprocessing import Cast, PostProcessing, Processed
from innkeeper.operations.tasks.answer import REFUSALS, TaskAnswer
from innkeeper.operations.tasks.execution import Flow, TextTasks
from innkeeper.operations.tasks.turn import PreparedTurn, ProfileFacts
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.message import Message
from innkeeper.prompt.text import scalar_text

if TYPE_CHECKING:
    from innkeeper.library.library import Library
    from innkeeper.library.templates.template import TemplateVersion

_SENTENCE: Final = re.compile(r"[.!?…。！？\n][\"'”’)*\]]*\s*\Z")
_HELD: Final = 240
"""Characters that are held at most before they are checked."""

_LABEL: Final = 100
"""Characters in which a speaker's label ends, if there is one."""

_PREFIX_STEPS: Final = frozenset({"labels"})
"""Steps that change no more than the beginning."""

_PROFILE: Final = "profile"


class WrittenAnswer(NamedTuple):
    """A whole answer that has passed the gate: the facts about it, and its text after the steps of its template."""

    facts: TaskAnswer | ProfileFacts
    processed: Processed


Writing = AsyncGenerator[str | WrittenAnswer]
"""Texts of an answer that have passed the gate, as they come; the whole answer is the last item."""

BeginWriting = Callable[[TextTasks, PreparedTurn], Awaitable[Writing]]
"""Asks a model to answer a turn."""


async def template_writer(tasks: TextTasks, turn: PreparedTurn, *, stream: bool = False) -> Writing:
    """Ask the model that the turn is routed to. With ``stream`` parts are shown as they come. Raises as `TextTasks.write`."""
    return _written_by_template(tasks, turn, await tasks.flow(turn.task, stream=stream), stream=stream)


async def _written_by_template(tasks: TextTasks, turn: PreparedTurn, flow: Flow, *, stream: bool) -> Writing:
    so_far, whole, held, shown = flow.so_far(), "", "", ""
    template = so_far.prepared.resolution.template
    early = stream and _changes_prefix_only(template)
    async with aclosing(flow.texts()) as texts:
        async for text in texts:
            whole, held = whole + text, held + text
            is_part = len(whole) >= _LABEL and (len(held) >= _HELD or _SENTENCE.search(held[-8:]) is not None)
            if not (early and is_part):
                continue
            processed = _processed(template, whole, turn.cast).text
            await tasks.check(so_far, processed)
            if processed.startswith(shown):
                fresh, shown, held = processed.removeprefix(shown), processed, ""
                if fresh:
                    yield fresh
    written = flow.written()
    if written.response is None:  # a turn is never answered with its own words
        use_case = written.prepared.request.use_case
        raise TemplateNotFoundError(f"no template for {use_case} in a conversation", hint="leave the intent out")
    result = _processed(None if written.refused else template, written.text, turn.cast)
    yield WrittenAnswer(await tasks.finish(turn.task, written, text=result.text), result)


def _changes_prefix_only(template: TemplateVersion | None) -> bool:
    """Whether a template's steps leave all but the beginning of an answer unchanged."""
    if template is None:
        return False
    try:
        return {name for name, _ in PostProcessing.of(template.metadata).steps} <= _PREFIX_STEPS
    except FieldError:
        return True


def _processed(template: TemplateVersion | None, text: str, cast: Cast) -> Processed:
    """Return an answer after the steps of its template."""
    whole = _storable(text)
    if template is None:
        return Processed(whole, whole)
    try:
        return PostProcessing.of(template.metadata).run(whole, cast)
    except InnkeeperError:  # a template from before steps were checked when it is published
        return Processed(whole, whole)


def _storable(text: str) -> str:
    return scalar_text(text).replace("\0", "")


def profile_writer(models: Models, profile: str, caller: str) -> BeginWriting:
    """Return the writer that lets a profile answer; ``caller`` is whose states it keeps. Raises `ModelNotFoundError`."""
    profiles = [card.name for card in models.cards() if card.kind == _PROFILE]
    if profile not in profiles:
        raise ModelNotFoundError(profile, profiles)

    async def begin(tasks: TextTasks, turn: PreparedTurn) -> Writing:
        answer = await models.answer(_generation(turn, profile), caller)
        return _written_by_profile(tasks.library, turn.task.prompt, profile, answer)

    return begin


async def _written_by_profile(library: Library, prompt: PrepareRequest, profile: str, answer: ModelAnswer) -> Writing:
    fold = ResponseFold("resp_task", profile, 0)
    async with aclosing(answer.events) as events:
        async for event in events:
            fold.take(event)
    response = fold.response()
    text = _storable(response.text or response.refusal)
    finish_reason = "refusal" if response.refusal else response.finish or "stop"
    if not text.strip() and finish_reason not in REFUSALS:
        raise DecodeError("the model wrote nothing", hint="ask again, or another profile")
    decision = await asyncio.to_thread(_judged, library, prompt, _system_text(answer), text)
    usage = response.usage
    facts = ProfileFacts(
        name=profile,
        plan=answer.headers.get("x-innkeeper-plan", ""),
        provider=answer.asked.get("provider", ""),
        model=answer.asked.get("model", ""),
        finish_reason=finish_reason,
        tier=FrozenDict(tier_facts(decision)),
        input_tokens=None if usage is None else usage.input_tokens,
        output_tokens=None if usage is None else usage.output_tokens,
    )
    yield WrittenAnswer(facts, Processed(text, text))


def _judged(library: Library, prompt: PrepareRequest, system: str, text: str) -> TierDecision:
    """Return the decision about an answer together with the texts that it answers. Raises `TierBlockedError`."""
    texts = {**texts_of(prompt), TextKind.SYSTEM_PROMPT.value: system, TextKind.MODEL_OUTPUT.value: text}
    return library.judged(
        {name: part for name, part in texts.items() if part},
        prompt.content_mode,
        library.ceilings(prompt),
        request_id=prompt.request_id or "",
        actor=prompt.user_id or "",
    ).require()


def _generation(turn: PreparedTurn, profile: str) -> GenerationRequest:
    """Return the request to a profile: the conversation and what belongs to it, as a client would send it."""
    prompt, task = turn.task.prompt, turn.task
    material = "\n\n".join(set_off(part) for part in prompt.parts if part.text.strip())
    system = (Message("system", material),) if material else ()
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


def _system_text(answer: ModelAnswer) -> str:
    """Return the system texts of the body that was sent: cards and lore of the profile among them."""
    body = None if answer.sent is None else answer.sent.body
    messages = body.get("messages") if isinstance(body, Mapping) else None
    if not isinstance(messages, (list, tuple)):
        return ""
    systems = (line.get("content") for line in messages if isinstance(line, Mapping) and line.get("role") == "system")
    return "\n".join(text for text in systems if isinstance(text, str))
