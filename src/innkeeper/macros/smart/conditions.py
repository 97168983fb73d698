"""Conditions: whether an entry's condition holds."""

from __future__ import annotations

from typing import Any

from innkeeper.macros.smart.environment import MacroEnvironment
from innkeeper.macros.smart.expansion import expand
from innkeeper.prompt.errors import InnkeeperError

__all__ = ["condition_holds", "condition_value"]


def condition_holds(condition: Any, env: MacroEnvironment) -> bool:
    """Whether the text of ``condition``, with its macros replaced, is ``true`` (3-smarttavern-in-chat-constructor).

    Blank space around it and case do not count; anything else is false. A condition sees the variables of ``env`` and what it
    writes is gone after it. One that fails is false, with a note.
    """
    return condition_value(condition, env).strip().lower() == "true"


def condition_value(condition: Any, env: MacroEnvironment) -> str:
    """What the text of ``condition`` comes to; nothing where it is blank or fails, which leaves a note."""
    text = "" if condition is None else str(condition)
    if not text.strip():
        return ""
    try:
        return expand(text, env.fork())
    except InnkeeperError as error:
        env.report(error)
        return ""
