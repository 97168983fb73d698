"""The next speakers of a group: the members that SillyTavern's activation strategies choose, in the order they reply.

The rules are those of `tavernkit.md` 17.1. All chance comes from one stream, so the same request has the same speakers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from innkeeper.prompt.determinism import RandomStream
from innkeeper.taverns.silly.lines.line import Line
from innkeeper.text.javascript.values import strip

if TYPE_CHECKING:
    from innkeeper.taverns.silly.lines.group import Group


_WORD: Final = re.compile(r"\w+")


class SpeakerStrategy(IntEnum):
    """How a group chooses, by SillyTavern's numbers. An unknown number chooses naturally."""

    NATURAL = 0
    """Mentioned members, then those whose roll is within their talkativeness."""
    LIST = 1
    """All, in the order of the list."""
    MANUAL = 2
    """None after the user; otherwise a random one."""
    POOLED = 3
    """A member that has not spoken since the user did."""


def choose_speakers(
    group: Group, lines: Sequence[Line], random: RandomStream, *, generation: str = "normal", text: str = ""
) -> tuple[int, ...]:
    """Indexes of members in the group's list, in the order they reply; never muted ones. Empty if none does.

    ``lines`` is the chat, ``text`` what the user says now. Mentions are looked for in ``text``, or without one in the last line.
    """
    free = [index for index in range(len(group.members)) if index not in group.settings.disabled]
    if not free:
        return ()
    if generation == "impersonate":
        return (_one_of(free, random),)
    if generation in ("swipe", "continue", "quiet"):
        return (_same_again(group, lines, free, random, quiet=generation == "quiet"),)
    return _by_strategy(group, lines, free, random, strip(text))


def _by_strategy(
    group: Group, lines: Sequence[Line], free: list[int], random: RandomStream, text: str
) -> tuple[int, ...]:
    asked = bool(text) or bool(lines and lines[-1].is_user)
    strategy = group.settings.activation_strategy
    if strategy == SpeakerStrategy.LIST:
        return tuple(free)
    if strategy == SpeakerStrategy.MANUAL:
        return () if asked else (_one_of(free, random),)
    if strategy == SpeakerStrategy.POOLED:
        return (_pooled(group, () if text else lines, free, random),)
    spoken = text or (lines[-1].text if lines else "")
    return tuple(_natural(group, lines, free, random, spoken, asked=asked))


def _one_of(indices: Sequence[int], random: RandomStream) -> int:
    return indices[int(random.random() * len(indices))]


def _speaker_of(group: Group, line: Line) -> int | None:
    """The member that speaks a line, by its card's file before its name; ``None`` for the user's and the narrator's."""
    if line.is_user or line.narrator:
        return None
    file = line.original_avatar.removesuffix(".png")
    if file and file in group.files:
        return group.files.index(file)
    if line.name not in group.names:
        return None
    return group.names.index(line.name)


def _last(group: Group, lines: Sequence[Line]) -> int | None:
    """The last speaker, the user aside."""
    speakers = (_speaker_of(group, line) for line in reversed(lines))
    return next((index for index in speakers if index is not None), None)


def _same_again(group: Group, lines: Sequence[Line], free: list[int], random: RandomStream, *, quiet: bool) -> int:
    speakers = (_speaker_of(group, line) for line in reversed(lines))
    last = next((index for index in speakers if index in free), None)
    if last is not None:
        return last
    return free[0] if quiet else _one_of(free, random)


def _pooled(group: Group, lines: Sequence[Line], free: list[int], random: RandomStream) -> int:
    """A member that is silent since the user's last line; when all have spoken, any but the last one."""
    spoken: set[int | None] = set()
    for line in reversed(lines):
        if line.is_user:
            break
        spoken.add(_speaker_of(group, line))
    silent = [index for index in free if index not in spoken]
    others = [index for index in free if index != _last(group, lines)]
    return _one_of(silent or others or free, random)


def _natural(
    group: Group, lines: Sequence[Line], free: list[int], random: RandomStream, spoken: str, *, asked: bool
) -> list[int]:
    """The mentioned members in the order they are named, then those whose roll is within their talkativeness."""
    banned = None if asked or group.settings.allow_self_responses else _last(group, lines)
    allowed = [index for index in free if index != banned]
    chosen = _mentioned(group, allowed, spoken)
    talkativeness = {index: group.members[index].talkativeness for index in allowed}
    for index in _shuffled(allowed, random):
        if talkativeness[index] >= random.random() and index not in chosen:
            chosen.append(index)
    if not chosen and allowed:
        chosen = [_one_of([index for index in allowed if talkativeness[index] > 0] or allowed, random)]
    return chosen or [_one_of(free, random)]


def _mentioned(group: Group, allowed: list[int], spoken: str) -> list[int]:
    everybody, called = group.names, defaultdict[str, list[int]](list)
    for index in allowed:
        for word in {word.lower() for word in _WORD.findall(everybody[index])}:
            called[word].append(index)
    speakers = (index for word in dict.fromkeys(_WORD.findall(spoken.lower())) for index in called.get(word, ()))
    return list(dict.fromkeys(speakers))


def _shuffled(indices: list[int], random: RandomStream) -> list[int]:
    left, shuffled = list(indices), []
    while left:
        shuffled.append(left.pop(int(random.random() * len(left))))
    return shuffled
