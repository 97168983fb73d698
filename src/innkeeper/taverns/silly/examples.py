"""Example dialogues of a prompt: the card's blocks with those of lore around them, and who speaks in a block.

What a block and a turn are is said in `innkeeper.macros.silly.examples`.
"""

from __future__ import annotations

from innkeeper.macros.silly.examples import ExampleTurn, example_turns
from innkeeper.macros.silly.examples import example_blocks as blocks_of
from innkeeper.taverns.silly.lore_texts import LoreTexts
from innkeeper.taverns.silly.scene import Scene
from innkeeper.text.javascript.values import strip

__all__ = ["example_blocks", "turns_of"]


def example_blocks(scene: Scene, lore: LoreTexts) -> list[str]:
    """The blocks in prompt order: lore at the top, newest first, the card's, lore at the bottom."""
    blocks = _blocks(scene.texts.examples)
    for text in lore.em_top:
        blocks = [*_blocks(scene.expand(text)), *blocks]
    for text in lore.em_bottom:
        blocks = [*blocks, *_blocks(scene.expand(text))]
    return blocks


def _blocks(text: str) -> list[str]:
    return blocks_of(strip(text.replace("\r", "")))


def turns_of(scene: Scene, block: str) -> list[ExampleTurn]:
    """A block's turns between the user and the character, or the members of the group."""
    inputs = scene.inputs
    return example_turns(block, inputs.user, inputs.char, inputs.group.names if inputs.group else ())
