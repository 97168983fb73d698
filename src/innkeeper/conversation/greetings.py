"""Greetings: the messages that a chat over a profile begins with, as the tavern writes them.

A greeting is built like any prompt, since macros in it may read variables that earlier ones set. A greeting that depends neither
on the time nor on chance is the same in every conversation with this beginning, and is cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from innkeeper.conversation.state import ConversationState
from innkeeper.prompt import BuildRequest, Message, Ports
from innkeeper.prompt.allowance import BuildLimits
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import to_json
from innkeeper.prompt.determinism import noticing
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.taverns.participants import cards_of, greetings_of, name_of
from innkeeper.taverns.profiles.opened import OpenProfile

MAX_GREETINGS: Final = 16 * 1024 * 1024
"""Bytes of all greetings that a process keeps (no error: those that nobody asks for are forgotten)."""

_Key = tuple[int, int, bytes, BuildLimits | None]

_CACHE: Final[BoundedCache[_Key, tuple[str, ...]]] = BoundedCache(items=4_096, size=MAX_GREETINGS)

_MOMENT: Final = frozenset({"now", "seed"})
"""Fields that a cached greeting does not depend on."""


def greetings_before(
    profile: OpenProfile, base: BuildRequest, state: ConversationState, chat: Sequence[Message], ports: Ports
) -> tuple[str, ...]:
    """Return the greetings that the chat begins with: those of its state, else the card's; none if the client has sent one."""
    number = profile.profile.greeting_number
    if number is None or (chat and chat[0].role == "assistant"):
        return ()
    if state.greetings:
        return state.greetings
    key = _key(profile.request, base, number, ports)
    if key is None:
        return _built(base, number, ports)
    cached = _CACHE.get(key)
    if cached is not None:
        return cached
    with noticing() as seen:
        texts = _built(base, number, ports)
    return (
        texts if seen.moment else _CACHE.put(key, texts, len(key[2]) + 4 * sum(map(len, texts)), alive=profile.request)
    )


def opening_messages(request: BuildRequest, number: int, ports: Ports) -> list[Message]:
    """Return the messages that a chat which has not begun begins with: the character's greeting, or each member's first.

    Raises `UsageError` for a number that is no greeting's, and what a build raises.
    """
    return greeting_messages(_built(request, number, ports), request)


def greeting_messages(greetings: Sequence[str], request: BuildRequest) -> list[Message]:
    """Return greetings as messages, each with the name of the character who says it."""
    members = [name_of(card, "") for card in cards_of(request.group)] or [name_of(request.character, "Assistant")]
    return [Message("assistant", text, name) for text, name in zip_longest(greetings, members[: len(greetings)])]


def _key(own: BuildRequest, base: BuildRequest, number: int, ports: Ports) -> _Key | None:
    """Return all that greetings depend on: the profile's request and the fields that differ; None for more than data."""
    if replace(ports, max_limits=None) != Ports():
        return None
    names = [name for name in base.__struct_fields__ if name not in _MOMENT]
    values = {name: value for name in names if (value := getattr(base, name)) is not getattr(own, name)}
    try:
        return id(own), number, to_json(values, sort=False), ports.max_limits
    except InnkeeperError:
        return None


def _built(base: BuildRequest, number: int, ports: Ports) -> tuple[str, ...]:
    """Return the greeting of the character, or the first of each member of a group."""
    if base.group is None:
        return _greetings(base, ports, number)
    members = (base.with_(group=None, character=card) for card in cards_of(base.group))
    return tuple(text for member in members for text in _greetings(member, ports, 0))


def _greetings(request: BuildRequest, ports: Ports, number: int) -> tuple[str, ...]:
    """Return one greeting of a character, if there is one."""
    from innkeeper.taverns.assets import character_of

    character = character_of(request.character)
    if character is None or not any(character.greetings()):
        return ()
    return tuple(text for text in greetings_of(request, ports, number, alone=True) if text)
