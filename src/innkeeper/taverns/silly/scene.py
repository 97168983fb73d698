"""Scene: a build's typed inputs with what every step needs of them: the macro expander, the card texts, the chat as shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from innkeeper.macros.environment import MacroEnvironment
from innkeeper.macros.silly import substitute
from innkeeper.prompt.state import State
from innkeeper.taverns.silly.cards import CardTexts
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.taverns.silly.line import Line

__all__ = ["Expander", "Scene", "is_plain", "scene_of"]

Count = Callable[[Mapping[str, Any]], int]


def is_plain(text: str) -> bool:
    """Whether no macro can be in a text."""
    return not ("{{" in text or "<" in text or "\\" in text)


@dataclass(slots=True)
class Expander:
    """Expands macros for this build. ``env`` is swapped when the build learns more (outlets after the lore scan)."""

    env: MacroEnvironment
    pack: Any = "new"
    words: list[str] = field(default_factory=list)

    def __call__(self, text: str, *, char: str | None = None, original: str | None = None) -> str:
        """The text with its macros replaced; ``char`` speaks instead of the environment's character."""
        if is_plain(text):
            return text
        env = self.env if char is None else replace(self.env, char=char)
        return substitute(text, env, pack=self.pack, original=original)

    def field(self, text: str) -> str:
        """A field of the card with its macros replaced; other fields are empty in it (`sillytavern.md` 14)."""
        return substitute(text, self.env, pack=self.pack, replace_character_card=False)


@dataclass(frozen=True, slots=True)
class Scene:
    """One build: ``lines`` are the visible lines in order, as they are sent; ``all_lines`` what macros see."""

    inputs: SillyInputs
    expand: Expander
    texts: CardTexts
    lines: tuple[Line, ...]
    all_lines: tuple[Line, ...]
    count: Count
    counted_by: str = ""
    """What ``count`` counts by, when that is the same in every build."""

    @property
    def voice(self) -> tuple[Any, ...]:
        """What decides how a line is said, besides the line."""
        return self.inputs.preset.names_behavior, self.inputs.user, self.inputs.group is None

    @property
    def type(self) -> str:
        """The generation type."""
        return self.inputs.type


def scene_of(state: State) -> Scene:
    """The scene that the first step made."""
    scene: Scene = state.made_by("hooks")
    return scene
