"""Dialects: an immutable registry."""

import pytest

from innkeeper.prompt import Dialect, Tool, UnknownNameError
from tests.prompt.doubles import BARE, Bare


class Shouting(Bare):
    """Another dialect of one's own."""

    name = "shouting"


def test_dialects_are_found_by_name() -> None:
    """A registry is a mapping."""
    assert isinstance(BARE["openai"], Dialect)
    assert (list(BARE), len(BARE), "openai" in BARE, "nothing" in BARE) == (["openai"], 1, True, False)


def test_an_unknown_dialect_is_an_unknown_name() -> None:
    """The error offers the nearest; it is raised by every way of asking."""
    with pytest.raises(UnknownNameError, match="unknown dialect 'opnai'") as caught:
        BARE["opnai"]
    assert caught.value.hint == "did you mean 'openai'?"


def test_adding_a_dialect_makes_a_new_registry() -> None:
    """*Dialect extensibility*: no core change, no process-wide state; the same name replaces."""
    more = BARE.with_(Shouting())
    assert list(more) == ["openai", "shouting"]
    assert list(BARE) == ["openai"]
    other = Bare()
    assert BARE.with_(other)["openai"] is other


def test_a_tool_has_a_name_and_defaults() -> None:
    """Description and parameters are optional."""
    assert Tool("add") == Tool("add", "", {}, None)
