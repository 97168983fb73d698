"""Python in macros: what hostile code costs."""

from __future__ import annotations

import pytest

from innkeeper.macros.smart import process_text
from innkeeper.prompt.allowance import BuildLimits, allowed
from innkeeper.prompt.note import Note
from tests.limits.growth import Family, fresh, held, spending, stops


def _code(name: str, part: str, size: int, *, before: str = "") -> Family:
    return Family(
        name, lambda n: process_text("{{python:" + f"{fresh()}=1\n" + before + part * n + "}}"), size, "sandbox"
    )


FAMILIES = (
    _code("calls that write the time", "sum(x);", 20, before="sum=legacy_time\nx='%c'*100\n"),
    _code("statements", "x=1\n", 150),
    _code("texts", "y=x+x\n", 80, before="x='a'*9000\n"),
    _code("sorted", "y=sorted(x)\n", 10, before="x=[3,1,2]*300\n"),
    _code("dice", "legacy_roll('50d1000')\n", 40),
    Family(
        "programs",
        lambda n: process_text("".join(f"{{{{python:'{fresh()}'}}}}" for _ in range(n))),
        100,
        "sandbox",
    ),
    Family(
        "a long list",
        lambda n: process_text("{{python:len(getvar('x'))}}" * n, {"x": [[1]] * 2_000}),
        4,
        "sandbox",
    ),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_code_costs_twice_as_much(family: Family) -> None:
    """Time and memory grow as the code does, until a limit or the allowance ends it."""
    assert held(family)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_code_is_charged_for(family: Family) -> None:
    """The allowance is charged, and where it is spent the engine stops asking."""
    assert spending(family)[family.engine] > 100
    assert stops(family) <= 10


def test_work_that_fails_is_charged() -> None:
    """A value that is too large was measured up to the limit, and that counts; one of too many items is not measured."""
    deep, flat = {"x": [[1]] * 60_000}, {"x": [1] * 130_000}
    for variables, least in ((deep, 100_000), (flat, 0)):
        notes: list[Note] = []
        with allowed(BuildLimits(seconds=60.0)) as allowance:
            process_text("{{python:len(getvar('x'))}}", variables, notes=notes)
        assert notes[0].data["limit"] == "items"
        assert allowance.spent["sandbox"] > least


def test_where_the_allowance_is_spent_code_does_not_run() -> None:
    """What is left of the text stays as it is written; no code runs without an allowance."""
    with allowed(BuildLimits(steps=5_000)):
        made = process_text("{{python:setvar('a', len('" + "x" * 400 + "'))}}" * 2 + "{{getvar:a}}")
    assert made["text"].endswith("{{getvar:a}}")
    assert made["variables"]["final"] == {}
