"""Step ``entries`` of text prompts: the context template, in the place of a prompt order. One that cannot be read stops here."""

from __future__ import annotations

from typing import Final

from innkeeper.macros.handlebars_syntax import parse
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.silly.scene import scene_of
from innkeeper.taverns.silly.story_string import text_of

__all__ = ["TEXT_ENTRIES"]


def run(state: State, _config: NoConfig) -> None:
    """Read the story string. Raises `MacroSyntaxError` with its line and column."""
    template = text_of(scene_of(state)).context.story_string
    try:
        tree = parse(template)
    except InnkeeperError as error:
        raise error.at(asset="context template", path="story_string") from error
    state.scratch["entries"] = template
    state.stat("prompt_entries", len(tree.body))


TEXT_ENTRIES: Final = Step("entries", run, NoConfig)
