"""The budget of one rendering."""

from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from innkeeper.macros.engine.errors import MacroArgumentError, MacroLimitError
from innkeeper.macros.liquid.session import LIQUID_LIMITS, LiquidSession, size_of, text_of

SMALL = replace(LIQUID_LIMITS, steps=10, value_size=50, items=5, number_bits=8)


def test_steps_are_spent() -> None:
    """Work up to the limit is done, one step more is not."""
    session = LiquidSession(limits=SMALL)
    session.charge(10)
    with pytest.raises(MacroLimitError) as caught:
        session.charge(1)
    assert caught.value.limit == "steps"


def test_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is looked at every few thousand steps, and ends a rendering that takes too long."""
    seconds = count()
    monkeypatch.setattr("time.thread_time", lambda: float(next(seconds)))
    session = LiquidSession(limits=replace(LIQUID_LIMITS, seconds=2.5))
    for _ in range(3):
        session.charge(3_000)
    with pytest.raises(MacroLimitError) as caught:
        session.charge(3_000)
    assert caught.value.limit == "seconds"


@pytest.mark.parametrize(
    ("value", "size"),
    [("abc", 3), (7, 8), (None, 8), (["ab", 1], 18), ({"k": "vw"}, 11), (range(5), 8), ((("a",), ["b"]), 26), ([], 8)],
)
def test_size(value: Any, size: int) -> None:
    """Texts count their characters, everything else eight."""
    assert size_of(value, SMALL) == size


@pytest.mark.parametrize(
    ("value", "limit"),
    [("x" * 51, "value_size"), (["x" * 20] * 3, "value_size"), (range(6), "items"), (256, "number_bits")],
)
def test_bounds(value: Any, limit: str) -> None:
    """A value beyond a limit is refused by that limit's name."""
    with pytest.raises(MacroLimitError) as caught:
        LiquidSession(limits=SMALL).bounded(value)
    assert caught.value.limit == limit


def test_a_list_that_holds_itself_is_too_large() -> None:
    """Measuring ends, whatever is measured."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(MacroLimitError):
        size_of(endless, SMALL)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (None, ""),
        (True, "true"),
        (False, "false"),
        (1.5, "1.5"),
        (range(1, 4), "1..3"),
        (["a", None, 1], "a1"),
        ({"a": [True, None]}, '{"a":[true,null]}'),
    ],
)
def test_text_of(value: Any, text: str) -> None:
    """Values are printed as Liquid prints them, mappings as JSON."""
    assert text_of(value) == text


def test_text_of_no_data() -> None:
    """An object has no text."""
    with pytest.raises(MacroArgumentError):
        text_of(object())


def test_context_value() -> None:
    """Filters read the context, where there is one."""
    assert LiquidSession(registers={"context": {"a": 1}}).context_value("a") == 1
    assert LiquidSession().context_value("a") is None
