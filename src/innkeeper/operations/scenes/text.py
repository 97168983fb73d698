"""SceneText: the text of a scene, from the first source that has one.

In order: the request's own words; the template, for the first scene; the known place with its visible details, if there is an
action; a model's description of the moment, its narrative; the place and the persons alone. A narrative is two or three
sentences of what can be seen. If it has faults, its model gets one chance to repair them; what then remains is cut, never
reworded (dynamic-prompting reference 3.7 steps 5 to 8, 9 item 10).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal

import msgspec

from innkeeper.gate.tier import Ceilings
from innkeeper.library.errors import TierBlockedError
from innkeeper.library.models.facts import ModelFacts
from innkeeper.library.prepare.budget import cut_text
from innkeeper.library.prepare.conversation import template_values
from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.operations.scenes.modes import SceneMode
from innkeeper.operations.scenes.reading import SceneContext
from innkeeper.operations.scenes.request import SceneRequest
from innkeeper.operations.scenes.sources import SceneSources
from innkeeper.operations.tasks.answer import TaskAnswer, Written
from innkeeper.operations.tasks.execution import TextTask, TextTasks
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import InnkeeperError, ProviderError, StrictModeError, UnavailableError, UsageError, Where
from innkeeper.prompt.message import Message

Source = Literal["override", "template", "composed", "narrative", "fallback"]


class SceneRefusedError(InnkeeperError):
    """A model refused to describe a scene; ``refusal`` is its answer, verbatim."""

    exit_code = 65
    http_status = 422

    def __init__(self, refusal: str) -> None:
        hint = "say yourself what is to be seen, as scene_prompt_override"
        super().__init__("the model refused to tell the scene", hint=hint, refusal=refusal)
        self.refusal = refusal


class SceneTags(msgspec.Struct, frozen=True):
    """A text without its tags, and their values: ``[SCENE_NAME: …]`` and ``[SCENE_DESC: …]``."""

    text: str
    name: str = ""
    description: str = ""


class SceneText(msgspec.Struct, frozen=True, kw_only=True):
    """A scene's text, its name and description from tags, and the reasons if it is degraded.

    ``answer`` is the answer of the model, if one was asked.
    """

    tags: SceneTags
    source: Source
    reasons: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    answer: TaskAnswer | None = None


Narrator = Callable[[], Awaitable[SceneText]]
"""Lets a model describe the moment of a scene."""


async def scene_text(
    request: SceneRequest, sources: SceneSources, mode: SceneMode, context: SceneContext, narrate: Narrator | None
) -> SceneText:
    """Return the text of a scene.

    Raises:
        UsageError: the request does not say what to show.
        SceneRefusedError: the model refused.
        TierBlockedError: the model's text does not pass the gate.
    """
    text = _own_text(request, sources, mode) or _composed_text(sources, context)
    if text is not None:
        return text
    reason = "no_model"
    if narrate is not None and (request.message.strip() or sources.messages or sources.character):
        try:
            return await narrate()
        except (TierBlockedError, StrictModeError, SceneRefusedError):
            raise
        except (UnavailableError, ProviderError) as error:
            reason = f"narrative:{error.kind}"
    return _fallback_text(sources, reason)


def _own_text(request: SceneRequest, sources: SceneSources, mode: SceneMode) -> SceneText | None:
    """Return the text of the request, or, for the first scene, of the template."""
    if request.scene_prompt_override.strip():
        return SceneText(tags=read_tags(request.scene_prompt_override), source="override")
    row = sources.template
    text = request.scene_context if row is None else str(row.scene_prompt)
    if not text.strip() or sources.before is not None or mode is SceneMode.CONTINUATION:
        return None
    tags = read_tags(text)
    if row is not None:
        tags = SceneTags(tags.text, tags.name or row.name, tags.description or row.description)
    return SceneText(tags=tags, source="template")


def _composed_text(sources: SceneSources, context: SceneContext) -> SceneText | None:
    """Return the known place with its visible details, if there is an action; the other parts are segments of their own."""
    if not context.actions:
        return None
    details = ", ".join(dict.fromkeys((*context.visual_elements, *context.positioning[:2])))
    text = ". ".join(part for part in (sources.state.location_text, details) if part)
    return SceneText(tags=SceneTags(text or context.actions[0]), source="composed")


def _fallback_text(sources: SceneSources, reason: str) -> SceneText:
    """Return the place and the persons alone. Raises `UsageError` if neither is known."""
    names = [row.name for _, row in sources.people]
    text = ", ".join(part for part in (*names[:1], sources.state.location_text) if part)
    if not text:
        raise UsageError(
            "nothing says what is to be seen",
            where=Where(path="message"),
            hint="send message, scene_context or scene_prompt_override, or a conversation or character",
        )
    return SceneText(tags=SceneTags(text), source="fallback", reasons=(reason,))


# ------------------------------------------------------------------------------------------------------- reading narratives

_LEAST: Final = 20
"""Characters of a narrative at least."""

_LONGEST_NAME: Final = 80
_LONGEST_DESCRIPTION: Final = 300
_TAG: Final = re.compile(r"\[[ \t]*SCENE_(?P<kind>NAME|DESC)[ \t]*:(?P<text>[^\[\]\n]*)\]?", re.IGNORECASE)
_MARKUP: Final = re.compile(r"(?<!\w)[*_`#]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}(?!\w)")
_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|「[^」\n]*」")
_FIRST_PERSON: Final = re.compile(r"(?<![\w'’])(?:I|I['’](?:m|ve|d|ll)|me|my|mine|myself)(?![\w'’-])")
_SENTENCES: Final = re.compile(r"[^.!?…]+(?:[.!?…]+[\"”'’)]*|$)\s*")
_FAULT_SENTENCES: Final = FrozenDict(
    dialogue="it quotes what is said: leave out all speech",
    first_person="it is told in the first person: tell it in the third",
    too_long="it is longer than {max_words} words",
    too_short="it says too little to be pictured",
)


class Narrative(msgspec.Struct, frozen=True):
    """A narrative and its faults: ``dialogue``, ``first_person``, ``too_long``, ``too_short``."""

    tags: SceneTags
    faults: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text without its tags."""
        return self.tags.text


def read_tags(text: str) -> SceneTags:
    """Remove the tags from a text; of several of one kind the first counts."""
    tags: dict[str, str] = {}
    for tag in _TAG.finditer(text):
        tags.setdefault(tag["kind"].upper(), " ".join(tag["text"].split()))
    plain = " ".join(_TAG.sub(" ", text).split())
    return SceneTags(plain, tags.get("NAME", "")[:_LONGEST_NAME], tags.get("DESC", "")[:_LONGEST_DESCRIPTION])


def read_narrative(text: str, max_words: int) -> Narrative:
    """Read a model's narrative: strip its markup and name its faults. An apostrophe is no quotation mark."""
    tags = read_tags(text)
    plain = _MARKUP.sub("", tags.text).strip()
    outside = _QUOTED.sub(" ", plain)
    faults = {
        "dialogue": outside != plain,
        "first_person": _FIRST_PERSON.search(outside) is not None,
        "too_long": len(plain.split()) > max_words,
        "too_short": len(plain) < _LEAST,
    }
    return Narrative(
        msgspec.structs.replace(tags, text=plain), tuple(name for name, present in faults.items() if present)
    )


def repair_text(narrative: Narrative, max_words: int) -> str:
    """Return the message that asks the model to repair its faults."""
    sentences = "; ".join(_FAULT_SENTENCES[fault].format(max_words=max_words) for fault in narrative.faults)
    return f"That does not serve yet: {sentences}. Write the description again, and nothing else."


def cut_faults(narrative: Narrative, max_words: int) -> Narrative:
    """Cut the faults out of a narrative: speech, sentences in the first person, words beyond the limit.

    Faults remain where cutting does not help. No word is changed.
    """
    text = _QUOTED.sub(" ", narrative.text) if "dialogue" in narrative.faults else narrative.text
    if "first_person" in narrative.faults:
        text = "".join(sentence for sentence in _SENTENCES.findall(text) if not _FIRST_PERSON.search(sentence))
    text = cut_text(" ".join(text.split()), lambda part: len(part.split()) <= max_words)
    tags = msgspec.structs.replace(narrative.tags, text=text)
    return Narrative(tags, read_narrative(text, max_words).faults)


# ------------------------------------------------------------------------------------------------------- asking for narratives

_WORDS: Final = 60
"""Words of a narrative at most, where no template says."""

_SAMPLING: Final = FrozenDict(temperature=0.5, top_p=0.9)
_INSTRUCTION: Final = "Describe the present moment now, in at most {words} words."
_LINES: Final = 10
_LONGEST_LINES: Final = 4_000


async def narrated_text(
    tasks: TextTasks, prompt: PrepareRequest, sources: SceneSources, terms: Mapping[str, Any]
) -> SceneText:
    """Let a model describe a moment with the prompt of `narrative_prompt`. ``terms`` are fields of the `TextTask`.

    The model may repair the faults of its text once; what remains is cut.
    """
    words = max_words(sources)
    task = TextTask(prompt=prompt, task="enhancement", options=_SAMPLING, **terms)
    written = await tasks.write(task)
    if written.refused:
        await tasks.finish(task, written)
        raise SceneRefusedError(written.text)
    if written.response is None:
        return _fallback_text(sources, "no_template")
    await tasks.check(written, written.text)
    narrative, texts = read_narrative(written.text, words), [written]
    if narrative.faults:
        repaired = await _repaired(tasks, task, written, repair_text(narrative, words))
        if repaired is not None:
            await tasks.check(repaired, repaired.text)
            texts.insert(0, repaired)
            narratives = (narrative, read_narrative(repaired.text, words))
            narrative = min(narratives, key=lambda narrative: len(narrative.faults))
    cut = cut_faults(narrative, words) if narrative.faults else narrative
    reasons = tuple(f"narrative:{fault}" for fault in narrative.faults)
    answer = await tasks.finish(task, *texts, text=cut.text or narrative.text, reasons=reasons)
    text = SceneText(tags=cut.tags, source="narrative", reasons=answer.reasons)
    if "too_short" in cut.faults:
        text = _fallback_text(sources, "narrative:too_short")
    return msgspec.structs.replace(text, faults=narrative.faults, answer=answer)


async def _repaired(tasks: TextTasks, task: TextTask, written: Written, instruction: str) -> Written | None:
    """Let the model repair its text; None if it does not answer."""
    replace = msgspec.structs.replace
    history = (Message("user", task.prompt.text), Message("assistant", written.text))
    prompt = replace(task.prompt, text=instruction, history=history, request_id=written.prepared.request_id)
    model = None if written.deployment is None else written.deployment.route.model
    spent = 0.0 if written.trace is None else written.trace.spent
    left = None if task.money is None else max(task.money - spent, 0.0)
    try:
        repaired = await tasks.write(replace(task, prompt=prompt, model=model, money=left))
    except TierBlockedError:
        raise
    except InnkeeperError:
        return None
    return None if repaired.refused else replace(repaired, prepared=written.prepared)


def max_words(sources: SceneSources) -> int:
    """Return the maximum number of words of a narrative: the template's, else the default."""
    return _WORDS if sources.template is None else int(sources.template.max_words)


def narrative_prompt(
    tasks: TextTasks,
    request: SceneRequest,
    sources: SceneSources,
    ceilings: Ceilings,
    mode: SceneMode,
    context: SceneContext,
    target: ModelFacts,
) -> PrepareRequest:
    """Return the prompt for a narrative, by the use case of the scene's mode or of the model that generates the picture.

    For models with CLIP's window a template asks for phrases instead of sentences, if the library has one for their family.
    """
    lines = [f"{row.role}: {row.content}" for row in sources.messages[-_LINES:]]
    if request.message:
        lines.append(request.message)
    scene = {
        "setting": sources.state.location_text or None,
        "actions": list(context.actions),
        "positioning": list(context.positioning),
        "conversation_context": "\n".join(lines)[-_LONGEST_LINES:],
        "scene_context": None if sources.before is None else sources.before.scene_text,
    }
    values = {"character_name": "somebody", **template_values(sources.character, sources.persona, scene)}
    if context.mood:
        values["mood"] = context.mood
    prompt = PrepareRequest(
        use_case="scene_iteration" if mode is SceneMode.CONTINUATION else "scene_narrative_generation",
        job_type="chat",
        text=_INSTRUCTION.format(words=max_words(sources)),
        content_mode=request.content_tier,
        ceilings=ceilings,
        values=FrozenDict(values),
        user_id=sources.owner.user,
        conversation_id=None if sources.conversation is None else sources.conversation.id,
    )
    spec = target.measured(target.window)
    if mode is SceneMode.CONTINUATION or spec is None or spec.kind != "clip":
        return prompt
    parts = [prompt.values.get(name) for name in ("setting", "actions", "conversation_context")]
    moment = "\n".join(", ".join(part) if isinstance(part, (list, tuple)) else part for part in parts if part)
    phrases = msgspec.structs.replace(
        prompt,
        use_case="scene_generation",
        target_model=target.key,
        target_family=target.family,
        values=FrozenDict({**values, "scene_context": moment}),
    )
    return prompt if tasks.library.resolve(phrases).resolution.template is None else phrases
