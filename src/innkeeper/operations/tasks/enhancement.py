"""Enhancement: turn a short idea into a prompt for an image or video model, within that model's token limit.

A model writes it with the template that the resolver chooses. If the first answer exceeds the limit, the model is asked once
more; a prompt that is still too long loses its least important phrases, each of which is listed. A reference that is copied or
modified is composed by rule, without a model (dynamic-prompting reference 4 and 11).
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final, Literal

import msgspec

from innkeeper.gate.tier import Ceilings
from innkeeper.inference.errors import DecodeError
from innkeeper.inference.routing.deployment import EMBEDDED
from innkeeper.library.catalogue.catalogue import AnswerSource
from innkeeper.library.catalogue.resolver import ENHANCEMENT, Execution
from innkeeper.library.errors import OverBudgetError
from innkeeper.library.log.enhancements import Done
from innkeeper.library.models.facts import Measure
from innkeeper.library.prepare.budget import Budget, Dropped
from innkeeper.library.prepare.request import PreparedPrompt, PrepareRequest
from innkeeper.library.prepare.segments import Compressed, Repair, fit_segments
from innkeeper.operations.tasks.answer import TaskAnswer, Written
from innkeeper.operations.tasks.execution import TextTask, TextTasks
from innkeeper.operations.tasks.phrases import NORMALISER, missing_words, normalised, segments_of, user_words
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import InnkeeperError, UnavailableError, UnknownNameError, UsageError, Where
from innkeeper.prompt.message import Message

COPY: Final = "copy"
"""Copy a reference exactly: its prompt is unchanged."""

MODIFY: Final = "modify"
"""Modify a reference: its content stays, the text describes the change."""

_SAMPLING: Final = FrozenDict(temperature=0.7, top_p=0.9)
"""Sampling options of enhancements, from the requirement document; the row of a model may override them."""

_KEEP: Final = "maintain the same subject"


class Enhancement(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt to enhance.

    ``job_type`` is the document's (``sdxl_image``, ``wan_video_high`` …). ``target`` is the id or key of the target model, or a
    family; by default it follows from the job type. ``enhancer`` is the model that writes, or the enhancer family of a
    template; another model may answer. ``overlays`` are added to the prompt later, and their tokens are reserved.
    ``reference`` is `COPY` or `MODIFY`; ``base`` is the prompt of the reference.
    """

    text: str = ""
    base: str = ""
    job_type: str = "sdxl_image"
    target: str | None = None
    enhancer: str | None = None
    content_mode: Any = None
    ceilings: Ceilings = Ceilings()
    negative: str = ""
    overlays: Mapping[str, str] = EMPTY
    reference: Literal["", "copy", "modify"] = ""
    generation_mode: Literal["txt2img", "i2i"] = "txt2img"
    quality: str = ""
    format: str = ""
    user_id: str | None = None
    request_id: str | None = None

    @property
    def is_video(self) -> bool:
        """Whether the prompt is for a video."""
        return self.format == "video" or "video" in self.job_type or "wan" in self.job_type


async def enhance(tasks: TextTasks, request: Enhancement, **terms: Any) -> TaskAnswer:
    """Enhance a prompt. ``terms`` are further fields of the `TextTask`.

    Raises:
        UsageError: there is nothing to enhance.
        UnknownNameError: the catalogue does not know the target.
        OverBudgetError: the parts that must stay do not fit, even with one word each.
        InnkeeperError: raised by `TextTasks.write` and `TextTasks.finish`.
    """
    if not (request.text.strip() or (request.reference and request.base.strip())):
        raise UsageError("there is no prompt to enhance", where=Where(path="prompt"), hint="send prompt: TEXT")
    task = TextTask(
        prompt=_prompt(tasks, request, terms.get("routes")),
        task=ENHANCEMENT,
        options=_SAMPLING,
        **{**_enhancer(tasks, request), **terms},
    )
    if request.reference:
        text, strategy = _composed(request)
        execution = Execution.NONE if request.reference == COPY else Execution.RULES
        return await _without_model(tasks, request, task, text, strategy, execution=execution)
    try:
        written = await tasks.write(task)
    except UnavailableError as error:
        if task.strict or not _lacks_embedded(error):
            raise
        reasons, execution = ("no_model",), Execution.NONE
        return await _without_model(
            tasks, request, task, request.text, "no_model_available", execution=execution, reasons=reasons
        )
    if written.refused or written.response is None:
        strategy = "refused" if written.refused else "no_template_available"
        return await tasks.finish(task, written, details={"strategy": strategy})
    return await _fitted(tasks, request, task, written)


# --------------------------------------------------------------------------------------------------------------- the request


def _prompt(tasks: TextTasks, request: Enhancement, routes: tuple[str, ...] | None) -> PrepareRequest:
    return PrepareRequest(
        use_case=ENHANCEMENT,
        text=request.text,
        job_type="video" if request.is_video else "image",
        target_model=_target(tasks, request, routes),
        enhancer_family=_template_family(tasks, request.enhancer),
        content_mode=request.content_mode,
        ceilings=request.ceilings,
        negative=request.negative,
        overlays=FrozenDict(request.overlays),
        generation_mode=request.generation_mode,
        user_id=request.user_id,
        request_id=request.request_id,
    )


def _target(tasks: TextTasks, request: Enhancement, routes: tuple[str, ...] | None) -> str:
    """Return the key or family of the target model. A caller who may not ask each model is told none of their names."""
    if request.target is None:
        return "wan" if request.is_video else "sdxl"
    models = tasks.library.catalogue.models
    row = next((row for row in models if request.target in (row.model_key, row.id)), None)
    if row is not None:
        return row.model_key
    known = {name for row in models for name in (row.model_key, row.model_family) if name}
    if models and request.target not in known | {"sdxl", "wan"}:
        listed = known if routes is None else ()
        raise UnknownNameError("model", request.target, listed, where=Where(path="model_id"))
    return request.target


_FAMILIES: Final = frozenset({"qwen_instruct", "qwen_base"})
"""The document's enhancer families of templates, which are not names of models."""


def _template_family(tasks: TextTasks, name: str | None) -> str | None:
    """Return the name if templates exist for this enhancer, else None."""
    if name is None or name in _FAMILIES:
        return name
    return name if any(row.version.key.enhancer_model == name for row in tasks.library.catalogue.labelled) else None


def _enhancer(tasks: TextTasks, request: Enhancement) -> dict[str, Any]:
    """Return the requested model, if there is a deployment of it."""
    if request.enhancer is None:
        return {}
    known = any(deployment.route.model == request.enhancer for deployment in tasks.models.router.deployments)
    return {"model": request.enhancer} if known else {}


# --------------------------------------------------------------------------------------------------------------- the answer


async def _without_model(
    tasks: TextTasks,
    request: Enhancement,
    task: TextTask,
    text: str,
    strategy: str,
    *,
    execution: Execution,
    reasons: tuple[str, ...] = (),
) -> TaskAnswer:
    """Answer with a text by rule; it is checked, recorded and fitted like any other."""
    prepared = await tasks.prepare(msgspec.structs.replace(task.prompt, text=text))
    resolution = msgspec.structs.replace(prepared.resolution, template=None, execution=execution, reasons=())
    copied = request.reference == COPY
    negative = None if copied else prepared.negative
    prepared = msgspec.structs.replace(prepared, resolution=resolution, rendered=None, negative=negative)
    fitted = Compressed(text, 0) if copied else _within(tasks, prepared, text, request, None)
    return await tasks.finish(
        task,
        Written(prepared=prepared),
        text=fitted.text,
        dropped=[_log_row(part) for part in fitted.dropped],
        reasons=(*reasons, *_shortened(fitted)),
        details=_facts(strategy, fitted, text),
    )


def _lacks_embedded(error: UnavailableError) -> bool:
    """Whether a task failed because the only deployment, the embedded model, is not installed."""
    steps: list[dict[str, Any]] = (error.details.get("route_trace") or {}).get("steps") or []
    return len(steps) == 1 and (steps[0]["deployment"], steps[0]["error"]) == (EMBEDDED.name, "unavailable")


def _composed(request: Enhancement) -> tuple[str, str]:
    """Return the text and the strategy of a reference that no model is asked for."""
    text, base = request.text.strip(), request.base.strip()
    if request.reference == COPY:
        return base or text, "skip_for_exact_copy"
    if text:
        return f"{_KEEP}; {text}", "reference_modify_with_prompt"
    return base, "reference_modify_base_only"


async def _fitted(tasks: TextTasks, request: Enhancement, task: TextTask, written: Written) -> TaskAnswer:
    """Fit a model's text to the target's limit."""
    texts, began = [written], perf_counter()
    text = normalised(written.text)
    if not text:
        raise _unusable(tasks, written, DecodeError("the model wrote nothing but marks", hint="ask again"))
    again: Written | InnkeeperError | None = None
    room = tasks.library.output_room(written.prepared)
    if room is not None and not room[0].fits(text, room[1]):
        again = await _again(tasks, task, written, text, room)
        if isinstance(again, Written):
            texts.insert(0 if again.refused else 1, again)
    try:
        fitted = _within(tasks, written.prepared, text, request, again)
    except OverBudgetError as error:
        raise _unusable(tasks, written, error) from None
    source = written.prepared.resolution.source
    strategy = "template_builtin" if source is AnswerSource.BUILTIN else "template_db"
    spent = again.model_ms if isinstance(again, Written) else 0.0
    unknown = request.enhancer is not None and task.model is None and task.prompt.enhancer_family is None
    missing = missing_words(request.text, fitted.text)
    is_another_idea = bool(missing) and 2 * len(missing) >= len(user_words(request.text))
    flagged = [name for name, so in (("enhancer_unknown", unknown), ("words_missing", is_another_idea)) if so]
    return await tasks.finish(
        task,
        *texts,
        text=fitted.text,
        dropped=[_log_row(part) for part in fitted.dropped],
        reasons=(*flagged, *_shortened(fitted)),
        latency_ms={"post": round((perf_counter() - began) * 1000 - spent, 3)},
        details={**_facts(strategy, fitted, written.text), "missing": list(missing)},
    )


def _unusable(tasks: TextTasks, written: Written, error: InnkeeperError) -> InnkeeperError:
    """Record an error about a model's text, with its route and cost, and return it."""
    if written.trace is not None:
        error.details["route_trace"] = written.trace.to_dict()
    tasks.library.record(written.prepared, Done(error=error), strict=False)
    return error


async def _again(
    tasks: TextTasks, task: TextTask, written: Written, text: str, room: tuple[Budget, Measure]
) -> Written | InnkeeperError:
    """Let the model shorten its answer; return its error if it fails."""
    budget, measure = room
    await tasks.check(written, text)
    complaint = f"That takes {measure.count(text)} {budget.unit}, and no more than {budget.target} are read."
    demand = (
        "Write it again, shorter: keep the subject and what it does, leave out the rest. Answer with the prompt alone."
    )
    history = (Message("user", written.prepared.request.text), Message("assistant", text))
    shorter = msgspec.structs.replace(
        task.prompt, text=f"{complaint} {demand}", history=history, request_id=written.prepared.request_id
    )
    model = None if written.deployment is None else written.deployment.route.model
    spent = 0.0 if written.trace is None else written.trace.spent
    left = None if task.money is None else max(task.money - spent, 0.0)
    try:
        again = await tasks.write(msgspec.structs.replace(task, prompt=shorter, model=model, money=left))
    except InnkeeperError as error:
        return error
    # The row, the tier and the budget are those of the request itself; only what was written is newer.
    return msgspec.structs.replace(again, prepared=written.prepared)


def _within(
    tasks: TextTasks, prepared: PreparedPrompt, text: str, request: Enhancement, again: Written | InnkeeperError | None
) -> Compressed:
    room = tasks.library.output_room(prepared)
    if room is None:
        return Compressed(text, tasks.library.counter.count(text, None))

    def repaired(_: Repair) -> str:
        if isinstance(again, InnkeeperError):
            raise again
        return "" if again is None or again.refused else normalised(again.text)

    asked = None if again is None else repaired
    return fit_segments(text, *room, segments_of=lambda part: segments_of(part, request.text), ask=asked)


def _shortened(fitted: Compressed) -> tuple[str, ...]:
    return ("shortened",) if any(part.reason in _LOST for part in fitted.dropped) else ()


_LOST: Final = frozenset({"budget", "tail", "cut"})


def _log_row(part: Dropped) -> dict[str, Any]:
    """Return a dropped part for the log, without its text."""
    return {"place": part.place, "role": str(part.role), "reason": part.reason, "tokens": part.tokens}


def _facts(strategy: str, fitted: Compressed, before: str) -> dict[str, Any]:
    changed = normalised(before) != before
    return {
        "strategy": strategy,
        "target_tokens": fitted.tokens,
        "dropped": [msgspec.to_builtins(part) for part in fitted.dropped],
        "repaired": fitted.repaired,
        "notes": list(fitted.notes),
        "changes": [{"step": NORMALISER, "before": before}] if changed and strategy.startswith("template") else [],
    }


# ---------------------------------------------------------------------------------------------------------------- the reply


def enhancement_reply(request: Enhancement, answer: TaskAnswer) -> dict[str, Any]:
    """Return an answer in the format of the document's ``enhance-prompt``, with the reference's additions."""
    facts, original = answer.to_dict(), request.text or request.base
    text, details, template = answer.text, answer.details, answer.prepared.resolution.template
    resolution = facts["resolution"]
    refused = answer.refused
    growth = ((0 if refused else len(text)) - len(original)) / len(original) if original else 0.0
    return {
        "success": not refused,
        "original_prompt": original,
        "enhanced_prompt": None if refused else text,
        "enhanced": answer.execution == "model" and not refused,
        "enhancement_strategy": details["strategy"],
        "enhancement_metadata": {
            "original_length": len(original),
            "enhanced_length": 0 if refused else len(text),
            "expansion_percentage": round(growth * 100, 1),
            "job_type": request.job_type,
            "format": request.format or ("video" if request.is_video else "image"),
            "quality": request.quality or None,
            "content_mode": answer.tier.value,
            "template_name": "none" if template is None else template.name,
            "model_used": answer.model or answer.execution,
            "token_count": details.get("target_tokens"),
            "compression_applied": bool(details.get("dropped")),
            "execution_time_ms": facts["latency_ms"].get("total"),
            "cache_hit": resolution["source"] == AnswerSource.MEMORY.value,
            "fallback_level": resolution["fallback_level"],
        },
        "negative_prompt": None if answer.negative is None else answer.negative.text,
        "negative": msgspec.to_builtins(answer.negative),
        "dropped": details.get("dropped", []),
        "missing": details.get("missing", []),
        "repaired": details.get("repaired", False),
        "changes": details.get("changes", []),
        **({"error": "the model refused", "code": "refusal", "refusal": text} if refused else {}),
        **{name: value for name, value in facts.items() if name != "text"},
        "tokens": {**facts["tokens"], "target": details.get("target_tokens")},
    }
