"""Trigger: one trigger as it is stored, what a run of triggers starts with, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from innkeeper.macros.cbs import CbsScope
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.note import Note
from innkeeper.text.javascript.values import length_of


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """A trigger. ``type`` says when it runs: start, manual, output, input, display, request."""

    name: str = ""
    type: str = ""
    conditions: Sequence[Mapping[str, Any]] = ()
    effects: Sequence[Mapping[str, Any]] = ()
    low_level: bool = False
    """Whether it may ask for a model's answer and the like."""


def read_triggers(stored: Sequence[Mapping[str, Any]], *, low_level: bool = False) -> tuple[Trigger, ...]:
    """The triggers of a card or a module; ``low_level`` is what that allows them."""
    return tuple(
        Trigger(
            name=str(item.get("comment") or ""),
            type=str(item.get("type") or ""),
            conditions=_records(item.get("conditions")),
            effects=_records(item.get("effect")),
            low_level=low_level,
        )
        for item in _records(stored)
    )


def _records(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def four_units(text: str) -> int:
    """A token for each four UTF-16 units."""
    return -(-length_of(text) // 4)


class TriggerInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What triggers read and may change. ``lorebook`` are the character's own entries, as they are stored."""

    scope: CbsScope
    lorebook: Sequence[Mapping[str, Any]] = ()
    author_note: str = ""
    global_note: str = ""
    """The character's replacement of the global note."""
    display_data: str | None = None
    """The text that is shown, or the request's messages as JSON."""
    count: Callable[[str], int] = four_units
    """Counts the tokens of a text."""


class TriggerOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What triggers left. A field that they did not change is ``None``; so is the value of a variable that is gone."""

    messages: tuple[Mapping[str, Any], ...] = ()
    variables: Mapping[str, str | None] = EMPTY
    temporary: Mapping[str, str] = EMPTY
    """Variables of a trigger that rewrites a shown text or a request: they go with it."""
    prompts: Mapping[str, str] = EMPTY
    """Texts for the prompt at ``start``, ``historyend``, ``promptend``."""
    tokens: int = 0
    """The tokens of these texts."""
    stop_sending: bool = False
    send_prompt: bool = False
    """Whether the model is to be asked again."""
    display_data: str | None = None
    lorebook: tuple[Mapping[str, Any], ...] | None = None
    author_note: str | None = None
    global_note: str | None = None
    description: str | None = None
    persona: str | None = None
    notes: tuple[Note, ...] = ()
