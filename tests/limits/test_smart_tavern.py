"""SmartTavern's construction, framing and regex rules: what repeated placeholders, conditions, depths and rules cost."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.prompt.allowance import AllowanceError
from innkeeper.taverns.smart.construction import construct
from innkeeper.taverns.smart.framing import assemble
from innkeeper.taverns.smart.regex_rules import apply_messages
from tests.limits.growth import Family, held, spending, stops


def _entries(n: int, condition: str, **fields: Any) -> list[dict[str, Any]]:
    entry = {"content": "x", "enabled": True, "mode": "conditional", "condition": condition, **fields}
    return [{**entry, "name": f"{index}"} for index in range(n)]


def _table(n: int) -> dict[str, Any]:
    return {f"v{index}": [index] for index in range(n)}


def _placed(identifier: str, n: int) -> list[dict[str, Any]]:
    return [{"identifier": identifier, "enabled": True, "order": 1}] * n


_RULE = {"id": "r", "enabled": True, "find_regex": "zz", "replace_regex": "y", "placement": "before_macro"}
_SAID = [{"role": "user", "content": "abc", "source": {"type": "history.user"}}]

FAMILIES = (
    Family(
        "conditions that write",
        lambda n: construct([], [], _entries(n, "{{setvar:q:1}}true"), _table(n)),
        200,
        "macros",
    ),
    Family(
        "conditions that write into one value",
        lambda n: construct([], [], _entries(20, "{{setvar:t.q:1}}true"), {"t": _table(n)}),
        1_500,
        "variables",
    ),
    Family(
        "conditions that read",
        lambda n: construct([], [], _entries(20, "{{length:{{getvar:t}}}}"), {"t": _table(n)}),
        400,
        "variables",
    ),
    Family(
        "conditions in Python",
        lambda n: construct([], [], _entries(n, "{{python:setvar('q', 1)}}true"), _table(n)),
        150,
        "sandbox",
    ),
    Family(
        "rules without matches",
        lambda n: apply_messages([{**_RULE, "views": ["user_view"]}] * 20, "before_macro", "user_view", _SAID * n),
        60,
        "rules",
    ),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_input_costs_twice_as_much(family: Family) -> None:
    """Time and memory grow as the input does, until a limit or the allowance ends it."""
    assert held(family)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_inputs_are_charged_for(family: Family) -> None:
    """The allowance is charged, and where it is spent the engine stops asking."""
    assert spending(family)[family.engine] > 100
    assert stops(family) <= 50


def test_placeholders_are_charged_for_what_they_repeat() -> None:
    """A placeholder that stands for the same again is charged before that is made."""
    history = [{"role": "user", "content": "a" * 1_000}] * 100
    assert len(assemble(history, None, _placed("chatHistory", 3))["messages"]) == 300
    for identifier, documents in (
        ("chatHistory", {"history": history}),
        ("charDescription", {"character": {"description": "a" * 100_000}}),
        ("charBefore", {"world_books": [{"position": "before_char", "enabled": True, "content": "a" * 100_000}]}),
    ):
        with pytest.raises(AllowanceError, match="asked for by framing"):
            assemble(presets_relative=_placed(identifier, 1_000), **documents)
