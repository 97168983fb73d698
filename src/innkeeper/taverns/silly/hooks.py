"""Step ``hooks``: let *before* hooks replace inputs, then make the scene; *after* hooks may replace the finished plan.

What *after* hooks add is counted again, so that nothing escapes the budget.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal

import msgspec

from innkeeper.budget.report import TrimReport
from innkeeper.prompt.errors import MaxTokensExceededError, UsageError
from innkeeper.prompt.hooks import HookContext, settled
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.pipeline import Step, StepConfig
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.state import State
from innkeeper.taverns.silly.expansion import Expander
from innkeeper.taverns.silly.inputs import SillyInputs, inputs_with, read_inputs
from innkeeper.taverns.silly.line import Line
from innkeeper.taverns.silly.room import Counting, counted
from innkeeper.taverns.silly.scene import (
    Scene,
    card_texts,
    chat_lines,
    chat_of,
    environment_of,
    expanded,
    scene_of,
    shown_lines,
)
from innkeeper.taverns.silly.settings import DEFAULT_PROFILE, note_unused

__all__ = ["HOOKS", "recount"]


class HooksConfig(StepConfig, frozen=True, kw_only=True):
    """``on_overflow``: what to do when *after* hooks leave more than fits: ``error``, or ``warn`` and send it all the same."""

    on_overflow: Literal["error", "warn"] = "error"


def run(state: State, _config: HooksConfig) -> None:
    """Read the inputs (hooks first), make the macro environment, expand the card and the chat's first message."""
    inputs = _hooked(state, read_inputs(state))
    note_unused(state, inputs)
    lines = chat_lines(inputs)
    expand = Expander(
        environment_of(state, inputs, lines), "new" if inputs.power.experimental_macro_engine else "legacy"
    )
    inputs, lines = _spoken(state, inputs, lines, expand)
    texts = card_texts(inputs, expand)
    if lines:
        lines = (expanded(lines[0], expand), *lines[1:])
    expand = replace(expand, env=replace(expand.env, chat=chat_of(lines)))
    counting = Counting.of(state, inputs)
    state.scratch["hooks"] = Scene(
        inputs, expand, texts, shown_lines(inputs, lines), lines, counting.message, counting.name
    )


def _spoken(
    state: State, inputs: SillyInputs, lines: tuple[Line, ...], expand: Expander
) -> tuple[SillyInputs, tuple[Line, ...]]:
    """What the user says now, with macros resolved before all others: the message, and the quiet prompt."""
    if len(lines) > len(inputs.lines):
        lines = (*lines[:-1], expanded(lines[-1], expand))
    elif inputs.message:
        state.note(NoteKind.IGNORED, f"the message is not sent for {inputs.type!r}", data={"input": "message"})
    quiet = expand(inputs.generation.quiet_prompt)
    generation = msgspec.structs.replace(inputs.generation, quiet_prompt=quiet)
    return msgspec.structs.replace(inputs, generation=generation), lines


def _hooked(state: State, inputs: SillyInputs) -> SillyInputs:
    hooks = state.inputs.ports.hooks
    if hooks is None:
        return inputs
    fields = {
        "character": inputs.character,
        "user": inputs.persona,
        "preset": inputs.preset,
        "history": state.request.history,
        "user_message": inputs.message,
        "macro_vars": inputs.macro_vars,
        "generation_type": inputs.type,
    }
    context = HookContext(dict(fields), state.warn)
    settled(hooks.run_before_build(context))
    return inputs_with(state, inputs, context.changed(fields))


def finish(state: State, config: HooksConfig) -> None:
    """Name the plan's profile and run *after* hooks over it; what they add is counted, and refused when it does not fit."""
    hooks, plan = state.inputs.ports.hooks, state.result.plan
    if plan is None:
        return
    state.result.plan = plan = plan.with_(profile=state.request.profile or DEFAULT_PROFILE)
    if hooks is None:
        return
    fields: dict[str, Any] = {"plan": plan, "generation_type": state.request.generation}
    context = HookContext(fields, state.warn, after=True)
    settled(hooks.run_after_build(context))
    if not isinstance(context.plan, Plan):
        raise UsageError(f"an after_build hook left {type(context.plan).__name__} in place of the plan")
    state.result.plan = context.plan
    if context.plan is not plan:
        recount(state, plan, context.plan, on_overflow=config.on_overflow)


HOOKS: Final = Step("hooks", run, HooksConfig, finish)


def recount(state: State, before: Plan, after: Plan, *, on_overflow: str) -> None:
    """Count the changed plan and correct its report. Only what the hooks added counts against them: a smaller plan passes.

    Hooks run last, so nothing is trimmed for them. Raises `MaxTokensExceededError` naming this step.
    """
    scene, report = scene_of(state), state.result.trim_report
    added = _tokens(scene, after) - _tokens(scene, before)
    used = report.final_tokens + added if isinstance(report, TrimReport) else _tokens(scene, after)
    if isinstance(report, TrimReport):
        state.result.trim_report = msgspec.structs.replace(
            report, final_tokens=used, initial_tokens=report.initial_tokens + added
        )
    if added > 0 and used > scene.inputs.context_tokens:
        _refuse(state, scene, used, on_overflow)


def _refuse(state: State, scene: Scene, used: int, on_overflow: str) -> None:
    window, budget = scene.inputs.max_context, scene.inputs.context_tokens
    if on_overflow == "error":
        raise MaxTokensExceededError(
            estimated_tokens=used,
            max_tokens=window,
            reserve_tokens=window - budget,
            step="hooks",
            hint="an after_build hook added more than fits: let it add less, or lower the preset's reply length",
        )
    state.warn(
        f"an after_build hook left {used:,} tokens where {budget:,} fit",
        kind=NoteKind.LIMIT,
        data={"needed": used, "budget": budget},
    )


def _tokens(scene: Scene, plan: Plan) -> int:
    return sum(scene.count(counted(block)) for block in plan.sent_blocks())
