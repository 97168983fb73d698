"""Example dialogues of a text prompt: as blocks under the separator, or line by line between instruct sequences."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from innkeeper.prompt.state import State
from innkeeper.taverns.silly.examples import example_blocks, turns_of
from innkeeper.taverns.silly.instruct import Instruct, instruct_of
from innkeeper.taverns.silly.scene import Scene
from innkeeper.taverns.silly.story_string import text_of

__all__ = ["Example", "text_examples"]


class Example(msgspec.Struct, frozen=True):
    """A piece of the examples that is in the prompt or not. ``block`` is the dialogue it belongs to, ``role`` who speaks."""

    block: int
    text: str
    role: str = "system"


def text_examples(state: State, scene: Scene) -> tuple[list[Example], str]:
    """The pieces in order, and the examples as ``mesExamplesRaw`` has them."""
    blocks, instruct = example_blocks(scene, state.made_by("lore")), instruct_of(scene)
    separator = text_of(scene).context.example_separator
    heading = scene.expand(separator) + "\n" if separator else ""
    plain = [Example(place, f"{heading}{block}\n") for place, block in enumerate(blocks)]
    if instruct is None:
        return plain, "".join(piece.text for piece in plain)
    raw = "".join(f"<START>\n{block}\n" for block in blocks)
    if instruct.template.skip_examples:
        return plain, raw
    return list(_instructed(scene, instruct, blocks, heading)) or plain, raw


def _instructed(scene: Scene, instruct: Instruct, blocks: list[str], heading: str) -> Iterator[Example]:
    """A heading and its lines, for each block in which somebody speaks."""
    for place, block in enumerate(blocks):
        turns = turns_of(scene, block)
        if turns and heading:
            yield Example(place, heading)
        for turn in turns:
            role = "user" if turn.is_user else "assistant"
            yield Example(place, instruct.example(role, turn.name, turn.text), role)
