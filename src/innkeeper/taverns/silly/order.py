"""The order of evaluation: which texts have their macros replaced, when, and how often. One table for each kind of prompt.

Macros write variables and draw from chance, so the order shows in the prompt. It is SillyTavern's, measured by texts that log
when they are expanded. No step decides about it: a step gives `Order.follow` what is to be done in each of its stages, and the
table says what comes first. A stage that comes ``again`` expands texts whose result nobody reads: the effects of their macros
happen once more, as they do there (quirk ``repeated_effects``), and a text without effects is not expanded again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.text import shorten

if TYPE_CHECKING:
    from innkeeper.prompt.run.state import State


class Stage(msgspec.Struct, frozen=True):
    """A moment of a build: the ``step`` it belongs to, and the texts that are expanded then, in this order."""

    name: str
    step: str
    texts: tuple[str, ...]
    again: bool = False


_OPENING: Final = (
    Stage("quiet_prompt", "hooks", ("generation.quiet_prompt",)),
    Stage("bias", "hooks", ("the bias in what is typed, twice, else the one kept with the last message, else user_prompt_bias",)),
    Stage("message", "hooks", ("what is typed, or send_if_empty; the chat macros do not see it yet",)),
    Stage("bias_again", "hooks", ("user_prompt_bias, for the text and for the bias of a new message",), again=True),
    Stage(
        "card",
        "hooks",
        (
            "system", "examples", "description", "personality", "persona", "scenario", "jailbreak", "depth_prompt",
            "creator_notes",
        ),
    ),
    Stage("greetings", "hooks", ("first_mes", "alternate_greetings"), again=True),
    Stage("member_depth_prompts", "hooks", ("depth prompts of the members of a joined group",)),
    Stage("first_message", "hooks", ("the chat's first message",)),
    Stage("scripts", "hooks", ("replacements of regex scripts in the chat's messages, oldest first",)),
    Stage("reasoning", "hooks", ("prefix, separator and suffix, once for each message whose reasoning is sent, newest first",)),
    Stage("guidance", "hooks", ("the negative and the positive text of guidance, to count them",)),
    Stage("separator", "hooks", ("context.example_separator, for the card's examples",)),
    Stage("recall", "hooks", ("the prompt for a summary that is due", "messages that passages are searched for")),
    Stage("scanned", "lore", ("injections that are scanned, the note if it may be",)),
    Stage("lore", "lore", ("keys as they are tried, then the contents of what fires, pass by pass",)),
    Stage("lore_separators", "lore", ("context.example_separator, for each entry among the examples",)),
)  # fmt: skip

CHAT_ORDER: Final = (
    *_OPENING,
    Stage(
        "beside_main_again",
        "pinned_groups",
        ("injections and note before the main prompt, then those after it",),
        again=True,
    ),
    Stage(
        "story_again",
        "pinned_groups",
        ("what a story string would hold: texts beside the main prompt, the fields of the card, lore, the persona",),
        again=True,
    ),
    Stage("formats", "pinned_groups", ("scenario_format", "personality_format")),
    Stage("nudges", "pinned_groups", ("group_nudge_prompt", "impersonation_prompt")),
    Stage("prompts", "pinned_groups", ("the preset's own prompts that are on, in their order",)),
    Stage("markers", "pinned_groups", ("what markers stand for, a second time",)),
    Stage(
        "beside_main",
        "pinned_groups",
        ("summary, note, vectors, persona, then other injections beside the main prompt",),
    ),
    Stage(
        "overrides", "pinned_groups", ("the card's system prompt, then its post-history instructions, a second time",)
    ),
    Stage("prefill", "injection", ("assistant_prefill, where a reply is continued by it",)),
    Stage("depths", "injection", ("texts in the chat: from depth 0 on, system, user, assistant, by their keys",)),
    Stage("pinned_examples", "macro_expansion", ("new_example_chat_prompt, where examples are pinned",)),
    Stage("new_chat", "macro_expansion", ("new_chat_prompt",)),
    Stage(
        "continued", "macro_expansion", ("continue_nudge_prompt", "the message to continue", "the same for the nudge")
    ),
    Stage("history", "macro_expansion", ("the chat from its newest message to the oldest that fits, but the first",)),
    Stage("examples", "macro_expansion", ("new_example_chat_prompt",)),
    Stage(
        "injections_again",
        "plan_assembly",
        ("injections, note, lore at depths and outlets, as they were made",),
        again=True,
    ),
    Stage("stop_strings", "plan_assembly", ("custom_stopping_strings",)),
    Stage(
        "stop_strings_again", "plan_assembly", ("custom_stopping_strings, for sources that have their own",), again=True
    ),
    Stage("reply_start", "plan_assembly", ("assistant_prefill or assistant_impersonation",)),
)
"""Chat completion. What a dry run leaves out is the last four."""

TEXT_ORDER: Final = (
    *_OPENING,
    Stage(
        "examples",
        "pinned_groups",
        ("context.example_separator", "instruct sequences and suffixes of examples, once"),
    ),
    Stage("system", "pinned_groups", ("the system prompt, or the card's in its place",)),
    Stage("beside_main", "injection", ("injections and note before the story, joined", "those after it")),
    Stage("story", "compilation", ("the story string, filled",)),
    Stage("story_frame", "compilation", ("instruct.story_string_prefix", "instruct.story_string_suffix")),
    Stage("depths", "macro_expansion", ("texts in the chat, and a story string there: as in chat completion",)),
    Stage("post_history", "macro_expansion", ("what stands behind the history",)),
    Stage(
        "lines",
        "macro_expansion",
        ("sequences around each line, oldest first; a first and a last line first as any other",),
    ),
    Stage("alignment", "macro_expansion", ("instruct.user_alignment_message", "its sequences")),
    Stage("chat_start_again", "plan_assembly", ("context.chat_start, twice where a message is continued",), again=True),
    Stage("reply_again", "plan_assembly", ("what opens the reply, twice",), again=True),
    Stage("reply", "plan_assembly", ("sequences around the quiet prompt", "what opens the reply")),
    Stage("guided", "plan_assembly", ("the positive text of guidance",)),
    Stage("chat_start", "plan_assembly", ("context.chat_start",)),
    Stage("guided_against", "plan_assembly", ("the negative text of guidance", "context.chat_start for its prompt")),
    Stage("banned_strings", "plan_assembly", ("banned_tokens", "global_banned_tokens")),
    Stage("stop_strings_first", "plan_assembly", ("as below",), again=True),
    Stage("stop_strings", "plan_assembly", ("instruct sequences", "separators", "custom_stopping_strings")),
    Stage("negative_prompt", "plan_assembly", ("the sampler's negative_prompt",)),
    Stage("stop_strings_again", "plan_assembly", ("as above",), again=True),
    Stage(
        "injections_again",
        "plan_assembly",
        ("injections, note, lore at depths and outlets, as they were made", "a story string in the chat"),
        again=True,
    ),
    Stage("system_again", "plan_assembly", ("the system prompt as it was resolved, or the setting",), again=True),
)
"""Text completion, where lines of the chat are sent as they are. What a dry run leaves out is the last two."""


class Order:
    """The order of one build. ``stage`` is the current one; expansions are reported to the state's instrumenter."""

    __slots__ = ("_indices", "_repeats", "_state", "stage", "stages")

    def __init__(self, state: State, stages: tuple[Stage, ...], *, repeats: bool) -> None:
        self.stages, self.stage = stages, ""
        self._state, self._repeats = state, repeats
        self._indices = {stage.name: index for index, stage in enumerate(stages)}

    def follow(self, work: Mapping[str, Callable[[], None]]) -> None:
        """Run the stages of these names, in the table's order. Raises `UnknownNameError` for an unknown one."""
        indices = self._indices
        try:
            names = sorted(work, key=indices.__getitem__)
        except KeyError as error:
            raise UnknownNameError("stage of evaluation", error.args[0], indices) from None
        for name in names:
            if self._repeats or not self.stages[indices[name]].again:
                self.stage = name
                work[name]()

    def report(self, text: str) -> None:
        """Tell the trace that a text is expanded now."""
        self._state.instrument("expand", stage=self.stage, text=shorten(text, LONGEST))


LONGEST: Final = 400
"""Characters of a text that a trace shows."""
