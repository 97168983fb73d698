"""Settings: numbers of a step's config that may be functions of the state, and what both budget steps read from a build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from innkeeper.budget.costing import framing_of
from innkeeper.budget.errors import whole
from innkeeper.prompt import State, TokenCounter
from innkeeper.prompt.errors import UsageError
from innkeeper.tokens.counter import default_counter
from innkeeper.tokens.estimators import counter_of
from innkeeper.tokens.framing import Framing, framing

__all__ = ["Setting", "check_settings", "counter_for", "framing_for", "model_for", "resolved", "tokens_setting"]

Setting = Any
"""``int | str | bool | Callable[[State], …] | None``: a plain value, which JSON can hold, or a function of the state."""


def check_settings(config: Any, *names: str) -> None:
    """Refuse numbers of tokens that are neither whole numbers from 0 up, nor functions, nor absent."""
    for name in names:
        value = getattr(config, name)
        if value is not None and not callable(value):
            whole(name, value)


def resolved(value: Setting, state: State) -> Any:
    """The value, or what the function says for this build."""
    return value(state) if callable(value) else value


def tokens_setting(name: str, value: Setting, state: State) -> int | None:
    """A number of tokens. Raises `BudgetNumberError` when the function gives anything else."""
    found = resolved(value, state)
    return None if found is None else whole(name, found)


def counter_for(state: State, given: Any = None) -> TokenCounter:
    """The counter of the step, else of the ports, else what *prepare* found, else the built-in one."""
    prepared = getattr(state.scratch.get("prepare"), "token_counter", None)
    for counter in (given, state.inputs.ports.token_counter, prepared):
        if counter is not None:
            return counter_of(counter)
    return default_counter()


def model_for(state: State, given: Setting = None) -> str | None:
    """What tokens are counted for: the step's hint, the request's ``meta``, what *prepare* found, the request's model."""
    hint = resolved(given, state)
    if hint is not None and not isinstance(hint, str):
        raise UsageError(f"model_hint must be text, not {type(hint).__name__}")
    meta = state.request.meta
    prepared = getattr(state.scratch.get("prepare"), "model_hint", None)
    for found in (hint, meta.get("model_hint"), prepared, meta.get("default_model_hint"), state.request.model):
        if isinstance(found, str) and found.strip():
            return found
    return None


def framing_for(state: State, given: str | Callable[[State], str] | None) -> Framing:
    """The counting rule by name, else that of the request's dialect. Raises `UnknownNameError`."""
    name = resolved(given, state)
    return framing_of(state.request.dialect) if name is None else framing(name)
