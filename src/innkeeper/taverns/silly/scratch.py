"""What the steps of the silly tavern leave for later ones, each under its step's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from innkeeper.prompt.run.state import ScratchKey

if TYPE_CHECKING:
    from innkeeper.prompt.plan import Plan
    from innkeeper.taverns.silly.chat.compilation import Compiled
    from innkeeper.taverns.silly.chat.prompts import Pinned, PromptTurn
    from innkeeper.taverns.silly.chat.room import FilledRoom
    from innkeeper.taverns.silly.injection import Injections
    from innkeeper.taverns.silly.lore import LoreTexts
    from innkeeper.taverns.silly.scene import Scene
    from innkeeper.taverns.silly.text.chat import TextAssembly, TextHistory
    from innkeeper.taverns.silly.text.story import StoryTexts, TextCompiled

SCENE: Final[ScratchKey[Scene]] = ScratchKey("hooks")
LORE_TEXTS: Final[ScratchKey[LoreTexts]] = ScratchKey("lore")
INJECTIONS: Final[ScratchKey[Injections]] = ScratchKey("injection")

TURNS: Final[ScratchKey[tuple[PromptTurn, ...]]] = ScratchKey("entries")
PINNED: Final[ScratchKey[Pinned]] = ScratchKey("pinned_groups")
COMPILED: Final[ScratchKey[Compiled]] = ScratchKey("compilation")
FILLED: Final[ScratchKey[FilledRoom]] = ScratchKey("macro_expansion")
ASSEMBLED: Final[ScratchKey[Plan]] = ScratchKey("plan_assembly")

STORY_TEXTS: Final[ScratchKey[StoryTexts]] = ScratchKey("pinned_groups")
TEXT_COMPILED: Final[ScratchKey[TextCompiled]] = ScratchKey("compilation")
TEXT_LINES: Final[ScratchKey[TextHistory]] = ScratchKey("macro_expansion")
TEXT_REPLY: Final[ScratchKey[TextAssembly]] = ScratchKey("plan_assembly")
