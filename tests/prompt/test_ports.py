"""Ports: everything a build is handed that is not data."""

import dataclasses

import pytest

from innkeeper.prompt import Ports, TokenCounter
from tests.budget.doubles import Characters


def test_all_ports_are_optional() -> None:
    """Without ports a build has what the tavern gives it."""
    assert all(getattr(Ports(), field.name) is None for field in dataclasses.fields(Ports))


def test_ports_are_frozen_and_by_name() -> None:
    """Ports do not change during a build, and an unknown one is an error."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Ports().hooks = None  # type: ignore[misc]
    with pytest.raises(TypeError):
        Ports(nothing=1)  # type: ignore[call-arg]


def test_a_counter_needs_two_methods() -> None:
    """What counts tokens is any object with ``count`` and ``describe``."""
    counter: TokenCounter = Characters()
    assert Ports(token_counter=counter).token_counter is counter
    assert (counter.count("abc"), counter.describe()["exact"]) == (3, True)
