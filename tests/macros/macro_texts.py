"""Texts for the macro tests: strategies that draw what looks like macros, and an environment that collects reports."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from innkeeper.macros.engine.environment import CardFields, ChatLine, MacroEnvironment
from innkeeper.prompt.determinism import Clock, Mulberry32
from innkeeper.prompt.note import Note

__all__ = ["HOSTILE", "PIECES", "environment", "reported"]

PIECES = (
    "{{",
    "}}",
    "{",
    "}",
    "::",
    ":",
    "|",
    " ",
    "\n",
    "!",
    "#",
    "/",
    "//",
    "~",
    ".",
    "$",
    "=",
    "+=",
    "++",
    "==",
    "||",
    "??",
    "char",
    "user",
    "if",
    "else",
    "reverse",
    "trim",
    "setvar",
    "getvar",
    "incvar",
    "random",
    "pick",
    "roll",
    "unknown",
    "1",
    "0",
    "a",
    "x-y",
    "_",
    "\\",
    "é",
    "😀",
    "\x00",
    "\ud800",
    "<USER>",
    "{{char}}",
    "{{/if}}",
    "{{else}}",
    "{{if 1}}",
)
"""What macro texts are made of, well formed or not."""

HOSTILE = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
"""Texts of such pieces."""


def environment(**fields: Any) -> MacroEnvironment:
    """Mira and Tomas at noon, with a card that has macros in it."""
    given: dict[str, Any] = {
        "user": "Tomas",
        "char": "Mira",
        "card": CardFields(description="{{char}} runs a workshop.", personality="patient"),
        "chat": lambda: [ChatLine("Mira", "Hello."), ChatLine("Tomas", "A watch.", is_user=True)],
        "clock": Clock.at("2026-01-15T12:34:56Z"),
        "random": Mulberry32(1),
        "chat_id": "a chat",
    }
    return MacroEnvironment(**{**given, **fields})


def reported(**fields: Any) -> tuple[MacroEnvironment, list[Note]]:
    """An environment, and the list its reports go to."""
    notes: list[Note] = []
    return environment(warn=notes.append, **fields), notes
