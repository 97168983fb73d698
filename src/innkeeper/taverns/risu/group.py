"""Groups: who of a group's members answers next (`risuai.md` 17).

In the order of the list, or: those whom the last message names, then others by chance, as talkative as each is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from innkeeper.prompt.determinism import RandomStream

_WORD: Final = re.compile(r"\w+")


class GroupMember(msgspec.Struct, frozen=True):
    """A member: its name, and how often it speaks unasked, from 0 (never at all) to 1."""

    name: str
    talkativeness: float = 1


def next_speakers(
    members: Sequence[GroupMember], text: str, last: int | None, random: RandomStream, *, in_order: bool = False
) -> tuple[int, ...]:
    """The members that answer a text, by their indexes. Who spoke ``last`` does not, unless nobody else is there."""
    active = [index for index, member in enumerate(members) if member.talkativeness > 0]
    if in_order or not active:
        return tuple(active)
    words = {word.lower() for word in _WORD.findall(text)}
    others = [index for index in active if index != last] or active
    chosen = [index for index in others if words & set(_WORD.findall(members[index].name.lower()))]
    rest = [index for index in others if index not in chosen]
    shuffled = sorted(((random.random(), index) for index in rest), key=lambda pair: pair[0])
    chosen += [index for _, index in shuffled if random.random() < members[index].talkativeness]
    return tuple(chosen or [shuffled[0][1]] if shuffled else chosen)
