"""The step *trimming*: the plan cut to the window of the request, or of the preset."""

from __future__ import annotations

from typing import Final

import msgspec

from innkeeper.budget import TrimmingConfig, trim_state
from innkeeper.prompt.state import State
from innkeeper.prompt.step import Step
from innkeeper.taverns.smart.prepare import window_of
from innkeeper.taverns.smart.smart_inputs import inputs_of

__all__ = ["FITTING"]


def run(state: State, config: TrimmingConfig) -> None:
    """Trim as the house does: lore first, then the oldest of the chat. Raises `MaxTokensExceededError`."""
    request = state.request
    if config.max_tokens is None and config.budget_tokens is None and not request.context_window:
        reply = state.result.options.get("max_tokens")
        reserve = request.reserved_tokens or (reply if type(reply) is int and reply > 0 else 0)
        window = window_of(inputs_of(state))
        if window is not None and config.reserve_tokens is None:
            config = msgspec.structs.replace(config, max_tokens=window, reserve_tokens=reserve)
        elif window is not None:
            config = msgspec.structs.replace(config, max_tokens=window)
    trim_state(state, config)


FITTING: Final = Step("trimming", run, TrimmingConfig)
"""Trims the plan."""
