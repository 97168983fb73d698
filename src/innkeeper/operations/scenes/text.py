"""SceneText: the text of a scene, from the first source that has one.

In order: the request's own words; the template, for the first scene; the known place with its visible details, if there is an
action; a model's description of the moment; the place and the persons alone
(dynamic-prompting reference 3.7 step 5).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

import msgspec

from innkeeper.library.errors import TierBlockedError
from innkeeper.library.models.facts import ModelFacts
from innkeeper.library.prepare.conversation import template_values
from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.library.tier import Ceilings
from innkeeper.operations.scenes.modes import SceneMode
from innkeeper.operations.scenes.narrative import (
    Narrative,
    SceneTags,
    mended,
    read_narrative,
    repair_text,
    taken_tags,
)
from innkeeper.operations.scenes.reading.context import SceneContext
from innkeeper.operations.scenes.request import SceneRequest
from innkeeper.operations.scenes.sources import SceneSources
from innkeeper.operations.scenes.state import SceneState
from innkeeper.operations.tasks.answer import TaskAnswer
from innkeeper.operations.tasks.execution import TextTask, TextTasks
from innkeeper.operations.tasks.written import Written
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import InnkeeperError, ProviderError, StrictModeError, UnavailableError, UsageError, Where
from innkeeper.prompt.message import Message

Source = Literal["override", "template", "composed", "narrative", "fallback"]
Narrator = Callable[[SceneMode, SceneState, SceneContext, int], Awaitable["SceneText"]]
"""Lets a model describe the moment of a scene in at most so many words."""

_WORDS: Final = 60
_SAMPLING: Final = FrozenDict(temperature=0.5, top_p=0.9)
_ASKED: Final = "Describe the present moment now, in at most {words} words."
_LINES: Final = 10
_LONGEST_LINES: Final = 4_000


class SceneRefusedError(InnkeeperError):
    """A model refused to describe a scene; ``refusal`` is its answer, verbatim."""

    exit_code = 65
    http_status = 422

    def __init__(self, refusal: str) -> None:
        hint = "say yourself what is to be seen, as scene_prompt_override"
        super().__init__("the model refused to tell the scene", hint=hint, refusal=refusal)
        self.refusal = refusal


class SceneText(msgspec.Struct, frozen=True, kw_only=True):
    """A scene's text, its name and description from tags, and the reasons if it is degraded.

    ``answer`` is the answer of the model, if one was asked.
    """

    tags: SceneTags
    source: Source
    reasons: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    answer: TaskAnswer | None = None


async def scene_text(
    request: SceneRequest,
    sources: SceneSources,
    mode: SceneMode,
    context: SceneContext,
    narrate: Narrator | None,
) -> SceneText:
    """Return the text of a scene.

    Raises:
        UsageError: the request does not say what to show.
        SceneRefusedError: the model refused.
        TierBlockedError: the model's text does not pass the gate.
    """
    state = sources.state
    text = _own_text(request, sources, mode) or _composed_text(state, context)
    if text is not None:
        return text
    reasons: tuple[str, ...] = ("no_model",)
    if narrate is not None and (request.message.strip() or sources.messages or sources.character):
        try:
            return await narrate(mode, state, context, max_words(sources))
        except (TierBlockedError, StrictModeError, SceneRefusedError):
            raise
        except (UnavailableError, ProviderError) as error:
            reasons = (f"narrative:{error.kind}",)
    return _fallback_text(state, sources, reasons)


def max_words(sources: SceneSources) -> int:
    """Return the maximum number of words of a narrative: the template's, else the default."""
    return _WORDS if sources.template is None else int(sources.template.max_words)


def _own_text(request: SceneRequest, sources: SceneSources, mode: SceneMode) -> SceneText | None:
    """Return the text of the request, or, for the first scene, of the template."""
    if request.scene_prompt_override.strip():
        return SceneText(tags=taken_tags(request.scene_prompt_override), source="override")
    row = sources.template
    context = request.scene_context if row is None else str(row.scene_prompt)
    if not context.strip() or sources.before is not None or mode is SceneMode.CONTINUATION:
        return None
    tags = taken_tags(context)
    if row is not None:
        tags = msgspec.structs.replace(
            tags, name=tags.name or row.name, description=tags.description or row.description
        )
    return SceneText(tags=tags, source="template")


def _composed_text(state: SceneState, context: SceneContext) -> SceneText | None:
    """Return the known place with its visible details, if there is an action; the other parts are segments of their own."""
    if not context.actions:
        return None
    location = state.location.value if state.location is not None else ""
    seen = ", ".join(dict.fromkeys((*context.visual_elements, *context.positioning[:2])))
    text = ". ".join(part for part in (location, seen) if part)
    return SceneText(tags=SceneTags(text or context.actions[0]), source="composed")


def _fallback_text(state: SceneState, sources: SceneSources, reasons: tuple[str, ...]) -> SceneText:
    """Return the place and the persons alone. Raises `UsageError` if neither is known."""
    names = [str(row.name) for _, row in sources.people]
    location = None if state.location is None else state.location.value
    text = ", ".join(part for part in (" and ".join(names[:1]), location) if part)
    if not text:
        raise UsageError(
            "nothing says what is to be seen",
            where=Where(path="message"),
            hint="send message, scene_context or scene_prompt_override, or a conversation or character",
        )
    return SceneText(tags=SceneTags(text), source="fallback", reasons=reasons)


# ---------------------------------------------------------------------------------------------------------------- narrative


def narrator(
    tasks: TextTasks,
    request: SceneRequest,
    sources: SceneSources,
    ceilings: Ceilings,
    target: ModelFacts,
    terms: dict[str, Any],
) -> Narrator:
    """Return the function that lets a model describe a moment with the template for the scene's mode.

    The model may repair the faults of its text once; what remains is cut. ``target`` is the model that generates the picture.
    """

    async def narrate(mode: SceneMode, state: SceneState, context: SceneContext, words: int) -> SceneText:
        task = TextTask(
            prompt=_addressed(tasks, _prompt(request, sources, ceilings, state, context, words), mode, target),
            task="enhancement",
            options=_SAMPLING,
            **terms,
        )
        written = await tasks.write(task)
        if written.refused:
            await tasks.finish(task, written)
            raise SceneRefusedError(written.text)
        if written.response is None:
            return _fallback_text(state, sources, ("no_template",))
        await tasks.check(written, written.text)
        first = read_narrative(written.text, words)
        best, all_of_it = first, [written]
        if first.faults:
            again = await _again(tasks, task, written, repair_text(first, words))
            if again is not None:
                await tasks.check(again, again.text)
                all_of_it.insert(0, again)
                best = min((first, read_narrative(again.text, words)), key=lambda one: len(one.faults))
        done = mended(best, words) if best.faults else best
        reasons = tuple(f"narrative:{fault}" for fault in best.faults)
        answer = await tasks.finish(task, *all_of_it, text=done.text or best.text, reasons=reasons)
        return _narrative_text(done, best, answer, state, sources)

    return narrate


def _narrative_text(
    done: Narrative, best: Narrative, answer: TaskAnswer, state: SceneState, sources: SceneSources
) -> SceneText:
    if "too_short" in done.faults:
        known = _fallback_text(state, sources, ("narrative:too_short",))
        return msgspec.structs.replace(known, answer=answer, faults=best.faults)
    return SceneText(tags=done.tags, source="narrative", reasons=answer.reasons, faults=best.faults, answer=answer)


async def _again(tasks: TextTasks, task: TextTask, written: Written, asked: str) -> Written | None:
    """Let the model repair its text; None if it does not answer."""
    history = (Message("user", task.prompt.text), Message("assistant", written.text))
    prompt = msgspec.structs.replace(task.prompt, text=asked, history=history, request_id=written.prepared.request_id)
    model = None if written.deployment is None else written.deployment.route.model
    spent = 0.0 if written.trace is None else written.trace.spent
    left = None if task.money is None else max(task.money - spent, 0.0)
    try:
        again = await tasks.write(msgspec.structs.replace(task, prompt=prompt, model=model, money=left))
    except TierBlockedError:
        raise
    except InnkeeperError:
        return None
    return None if again.refused else msgspec.structs.replace(again, prepared=written.prepared)


def _addressed(tasks: TextTasks, prompt: PrepareRequest, mode: SceneMode, target: ModelFacts) -> PrepareRequest:
    """Set the use case of the prompt: for scenes that continue a picture, for models with CLIP's window, or for all others.

    For models with CLIP's window a template asks for phrases instead of sentences, if the library has one for their family.
    """
    replace = msgspec.structs.replace
    if mode is SceneMode.CONTINUATION:
        return replace(prompt, use_case="scene_iteration")
    spec = target.measured(target.window)
    if spec is None or spec.kind != "clip":
        return prompt
    parts = {name: prompt.values.get(name) for name in ("setting", "actions", "conversation_context")}
    moment = "\n".join(", ".join(part) if isinstance(part, (list, tuple)) else part for part in parts.values() if part)
    values = FrozenDict({**prompt.values, "scene_context": moment})
    phrases = replace(
        prompt, use_case="scene_generation", target_model=target.key, target_family=target.family, values=values
    )
    return prompt if tasks.library.resolve(phrases).resolution.template is None else phrases


def _prompt(
    request: SceneRequest,
    sources: SceneSources,
    ceilings: Ceilings,
    state: SceneState,
    context: SceneContext,
    words: int,
) -> PrepareRequest:
    lines = [f"{row.role}: {row.content}" for row in sources.messages[-_LINES:]]
    if request.message:
        lines.append(request.message)
    scene = {
        "setting": None if state.location is None else state.location.value,
        "actions": list(context.actions),
        "positioning": list(context.positioning),
        "conversation_context": "\n".join(lines)[-_LONGEST_LINES:],
        "scene_context": None if sources.before is None else sources.before.scene_text,
    }
    values = template_values(sources.character, sources.persona, scene)
    values = {"character_name": "somebody", **values, **({"mood": context.mood} if context.mood else {})}
    conversation = sources.conversation
    return PrepareRequest(
        use_case="scene_narrative_generation",
        job_type="chat",
        text=_ASKED.format(words=words),
        content_mode=request.content_tier,
        ceilings=ceilings,
        values=FrozenDict(values),
        user_id=sources.owner.user,
        conversation_id=None if conversation is None else conversation.id,
    )
