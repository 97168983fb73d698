"""The step *framing*: the preset's relative prompts around the chat, with lore and descriptions in their places."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.smart.framing import assemble
from innkeeper.taverns.smart.framing_lore import screen_framed
from innkeeper.taverns.smart.framing_prompts import LORE_POSITIONS, relative_prompts
from innkeeper.taverns.smart.keyword_search import KeywordSearch
from innkeeper.taverns.smart.smart_inputs import SmartInputs, inputs_of
from innkeeper.taverns.smart.values import text_of
from innkeeper.taverns.smart.verdict import Rule, SmartLore, Verdict, shown

__all__ = ["FRAMING"]


def run(state: State, _config: NoConfig) -> None:
    """Assemble, and finish the verdicts of the entries around the character."""
    inputs = inputs_of(state)
    chat = state.made_by("in_chat")
    made = assemble(chat, inputs.entries, None, inputs.preset, inputs.character, inputs.persona, options=inputs.options)
    state.scratch["framing"] = made["messages"]
    lore: SmartLore = state.result.lore
    state.result.lore = SmartLore(tuple(_finished(lore.verdicts, inputs, chat)))
    if chat and not any(message["source"].get("type", "").startswith("history.") for message in made["messages"]):
        state.warn("the preset has no enabled chatHistory prompt: the chat is not in the prompt")


def _finished(verdicts: tuple[Verdict, ...], inputs: SmartInputs, chat: list[dict[str, Any]]) -> list[Verdict]:
    contains = KeywordSearch("\n".join([message["content"] for message in chat])).contains
    names = [prompt.get("identifier") for prompt in relative_prompts(None, inputs.preset)]
    places = {LORE_POSITIONS[name] for name in names if isinstance(name, str) and name in LORE_POSITIONS}
    return [_framed(verdict, inputs, contains, places) for verdict in verdicts]


def _framed(verdict: Verdict, inputs: SmartInputs, contains: Any, places: set[str]) -> Verdict:
    """The verdict of an entry around the character, in place of the one that says it does not belong into the chat."""
    if verdict.asset != "world_books" or verdict.rule is not Rule.POSITION:
        return verdict
    entry = inputs.entries[verdict.index]
    position = text_of(entry.get("position"), "world_books")
    rule = screen_framed(entry, contains)
    if rule is None and position not in places:
        rule = Rule.NO_PLACE
    found = position if rule is None else shown(entry.get(_ASKED.get(rule, "position")))
    return msgspec.structs.replace(verdict, rule=rule or Rule.KEPT, found=found)


_ASKED: Final = {Rule.KEYS: "keys", Rule.DISABLED: "enabled"}
"""The field that a rule asks for, where it is not the position."""


FRAMING: Final = Step("framing", run, NoConfig)
"""Makes the prompt's frame."""
