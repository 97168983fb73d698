"""The step *in_chat*: the chat with in-chat prompts and book entries in it (3-smarttavern-in-chat-constructor)."""

from __future__ import annotations

from typing import Final

from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.smart.construction import construct_explained
from innkeeper.taverns.smart.full_assembly import in_chat_prompts
from innkeeper.taverns.smart.smart_inputs import inputs_of
from innkeeper.taverns.smart.verdict import SmartLore

__all__ = ["IN_CHAT_STEP"]


def run(state: State, _config: NoConfig) -> None:
    """Construct, and keep the verdicts."""
    inputs = inputs_of(state)
    made = construct_explained(
        inputs.history, in_chat_prompts(inputs.preset), inputs.entries, inputs.table, options=inputs.options
    )
    state.scratch["in_chat"] = made.messages
    state.result.lore = SmartLore(made.verdicts)
    state.instrument("stat", lambda: {"key": "in_chat_entries", "value": len(made.messages) - len(inputs.history)})


IN_CHAT_STEP: Final = Step("in_chat", run, NoConfig)
"""Inserts into the chat."""
