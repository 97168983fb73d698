"""The macros of SmartTavern: what hostile texts, variables and keywords cost."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.macros.smart import SMARTTAVERN, MacroOptions, process_text, process_text_batch
from innkeeper.prompt.allowance import AllowanceError, BuildLimits, allowed
from innkeeper.prompt.note import Note
from tests.limits.growth import Family, fresh, held, spending, stops

_ORIGINAL = MacroOptions(compat=SMARTTAVERN)


def _text(
    name: str, part: str, size: int, engine: str = "macros", *, variables: Any = None, steep: bool = False
) -> Family:
    return Family(name, lambda n: process_text(part * n, variables), size, engine, steep)


FAMILIES = (
    _text("braces", "{", 8_000),
    Family("nested", lambda n: process_text("{" * 2 * n + "user" + "}" * 2 * n), 600, "macros"),
    Family(
        "nested, read again",
        lambda n: process_text("{" * 2 * n + "user" + "}" * 2 * n, options=_ORIGINAL),
        600,
        "macros",
    ),
    Family("crossed", lambda n: process_text("{{<<" * n + "}}>>" * n), 400, "macros"),
    Family(
        "blanks",
        lambda n: process_text("{{" * n + "{{newline}}" * n + "}}" * n, options=_ORIGINAL),
        400,
        "macros",
    ),
    _text("variables", "{{user}}", 1_000),
    _text("unknown", "{{xyz}}", 1_000),
    _text("dice", "{{roll:50d1000}}", 80),
    _text("formats", "{{datetimeformat:" + "%c" * 300 + "}}", 15),
    _text("a text that grows", "{{addvar:x::" + "b" * 1_000 + "}}", 100, "variables", steep=True),
    _text("a long list", "{{length:{{getvar:x}}}}", 5, "variables", variables={"x": list(range(5_000))}),
    Family(
        "paths",
        lambda n: process_text("".join(f"{{{{setvar:{'a[0]' * 20}{fresh()}:1}}}}" for _ in range(n))),
        60,
        "variables",
    ),
    Family(
        "keywords",
        lambda n: process_text("{{keywords:zq,zy}}" * n, {"chat_history_text": "abc " * 20_000}),
        60,
        "keywords",
    ),
    Family(
        "many keywords",
        lambda n: process_text("{{keywords:" + "a," * n + "}}", {"chat_history_text": "b"}),
        6_000,
        "keywords",
    ),
    Family(
        "texts of a batch",
        lambda n: process_text_batch([""] * n, {"x": "a" * 10, "y": list(range(100))}),
        50,
        "variables",
    ),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_text_costs_twice_as_much(family: Family) -> None:
    """Time and memory grow as the text does, until a limit or the allowance ends it."""
    assert held(family)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_texts_are_charged_for(family: Family) -> None:
    """The allowance is charged, and where it is spent the engine stops asking."""
    assert spending(family)[family.engine] > 100
    assert stops(family) <= 10


def test_where_the_allowance_is_spent_macros_stay() -> None:
    """The text stays from there on as it is written, and a note says why."""
    notes: list[Note] = []
    with allowed(BuildLimits(steps=20_000)):
        made = process_text("{{noop}}a" * 2_000, notes=notes)["text"]
    assert made.startswith("aaa")
    assert made.endswith("{{noop}}a{{noop}}a")
    assert [note.data["limit"] for note in notes] == ["MAX_BUILD_STEPS"]


def test_a_batch_is_charged_for_its_reply() -> None:
    """Each text has both tables in the reply; what would be too long is refused before it is made."""
    with pytest.raises(AllowanceError, match="MAX_BUILD_OUTPUT"):
        process_text_batch([""] * 10_000, {"x": "a" * 8_000})
