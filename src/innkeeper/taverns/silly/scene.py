"""Scene: a build's typed inputs with what every step needs of them.

These are the macro environment (names, card, chat, templates, variables, clock and chance, as macros see them) and
the expander that works in it, the texts of the card (or of a group's cards) after macros, and the chat of this
generation: new input appended, a reply to regenerate or swipe left out (`sillytavern.md` 2, 53), hidden lines not
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from innkeeper.content.character import DepthPrompt
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.card_texts import CardTexts
from innkeeper.taverns.silly.expansion import Expander, Pieces
from innkeeper.taverns.silly.extensions.recall import NOTHING, Recall
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.taverns.silly.lines.line import Line
from innkeeper.taverns.silly.lines.media import MediaRoom
from innkeeper.taverns.silly.order import Order
from innkeeper.taverns.silly.scratch import SCENE
from innkeeper.taverns.silly.scripts.run import Scripts

Count = Callable[[Mapping[str, Any]], int]


@dataclass(frozen=True, slots=True)
class Scene:
    """One build: ``lines`` are the visible lines in order, as sent; ``all_lines`` those that macros see."""

    inputs: SillyInputs
    expand: Expander
    texts: CardTexts
    lines: tuple[Line, ...]
    all_lines: tuple[Line, ...]
    order: Order
    count: Count
    depth_prompts: Mapping[int, Pieces] = field(default_factory=dict)
    """Those of the members of a joined group, by their places in it."""
    reasoning: Mapping[int, ReasoningFrame] = field(default_factory=dict)
    """The texts around the reasoning of lines whose reasoning is sent, by their indices."""
    separator: str = ""
    """The line that text completion puts before the card's examples."""
    bias: str = ""
    """The beginning of the reply that the user wants."""
    bias_is_own: bool = False
    """Whether a message asks for it, and not a setting."""
    counted_by: str = ""
    """The tokenizer of ``count``, if it is the same in every build."""
    guidance_tokens: int = 0
    """Tokens that guidance takes from the window."""
    recall: Recall = NOTHING
    scripts: Scripts | None = None
    """The regex scripts, where there are any that may run."""
    media: MediaRoom | None = None
    """The media of the chat, where it has any."""

    @property
    def voice(self) -> tuple[Any, ...]:
        """What decides how a line is said and counted, besides the line, which is made for a user and a character."""
        return self.inputs.preset.names_behavior, self.inputs.group is None, self.counted_by

    @property
    def type(self) -> str:
        """The generation type."""
        return self.inputs.type


def scene_of(state: State) -> Scene:
    """The scene that the first step made."""
    return state.scratch[SCENE]


class ReasoningFrame(msgspec.Struct, frozen=True):
    """What stands around a line's reasoning. ``opens`` is a reply that only thought so far: it goes on thinking."""

    prefix: str
    separator: str
    suffix: str
    opens: bool = False

    def around(self, reasoning: str, text: str) -> str:
        """The text with the reasoning in front of it."""
        thought = self.prefix + reasoning
        return thought if self.opens else f"{thought}{self.suffix}{self.separator}{text}"


def reasoning_frames(inputs: SillyInputs, lines: Sequence[Line], expand: Expander) -> dict[int, ReasoningFrame]:
    """The frames of the newest lines that have reasoning, as many as may be added, by the lines' indices.

    In a group only the speaker's counts. The line to go on with keeps its own whatever the settings say.
    """
    rule, frames = inputs.power.reasoning, dict[int, ReasoningFrame]()
    most = rule.max_additions if rule.add_to_prompts else 0
    for index, line in enumerate(reversed(lines)):
        goes_on = inputs.type == "continue" and not index
        if not line.reasoning or not (goes_on or len(frames) < most):
            continue
        if inputs.group is not None and line.name != inputs.char:
            continue
        prefix, separator, suffix = map(expand, (rule.prefix, rule.separator, rule.suffix))
        frames[line.index] = ReasoningFrame(prefix, separator, suffix, goes_on and not line.text)
    return frames


def reasoned(scene: Scene, line: Line) -> str:
    """What a line says, with its reasoning in front where that is sent. What frames it was expanded before the lore."""
    frame = scene.reasoning.get(line.index)
    return line.text if frame is None else frame.around(line.reasoning, line.text)


def depth_prompts(scene: Scene) -> Iterator[tuple[str, DepthPrompt, Pieces]]:
    """The speaker's depth prompt, in a joined group those of its members, each with its key and its text."""
    own, group = scene.inputs.character.depth_prompt, scene.inputs.group
    if group is None or not group.settings.generation_mode:
        if own is not None and scene.texts.depth_prompt:
            yield "DEPTH_PROMPT", own, scene.texts.pieces["depth_prompt"]
        return
    for number, (index, pieces) in enumerate(scene.depth_prompts.items()):
        prompt = group.members[index].depth_prompt
        if prompt is not None:
            yield f"DEPTH_PROMPT_{number}", prompt, pieces
