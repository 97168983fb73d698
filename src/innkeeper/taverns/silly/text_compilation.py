"""Step ``compilation`` of text prompts: the examples, the story string and the chat's start. Leaves `TextCompiled`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from innkeeper.content.templates import StoryPosition
from innkeeper.prompt.injections import Injection
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.silly.injection import DepthText, Injections
from innkeeper.taverns.silly.instruct import instruct_of
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.story_string import story_string, text_of
from innkeeper.taverns.silly.text_examples import Example, text_examples

__all__ = ["STORY_KEY", "TEXT_COMPILATION", "TextCompiled"]

STORY_KEY: Final = "__STORY_STRING__"
"""Where the story string sorts among the texts of a depth."""


class TextCompiled(msgspec.Struct, frozen=True, kw_only=True):
    """``story`` stands first, or ``placed`` goes into the chat; ``examples`` and ``start`` follow."""

    story: str
    placed: DepthText | None = None
    examples: tuple[Example, ...] = ()
    start: str = ""


def run(state: State, _config: NoConfig) -> None:
    """Render what stands before the history."""
    scene, injections = scene_of(state), state.made_by("injection")
    examples, raw = text_examples(state, scene)
    values = _values(state, injections, examples, raw)
    story = story_string(scene, values)
    context, instruct = text_of(scene).context, instruct_of(scene)
    placed = None
    if context.story_string_position is StoryPosition.IN_CHAT:
        placed, story = _placed(scene, story), ""
    elif instruct is not None:
        story = instruct.around_story(story)
    state.scratch["compilation"] = TextCompiled(
        story=story,
        placed=placed,
        examples=() if scene.inputs.power.strip_examples else tuple(examples),
        start=scene.expand(context.chat_start) + "\n" if context.chat_start else "",
    )


def _values(state: State, injections: Injections, examples: Iterable[Example], raw: str) -> dict[str, str]:
    fields: dict[str, str] = state.made_by("pinned_groups")
    return {
        **fields,
        "anchorBefore": _anchor(injections.before),
        "anchorAfter": _anchor(injections.after),
        "mesExamples": "".join(example.text for example in examples),
        "mesExamplesRaw": raw,
    }


def _anchor(items: Iterable[Injection]) -> str:
    """Injections of one place, by their keys."""
    return "\n".join(item.content.strip() for item in sorted(items, key=lambda item: item.id))


def _placed(scene: Scene, story: str) -> DepthText:
    context = text_of(scene).context
    return DepthText(
        key=STORY_KEY, text=story.strip(), depth=context.story_string_depth, role=context.story_string_role
    )


TEXT_COMPILATION: Final = Step("compilation", run, NoConfig)
