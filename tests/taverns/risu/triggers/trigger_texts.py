"""Triggers in the short form of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.macros.cbs import CbsScope
from innkeeper.taverns.risu.triggers.run import run_triggers
from innkeeper.taverns.risu.triggers.state import TriggerInputs, TriggerOutcome, read_triggers

CHAT = ({"role": "user", "data": "Where is the pier?"}, {"role": "char", "data": "North, past the light."})


def effect(kind: str, indent: int = 0, **fields: Any) -> dict[str, Any]:
    """An effect; a field ``x`` is a value, ``x_`` names a variable."""
    made: dict[str, Any] = {"type": kind, "indent": indent}
    for name, value in fields.items():
        made |= {name.rstrip("_"): value, f"{name.rstrip('_')}Type": "var" if name.endswith("_") else "value"}
    return made


def outcome_of(
    *effects: Mapping[str, Any],
    variables: Mapping[str, Any] | None = None,
    mode: str = "start",
    more: Sequence[Mapping[str, Any]] = (),
    low_level: bool = False,
    **inputs: Any,
) -> TriggerOutcome:
    """What the triggers leave: one of these effects, and ``more`` of them."""
    main = {"comment": "main", "type": mode, "conditions": [], "effect": list(effects)}
    scope = CbsScope(char="Sable", greeting="Hello, {{user}}.", messages=CHAT, variables=variables or {})
    triggers = read_triggers([main, *more], low_level=low_level)
    outcome = run_triggers(triggers, mode, TriggerInputs(scope=scope, **inputs))
    assert outcome is not None
    return outcome
