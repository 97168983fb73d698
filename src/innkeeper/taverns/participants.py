"""Participants: the names in a chat by its request, the members of a group, the next speaker, the greetings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.prompt import UsageError
from innkeeper.prompt.data import thaw

if TYPE_CHECKING:
    from innkeeper.prompt import BuildRequest, Plan, Ports


ROOM: Final = 1_000_000
"""A window in which every greeting has room, in tokens."""


def name_of(participant: Any, default: str) -> str:
    """The name of a character or a persona, or of its stand-in in a request."""
    if isinstance(participant, str):
        return participant or default
    if isinstance(participant, Mapping):
        return str(participant.get("name") or name_of(participant.get("data"), default))
    return str(getattr(participant, "name", None) or default)


def members_of(group: Any) -> tuple[str, ...]:
    """The names of a group's members, none without a group. Raises `ConfigError` for what is no group."""
    return tuple(name_of(card, "Assistant") for card in cards_of(group))


def cards_of(group: Any) -> tuple[Any, ...]:
    """The cards of a group's members, none without a group. Raises `ConfigError` for what is no group."""
    from innkeeper.taverns.assets import listed_members

    listed = listed_members(group)
    return tuple(item["card"] if isinstance(item, Mapping) and "card" in item else item for item in listed)


def avatar_of(group: Any, speaker: int | None) -> str | None:
    """The file of the card of a group's member, where the group says it."""
    listed = group.get("members") if isinstance(group, Mapping) else getattr(group, "members", None)
    member = listed[speaker or 0] if listed and (speaker or 0) < len(listed) else None
    file = member.get("filename") if isinstance(member, Mapping) else None
    return f"{file}.png" if file else None


def speakers_of(plan: Plan) -> tuple[int, ...]:
    """The speakers of a group's replies, in their order, as indexes of members. Nothing if the plan has none."""
    chosen = (note.data.get("speakers") for note in plan.notes if note.data)
    return next((tuple(choice) for choice in chosen if choice), ())


def speaker_of(plan: Plan, request: BuildRequest) -> str:
    """Return the name of who answers a plan: the character, or the first of a group's members that speak."""
    cards = cards_of(request.group)
    first = next(iter(speakers_of(plan)), 0)
    return name_of(cards[first] if first < len(cards) else request.character, "Assistant")


def greetings_of(request: BuildRequest, ports: Ports, chosen: int, *, alone: bool = False) -> tuple[str, ...]:
    """The character's greetings as the tavern says them, macros expanded; a window that is too small for it does not matter.

    ``alone`` asks for the ``chosen`` one alone. Raises `UsageError` where the ``chosen`` one is not among them.
    """
    from innkeeper.taverns import build
    from innkeeper.taverns.assets import character_of

    character = character_of(thaw(request.character))
    greetings = () if character is None else character.greetings()
    if not 0 <= chosen < len(greetings):
        raise UsageError(f"there is no greeting {chosen}", hint=f"numbers go from 0 to {len(greetings) - 1}")
    base = request.with_(history=(), message="", context_window=ROOM, reserved_tokens=0)
    numbers = (chosen,) if alone else range(len(greetings))
    plans = ((number, build(base.with_(greeting=number), ports, commit=False)) for number in numbers)
    return tuple(plan.greeting or greetings[number] for number, plan in plans)
