"""Texts after regex scripts outside of a prompt: as stored in the chat, and as shown on a screen."""

from __future__ import annotations

from typing import Final, Literal

from innkeeper.content.regex_script import ScriptPlacement
from innkeeper.prompt.build import start
from innkeeper.prompt.errors import UnknownNameError, UsageError
from innkeeper.prompt.request import BuildRequest
from innkeeper.prompt.run.state import Ports
from innkeeper.prompt.text import kind_of
from innkeeper.taverns.assets import Assets
from innkeeper.taverns.silly.environment import environment_of
from innkeeper.taverns.silly.expansion import Expander
from innkeeper.taverns.silly.inputs import read_inputs
from innkeeper.taverns.silly.scripts.run import ScriptUse, scripts_of
from innkeeper.taverns.tavern import ReplyScripts, ScriptedText

Placement = ScriptPlacement | Literal["user_input", "ai_output", "slash_command", "world_info", "reasoning"]


def could_change_replies(request: BuildRequest) -> bool:
    """Return whether regex scripts of a request's assets or settings could change what a model answers."""
    assets = Assets(request)
    cards = [member.card for member in assets.members] if assets.members else [assets.character]
    sources = [source.regex_scripts for source in (*cards, assets.preset) if source is not None]
    return any((assets.regex_scripts, *sources))


def stored_reply(request: BuildRequest, text: str, ports: Ports | None = None) -> ScriptedText:
    """An answer as SillyTavern stores it, before its name is trimmed. Raises as `stored_text`."""
    return stored_text(request, text if request.generation == "continue" else text.strip(), ports=ports)


REPLIES: Final = ReplyScripts(could_change_replies, stored_reply)


def stored_text(
    request: BuildRequest,
    text: str,
    placement: Placement = "ai_output",
    *,
    edited: bool = False,
    ports: Ports | None = None,
) -> ScriptedText:
    """A text as SillyTavern stores it in the chat: a reply before its name is trimmed, a greeting, a typed text.

    The scripts are those of the request, as far as it allows them; depths do not count. Of a text that was ``edited`` by hand
    only the scripts that run on edits change anything. Macros of the text itself stay. Raises what a build raises for its
    inputs, `UnknownNameError` for a placement, and `UsageError` for what is not a text.
    """
    return _scripted(request, text, placement, ScriptUse.STORED, None, edited=edited, ports=ports)


def display_text(
    request: BuildRequest,
    text: str,
    placement: Placement = "ai_output",
    *,
    depth: int | None = None,
    ports: Ports | None = None,
) -> ScriptedText:
    """A message as SillyTavern shows it, before its Markdown is rendered; it is not stored.

    ``depth`` counts visible messages from the end, the newest is 0. What a narrator says has the placement ``slash_command``.
    Raises as `stored_text`.
    """
    return _scripted(request, text, placement, ScriptUse.DISPLAY, depth, edited=False, ports=ports)


def _scripted(
    request: BuildRequest,
    text: str,
    placement: Placement,
    use: ScriptUse,
    depth: int | None,
    *,
    edited: bool,
    ports: Ports | None,
) -> ScriptedText:
    what = _placement(placement)
    if not isinstance(text, str):
        raise UsageError(f"a text for scripts is text, not {kind_of(text)}")
    state = start(request, ports or Ports())
    inputs = read_inputs(state)
    env = environment_of(state, inputs, inputs.lines)
    expand = Expander(env, "new" if inputs.power.experimental_macro_engine else "legacy")
    scripts = scripts_of(state, inputs, expand)
    if scripts is not None:
        text = scripts.text(text, what, use, depth=depth, edited=edited)
    return ScriptedText(text, (*state.result.warnings, *state.result.notes), state.variables.to_dict())


def _placement(value: Placement) -> ScriptPlacement:
    if isinstance(value, ScriptPlacement):
        return value
    names = {placement.name.lower(): placement for placement in ScriptPlacement}
    if value not in names:
        raise UnknownNameError("placement of a regex script", str(value), names)
    return names[value]
