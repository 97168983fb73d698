"""Settings: plain values, functions of the state, and where the two steps look for the rest."""

from typing import Any

import pytest

from innkeeper.budget.settings import (
    PREPARED,
    CounterChoice,
    check_tokens,
    counter_for,
    framing_for,
    model_for,
    resolved,
    tokens_setting,
)
from innkeeper.prompt import BuildRequest, Ports, State, UnknownNameError, UsageError
from innkeeper.prompt.build import start
from innkeeper.tokens import default_counter
from tests.budget.doubles import Characters, Rough


def _state(ports: Ports | None = None, **fields: Any) -> State:
    return start(BuildRequest.of({"now": "2026-01-01T00:00:00Z", **fields}), ports or Ports())


def test_a_setting_is_a_value_or_a_function() -> None:
    """Functions are asked with the state; None stays None."""
    state = _state(seed=7)
    assert [resolved(value, state) for value in (5, None, lambda s: s.request.seed)] == [5, None, 7]
    assert tokens_setting("x", None, state) is None
    assert tokens_setting("x", lambda s: s.request.seed, state) == 7


def test_checking_lets_functions_pass() -> None:
    """What they give is checked when they are asked."""
    for value in (5, None, len):
        check_tokens("a", value)
    with pytest.raises(UsageError):
        check_tokens("a", -5)


def test_the_nearest_counter_is_taken() -> None:
    """The step's, the port's, what *prepare* found, the built-in one."""
    state, mine, ports, found = _state(), Characters(), Rough(), Characters()
    assert counter_for(state) is default_counter()
    state.scratch[PREPARED] = CounterChoice(token_counter=found, model_hint="hint")
    assert counter_for(state) is found
    state = _state(Ports(token_counter=ports))
    state.scratch[PREPARED] = CounterChoice(token_counter=found)
    assert counter_for(state) is ports
    assert counter_for(state, mine) is mine
    with pytest.raises(UsageError):
        counter_for(state, 5)


def test_the_nearest_hint_is_taken() -> None:
    """The step's, ``meta``, what *prepare* found, the default hint, the model."""
    state = _state(model="m", meta={"default_model_hint": "d"})
    assert model_for(state) == "d"
    state.scratch[PREPARED] = CounterChoice(model_hint="found")
    assert model_for(state) == "found"
    assert model_for(state, "own") == "own"
    assert model_for(state, lambda _state: "own") == "own"


def test_the_framing_is_named_or_the_dialects() -> None:
    """An unknown name is an unknown name."""
    state = _state(dialect="anthropic")
    assert framing_for(state, None).name == "anthropic"
    assert framing_for(state, "none").name == "none"
    with pytest.raises(UnknownNameError):
        framing_for(state, "nobody's")
