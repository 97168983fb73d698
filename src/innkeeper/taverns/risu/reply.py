"""Reply: an answer as RisuAI keeps it, after its scripts and triggers, and a message as its screen shows it (`risuai.md` 18)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from innkeeper.budget.settings import CountingConfig
from innkeeper.prompt import BuildRequest, NoteKind, Ports
from innkeeper.prompt.block import Origin, OriginAsset
from innkeeper.prompt.build import start
from innkeeper.taverns.risu.history import triggered
from innkeeper.taverns.risu.inputs import read_inputs
from innkeeper.taverns.risu.line import RisuMessage
from innkeeper.taverns.risu.triggers.run import run_triggers
from innkeeper.taverns.risu.triggers.state import TriggerInputs
from innkeeper.taverns.tavern import ReplyScripts, ScriptedText
from innkeeper.text.javascript.values import strip

REPLY: Final = "reply"
"""The id of the answer among the messages of the chat."""


def could_change_replies(request: BuildRequest) -> bool:
    """Return whether scripts or triggers of a request could change what a model answers. Raises what a build raises."""
    inputs = read_inputs(start(request, Ports()))
    scripts = any(script.mode == "editoutput" for script in inputs.scripts.scripts)
    return scripts or any(trigger.type == "output" for trigger in inputs.triggers)


def stored_reply(request: BuildRequest, text: str, ports: Ports | None = None) -> ScriptedText:
    """Return an answer as the chat keeps it, with the variables after it. Raises what a build raises for its inputs.

    Of what triggers do besides, a note says that it has no effect here: other messages that they change, another request.
    """
    state = start(request, ports or Ports())
    inputs = read_inputs(state)
    chat = list(inputs.all_messages)
    text = inputs.edit(strip(text), len(chat), "char", "editoutput").text
    chat.append(RisuMessage(role="char", data=text, id=REPLY, origin=Origin(OriginAsset.HISTORY)))
    costing = CountingConfig().costing(state)
    after = triggered(inputs, "output", chat, lambda words: costing.counter.count(words, costing.model))
    own, others = _apart(after.messages, len(chat) - 1)
    if own is None or others != chat[:-1]:
        state.note(
            NoteKind.IGNORED, "what triggers make of the other messages, or of the chat's length, has no effect here"
        )
    if after.asks_again:
        state.note(NoteKind.IGNORED, "a trigger asks the model once more after its reply: take another turn")
    for name, value in inputs.variables.items():
        if state.variables.get(name) != value:
            state.variables.set(name, value)
    notes = (*state.result.warnings, *state.result.notes, *inputs.notes, *after.notes)
    return ScriptedText(text if own is None else own.data, notes, state.variables.to_dict())


def _apart(messages: Sequence[RisuMessage], index: int) -> tuple[RisuMessage | None, list[RisuMessage]]:
    """Return the answer, which a trigger may have changed in its place or removed, and the other messages."""
    own = next((each for each in messages if each.id == REPLY), None)
    if own is None and index < len(messages) and messages[index].role == "char":
        own = messages[index]
    return own, [each for each in messages if each is not own]


def display_text(request: BuildRequest, text: str, *, index: int = -1, ports: Ports | None = None) -> ScriptedText:
    """Return a message of this index, or the greeting (-1), as RisuAI shows it. Nothing is stored. Raises as `stored_reply`."""
    state = start(request, ports or Ports())
    inputs = read_inputs(state)
    role = inputs.all_messages[index].role if 0 <= index < len(inputs.all_messages) else "char"
    shown = inputs.edit(text, index, role, "editdisplay").text
    outcome = run_triggers(inputs.triggers, "display", TriggerInputs(scope=inputs.expand.scope, display_data=shown))
    if outcome is not None and outcome.display_data is not None:
        shown = outcome.display_data
    return ScriptedText(shown, (*state.result.warnings, *state.result.notes, *inputs.notes))


REPLIES: Final = ReplyScripts(could_change_replies, stored_reply)
