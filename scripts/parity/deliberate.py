"""Deliberate: what is done otherwise than in SillyTavern on purpose, each with its reason, told by what a case holds.

A case that differs and holds one of these is reported as deliberate. docs/compatibility/sillytavern says the same in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec


class Deliberate(msgspec.Struct, frozen=True):
    """A difference: the test whether a case's input holds what it is about, and why it is so."""

    holds: Callable[[Mapping[str, Any]], bool]
    reason: str


def _listed(fields: Mapping[str, Any], *path: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a list, or of an object's values, at a path."""
    value: Any = fields
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    items = value.values() if isinstance(value, Mapping) else value or ()
    return (item for item in items if isinstance(item, Mapping))


def _keys(fields: Mapping[str, Any]) -> set[str]:
    return {str(item.get("key")) for item in _listed(fields, "injections")}


def _entries(fields: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (item for book in _listed(fields, "world_info") for item in _listed(book, "entries"))


def _odd_prompt(prompt: Mapping[str, Any]) -> bool:
    """Whether a prompt in the chat has a depth that is no number, or no role."""
    in_chat = prompt.get("injection_position") == 1
    return in_chat and not (isinstance(prompt.get("injection_depth"), int) and prompt.get("role", "system"))


_OF_LORE: Final = ("customWIOutlet_", "customDepthWI_")
_FRAME: Final = {"prefix", "suffix", "separator"}

DELIBERATE: Final = (
    Deliberate(
        lambda fields: any(key.startswith(_OF_LORE) for key in _keys(fields)),
        "an injection under a key of lore is left out with a note",
    ),
    Deliberate(
        lambda fields: bool(
            _keys(fields) & {str(item.get("identifier")) for item in _listed(fields, "preset", "prompts")}
        ),
        "an injection whose key is a prompt's name is an injection of its own",
    ),
    Deliberate(
        lambda fields: any(item.get("position") is None or item.get("depth") is None for item in _entries(fields)),
        "an entry without a position or a depth is read as what it means",
    ),
    Deliberate(
        lambda fields: any(map(_odd_prompt, _listed(fields, "preset", "prompts"))),
        "a prompt in the chat with an odd depth or role is read as what it means",
    ),
    Deliberate(
        lambda fields: (
            fields.get("fn") == "ai21"
            and any(isinstance(message.get("content"), list) for message in _listed(fields, "messages"))
        ),
        "AI21 takes no pictures: their place is a note, and the texts are sent",
    ),
    Deliberate(
        lambda fields: bool(
            (reasoning := (fields.get("power_user") or {}).get("reasoning")) and not reasoning.keys() >= _FRAME
        ),
        "what a setting of reasoning does not say is SillyTavern's default, not nothing",
    ),
)
"""All of them."""


def reason_for(fields: Any) -> str | None:
    """The first deliberate difference that a case's input holds; ``None`` without one."""
    if not isinstance(fields, Mapping):
        return None
    return next((item.reason for item in DELIBERATE if item.holds(fields)), None)
