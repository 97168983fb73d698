"""Step ``hooks``: let *before* hooks replace inputs, then make the scene; *after* hooks may replace the finished plan.

What *after* hooks add is counted again, so that nothing escapes the budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Literal

import msgspec

from innkeeper.budget.accounting import costing_of
from innkeeper.budget.report import TrimReport
from innkeeper.macros.silly.card import card_has_effects
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.errors import MaxTokensExceededError, UsageError
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.run.extensions import HookContext, settled
from innkeeper.prompt.run.pipeline import Step, StepConfig
from innkeeper.prompt.run.state import State
from innkeeper.prompt.text import kind_of
from innkeeper.taverns.assets import assets_of
from innkeeper.taverns.silly.card_texts import CardTexts, card_texts, member_depth_prompts, separator_of
from innkeeper.taverns.silly.chat.room import Counting
from innkeeper.taverns.silly.environment import chat_of, environment_of
from innkeeper.taverns.silly.expansion import Expander, Pieces
from innkeeper.taverns.silly.extensions.recall import NOTHING, Search, recall, search_of, shortened
from innkeeper.taverns.silly.inputs import SillyInputs, inputs_with, read_inputs
from innkeeper.taverns.silly.lines.line import Line, note_blocks
from innkeeper.taverns.silly.lines.media import MediaRoom
from innkeeper.taverns.silly.lines.typed import bias_text, chat_lines, expanded, shown_lines, untagged
from innkeeper.taverns.silly.lore import read_carry
from innkeeper.taverns.silly.order import CHAT_ORDER, TEXT_ORDER, Order
from innkeeper.taverns.silly.scene import ReasoningFrame, Scene, reasoning_frames, scene_of
from innkeeper.taverns.silly.scratch import SCENE
from innkeeper.taverns.silly.scripts.run import scripts_of
from innkeeper.taverns.silly.settings import DEFAULT_PROFILE, note_unused

_GREETING_STEPS: Final = 200
"""The steps charged for expanding a greeting once more, however short."""


class HooksConfig(StepConfig, frozen=True, kw_only=True):
    """``on_overflow``: what to do when *after* hooks leave more than fits: ``error``, or ``warn`` and send it all the same."""

    on_overflow: Literal["error", "warn"] = "error"


def run(state: State, _config: HooksConfig) -> None:
    """Read the inputs (hooks first), make the macro environment, expand what comes before the lore: see `order`."""
    inputs = _hooked(state, read_inputs(state))
    state.result.offers_tools = inputs.offers_tools
    note_unused(state, inputs)
    state.result.outlets.update(read_carry(assets_of(state).lore_state).outlets)
    opening = OpeningStages(state, inputs)
    opening.order.follow(opening.stages())
    state.scratch[SCENE] = opening.scene()


class OpeningStages:
    """A build's first stages at work: each leaves here what it makes; together they are the `Scene`."""

    def __init__(self, state: State, inputs: SillyInputs) -> None:
        self.state, self.inputs = state, inputs
        self.order = Order(state, TEXT_ORDER if inputs.is_text else CHAT_ORDER, repeats=inputs.compat.repeated_effects)
        self.lines = chat_lines(inputs)
        self.is_sent = len(self.lines) > len(inputs.lines)
        self.texts = CardTexts()
        self.depth_prompts: dict[int, Pieces] = {}
        self.reasoning: dict[int, ReasoningFrame] = {}
        self.bias = self.stored_bias = ""
        self.bias_is_own = False
        self.separator = ""
        self.guidance_tokens = 0
        self.recall = NOTHING
        self.search: Search | None = None
        earlier = self.lines[:-1] if self.is_sent else self.lines
        env = environment_of(state, inputs, earlier, is_sent=self.is_sent)
        report = self.order.report if state.inputs.ports.instrumenter is not None else None
        pack: Literal["new", "legacy"] = "new" if inputs.power.experimental_macro_engine else "legacy"
        self.expand = Expander(env, pack, card_has_effects(env), report)
        self.scripts = scripts_of(state, inputs, self.expand)
        self.media: MediaRoom | None = None
        self.sent: tuple[Line, ...] = ()

    def stages(self) -> dict[str, Callable[[], None]]:
        """The work of each stage."""
        return {
            "quiet_prompt": self._quiet_prompt,
            "bias": self._bias,
            "message": self._message,
            "bias_again": self._bias_again,
            "card": self._card,
            "greetings": self._greetings,
            "member_depth_prompts": self._member_depth_prompts,
            "first_message": self._first_message,
            "scripts": self._scripts,
            "reasoning": self._reasoning,
            "guidance": self._guidance,
            "separator": self._separator,
            "recall": self._recall,
        }

    def scene(self) -> Scene:
        """The scene they have made."""
        counting = Counting.of(self.state, self.inputs)
        return Scene(
            inputs=self.inputs,
            expand=self.expand,
            texts=self.texts,
            lines=self.sent,
            all_lines=self.lines,
            order=self.order,
            depth_prompts=self.depth_prompts,
            reasoning=self.reasoning,
            separator=self.separator,
            bias=self.bias,
            bias_is_own=self.bias_is_own,
            count=counting.message,
            counted_by=counting.name,
            scripts=self.scripts,
            media=self.media,
            guidance_tokens=self.guidance_tokens,
            recall=self.recall,
        )

    def _scripts(self) -> None:
        self.sent = shown_lines(self.inputs, self.lines)
        if self.inputs.is_text:
            note_blocks(self.state, self.sent)
        if self.scripts is not None:
            self.sent = self.scripts.of_chat(self.sent, self.inputs, self.expand)
        self.search = search_of(self.state, self.inputs, self.sent, self.expand)
        if "media" in self.inputs.rare:
            search = self.search
            shorten = None if search is None else lambda text: shortened(self.state, search, text)
            self.media = MediaRoom(self.state, self.inputs, shorten)
            self.sent = self.media.lines(self.sent)

    def _reasoning(self) -> None:
        if self.scripts is not None:
            self.sent = self.scripts.of_reasoning(self.sent, self.inputs)
        if "reasoning" not in self.inputs.rare:
            return
        spoken = self.inputs.spoken(self.sent)
        self.reasoning = reasoning_frames(self.inputs, spoken, self.expand)
        unsent = sum(bool(line.reasoning) and line.index not in self.reasoning for line in spoken)
        if unsent:
            message = f"the reasoning of {unsent} messages is not sent: settings.power_user.reasoning says how much is"
            data = {
                "input": "history",
                "fields": ("reasoning", "reasoning_content", "extra.reasoning"),
                "count": unsent,
            }
            self.state.note(NoteKind.IGNORED, message, data=data)

    def _separator(self) -> None:
        if self.texts.examples:
            self.separator = separator_of(self.inputs, self.expand)

    def _guidance(self) -> None:
        """Both texts of guidance are counted; the larger one takes its tokens from the window."""
        guidance = self.inputs.guidance
        if guidance is not None:
            texts = [guidance.joined(parts, self.expand) for parts in (guidance.negative, guidance.positive)]
            count = Counting.of(self.state, self.inputs).lore
            self.guidance_tokens = max(count(text) for text in texts) if any(texts) else 0
            if not self.inputs.is_text:
                message = "guidance is sent in text completion alone, as in SillyTavern; its texts take their tokens from lore"
                data = {"input": "settings.cfg", "tokens": self.guidance_tokens}
                self.state.note(NoteKind.IGNORED, message, data=data)

    def _recall(self) -> None:
        self.sent, self.recall = recall(
            self.state, self.inputs, self.sent, self.lines, self.expand, self._fits, self.search
        )

    def _fits(self, text: str) -> bool:
        return Counting.of(self.state, self.inputs).text(text) <= self.inputs.context_tokens

    def _quiet_prompt(self) -> None:
        quiet = self.expand(self.inputs.generation.quiet_prompt)
        generation = msgspec.structs.replace(self.inputs.generation, quiet_prompt=quiet)
        self.inputs = self.inputs.replace(generation=generation)

    def _bias(self) -> None:
        """The beginning of the reply; a typed one is expanded twice: to be stored with the message, then to be sent."""
        typed = self.lines[-1] if self.is_sent and self.lines[-1].is_new else None
        text, self.bias_is_own = bias_text(self.inputs, typed)
        self.bias = self.stored_bias = self.expand(text) if text else ""
        if typed is not None and self.bias_is_own and self.inputs.compat.repeated_effects:
            self.bias = self.expand.silently(text)

    def _message(self) -> None:
        """The user's current message: scripts for the stored text, then macros. The chat that macros see has it from here on."""
        if self.is_sent:
            written = self.lines[-1]
            if written.bias and not untagged(written.text):  # nothing is said besides: nobody expands it
                line = msgspec.structs.replace(written, text=" ", is_user=False, bias=self.stored_bias, hidden=True)
            else:
                line = expanded(written if self.scripts is None else self.scripts.typed(written), self.expand)
            if line.bias and not line.hidden:
                line = msgspec.structs.replace(line, text=untagged(line.text), pieces=(), bias=self.stored_bias)
            self.lines = (*self.lines[:-1], line)
            self._see_lines()
            if self.scripts is not None:
                self.scripts.show(self.lines[-1], self.expand)
        elif self.inputs.message:
            message = f"the message is not sent for {self.inputs.type!r}"
            self.state.note(NoteKind.IGNORED, message, data={"input": "message"})

    def _see_lines(self) -> None:
        self.expand = replace(self.expand, env=replace(self.expand.env, chat=chat_of(self.lines)))

    def _bias_again(self) -> None:
        """The setting, when the message's text is shown, and when what it asks for is."""
        if self.is_sent:
            for shown in (self.lines[-1].text, self.lines[-1].bias):
                if shown:
                    self.expand.again(self.inputs.power.user_prompt_bias)

    def _card(self) -> None:
        fields = next(stage.texts for stage in self.order.stages if stage.name == "card")
        self.texts = card_texts(self.inputs, self.expand, fields)

    def _greetings(self) -> None:
        card = self.expand.env.card
        charge("macros", _GREETING_STEPS * len(card.alternate_greetings))
        for text in (card.first_message, *card.alternate_greetings):
            self.expand.again(text, bare=True)

    def _member_depth_prompts(self) -> None:
        self.depth_prompts = member_depth_prompts(self.inputs, self.expand)

    def _first_message(self) -> None:
        first = expanded(self.lines[0], self.expand) if self.lines else None
        if first is not None and first is not self.lines[0]:
            self.lines = (first, *self.lines[1:])
            self._see_lines()


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
        raise UsageError(f"an after_build hook left {kind_of(context.plan)} in place of the plan")
    state.result.plan = context.plan
    if context.plan is not plan:
        recount(state, plan, context.plan, on_overflow=config.on_overflow)


HOOKS: Final = Step("hooks", run, HooksConfig, finish)


def recount(state: State, before: Plan, after: Plan, *, on_overflow: str) -> None:
    """Count the changed plan and correct its report. Only what the hooks added counts against them: a smaller plan passes.

    Hooks run last, so nothing is trimmed for them. Raises `MaxTokensExceededError` naming this step.
    """
    scene, report = scene_of(state), state.result.trim_report
    costing = costing_of(before)
    was, left = (sum(costing.totals(plan.sent_blocks())) for plan in (before, after))
    added, used = left - was, left
    if isinstance(report, TrimReport):
        used = report.final_tokens + added
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
