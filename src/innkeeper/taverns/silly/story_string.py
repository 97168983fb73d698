"""The story string: the context template's fields (step ``pinned_groups``) and what it becomes."""

from __future__ import annotations

from typing import Final

from innkeeper.content.persona import PersonaPosition
from innkeeper.content.templates import StoryPosition
from innkeeper.macros.handlebars import render_handlebars
from innkeeper.prompt.errors import InnkeeperError, UsageError
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.silly.inputs import TextSettings
from innkeeper.taverns.silly.instruct import instruct_of
from innkeeper.taverns.silly.lore_texts import LoreTexts
from innkeeper.taverns.silly.scene import Scene, scene_of

__all__ = ["STORY_FIELDS", "post_history", "story_string", "text_of"]


def text_of(scene: Scene) -> TextSettings:
    """What text completion adds to the inputs. Raises `UsageError` in a chat build."""
    if scene.inputs.text is None:
        raise UsageError("text completion's steps need dialect 'text'", hint="set dialect='text' in the request")
    return scene.inputs.text


def _run(state: State, _config: NoConfig) -> None:
    """Leave the values of the template's fields, but those that later steps make (anchors, examples)."""
    scene = scene_of(state)
    lore: LoreTexts = state.made_by("lore")
    texts, before, after = scene.texts, "\n".join(lore.before), "\n".join(lore.after)
    state.scratch["pinned_groups"] = {
        "description": texts.description,
        "personality": texts.personality,
        "persona": texts.persona if scene.inputs.persona.position in _IN_PROMPT else "",
        "scenario": texts.scenario,
        "system": _system(scene, text_of(scene)),
        "char": scene.inputs.char,
        "user": scene.inputs.user,
        "wiBefore": before,
        "wiAfter": after,
        "loreBefore": before,
        "loreAfter": after,
    }


_IN_PROMPT: Final = (PersonaPosition.IN_PROMPT, PersonaPosition.AFTER_CHAR)

STORY_FIELDS: Final = Step("pinned_groups", _run, NoConfig)


def _system(scene: Scene, text: TextSettings) -> str:
    """The system prompt, or the card's in its place; instruct mode resolves it a second time."""
    if text.sysprompt.enabled is False:
        return ""
    own, card = text.sysprompt.content, scene.texts.system
    system = scene.expand(card, original=own) if card else scene.expand(own)
    return system if instruct_of(scene) is None else scene.expand(system, original=own)


def post_history(scene: Scene) -> str:
    """What stands behind the history: the system prompt's text for that, or the card's in its place."""
    prompt, card = text_of(scene).sysprompt, scene.texts.jailbreak
    if prompt.enabled is False:
        return ""
    return scene.expand(card, original=prompt.post_history) if card else scene.expand(prompt.post_history)


def story_string(scene: Scene, values: dict[str, str]) -> str:
    """The template filled, its macros resolved, without blank lines in front; a line break at the end unless a suffix follows.

    Raises `MacroError` when the template cannot be read or rendered, and says where.
    """
    template = text_of(scene).context.story_string
    try:
        filled = render_handlebars(template, values, lambda name: _macro(scene, name))
    except InnkeeperError as error:
        raise error.at(asset="context template", path="story_string") from error
    story = scene.expand(filled).lstrip("\n")
    return story if not story or story.endswith("\n") or not _breaks(scene) else story + "\n"


def _macro(scene: Scene, name: str) -> str:
    """An unknown name is a macro; ``{{trim}}`` waits for the whole text."""
    return "{{trim}}" if name == "trim" else scene.expand(f"{{{{{name}}}}}")


def _breaks(scene: Scene) -> bool:
    instruct = instruct_of(scene)
    if instruct is None:
        return True
    framed = text_of(scene).context.story_string_position is not StoryPosition.IN_CHAT
    return instruct.template.wrap and not (framed and instruct.template.story_string_suffix)
