"""Segments: a prompt in parts with roles, made to fit, and a list of everything that went, with the reason.

First whole segments go by role (`DROP_ORDER`), of one role the least worth for its size; settings and clothes lose their
end before they go. What may not be dropped is shortened only when nothing else is left, as `cut_text` does it, and never to
nothing (dynamic-prompting reference 4.5). A text of n characters is counted some log n times, however many segments it has.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from innkeeper.library.errors import OverBudgetError
from innkeeper.library.models.facts import Measure
from innkeeper.library.prepare.budget import Budget, Dropped, cut_text, least_text
from innkeeper.prompt.errors import InnkeeperError


class Role(StrEnum):
    """What a segment of an image or video prompt is about."""

    IDENTITY = "identity"
    ACTION = "action"
    CLOTHING = "clothing"
    SETTING = "setting"
    MOOD = "mood"
    STYLE = "style"
    QUALITY = "quality"
    TECHNICAL = "technical"


DROP_ORDER: Final = ((Role.QUALITY, Role.TECHNICAL), (Role.MOOD,), (Role.STYLE,), (Role.SETTING,), (Role.CLOTHING,))
"""Which roles go first. Identity and action are in none: they are never dropped, whatever a segment says."""

_NEVER_DROPPED: Final = frozenset({Role.IDENTITY, Role.ACTION})


class Segment(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a prompt. ``weight`` is its worth; of one role, the least worth for its size goes first.

    ``min`` is the size it keeps at least, so that a segment with one is shortened but not dropped.
    """

    text: str
    role: Role
    weight: float = 1.0
    droppable: bool = True
    min: int = 0

    @property
    def may_go(self) -> bool:
        """Whether it may be dropped or shortened to make room."""
        return self.droppable and self.role not in _NEVER_DROPPED


_TAILED: Final = frozenset({Role.SETTING, Role.CLOTHING})


class Compressed(msgspec.Struct, frozen=True):
    """A prompt that fits its budget, and what it cost. ``repaired``: the enhancer was asked once more and its answer taken."""

    text: str
    tokens: int
    dropped: tuple[Dropped, ...] = ()
    segments: tuple[Segment, ...] = ()
    repaired: bool = False
    notes: tuple[str, ...] = ()

    @property
    def compressed(self) -> bool:
        """Whether anything was left out."""
        return bool(self.dropped)


class Repair(msgspec.Struct, frozen=True):
    """What the enhancer is asked once: to write ``text`` again within ``target``, of which it takes ``tokens``."""

    text: str
    tokens: int
    target: int
    unit: str = "tokens"


def compress(segments: Iterable[Segment], budget: Budget | int, counter: Measure, *, joiner: str = ", ") -> Compressed:
    """The segments in their order, joined, within the budget.

    Raises:
        OverBudgetError: not even one word of each segment that must stay fits.
    """
    room = Budget(budget, budget) if isinstance(budget, int) else budget
    work = _Shrinking(tuple(segments), room, counter, joiner)
    for step in (_drop_roles, _cut_rest):
        if not work.fits():
            step(work)
    if not work.fits():
        raise OverBudgetError(counter.most(work.text()), room.target, room.unit)
    return work.result()


def fit_segments(
    text: str,
    budget: Budget,
    measure: Measure,
    *,
    segments_of: Callable[[str], Iterable[Segment]],
    ask: Callable[[Repair], str] | None = None,
    joiner: str = ", ",
) -> Compressed:
    """A text an enhancer wrote, within the budget: as it is, else written again once, else compressed.

    ``ask`` is called at most once. Where it fails or helps nothing, the shorter of both texts is compressed; what it failed
    with is noted.

    Raises:
        OverBudgetError: as `compress`.
    """
    if budget.fits(text, measure):
        return Compressed(text, measure.count(text))
    again, notes = _repaired(ask, Repair(text, measure.count(text), budget.target, budget.unit))
    if again and budget.fits(again, measure):
        return Compressed(again, measure.count(again), repaired=True)
    shorter = again if again and measure.count(again) < measure.count(text) else text
    done = compress(segments_of(shorter), budget, measure, joiner=joiner)
    return msgspec.structs.replace(done, repaired=shorter is not text, notes=notes)


def _repaired(ask: Callable[[Repair], str] | None, repair: Repair) -> tuple[str, tuple[str, ...]]:
    if ask is None:
        return "", ()
    try:
        return ask(repair).strip(), ("repair:over_budget",)
    except InnkeeperError as error:
        return "", (f"repair:{error.kind}",)


_AS_THEY_ARE: Final[Mapping[int, str]] = {}


class _Shrinking:
    """Segments while they shrink: the texts that are left, and what went."""

    def __init__(self, segments: tuple[Segment, ...], budget: Budget, measure: Measure, joiner: str) -> None:
        self.segments, self.budget, self.measure, self.joiner = segments, budget, measure, joiner
        self.texts = [segment.text.strip() for segment in segments]
        self.dropped: list[Dropped] = []
        self._sizes: dict[int, int] = {}
        self._total: int | None = None
        seen: set[str] = set()
        for index, text in enumerate(self.texts):
            if not text or text.casefold() in seen:
                self.take(index, "", "duplicate" if text else "empty")
            seen.add(text.casefold())

    def text(self, instead: Mapping[int, str] = _AS_THEY_ARE) -> str:
        """What is left, joined; with other texts ``instead`` of some."""
        texts = (instead.get(index, text) for index, text in enumerate(self.texts)) if instead else self.texts
        return self.joiner.join(text for text in texts if text)

    def fits(self, instead: Mapping[int, str] = _AS_THEY_ARE) -> bool:
        return self.budget.fits(self.text(instead), self.measure)

    def size(self, index: int) -> int:
        """The size of one segment, which is counted once."""
        size = self._sizes.get(index)
        if size is None:
            size = self._sizes[index] = self.measure.count(self.texts[index])
        return size

    def hopeless(self, smaller: Mapping[int, int]) -> bool:
        """Whether it cannot all fit, even with smaller sizes of some: told from the sizes alone, without a look at the whole.

        Joined, all take the sum of their sizes at least, less one for each, since a token may be part of two.
        """
        if self._total is None:
            self._total = sum(self.size(index) - 1 for index, text in enumerate(self.texts) if text)
        saved = sum(self.size(index) - size for index, size in smaller.items())
        return self._total - saved > self.budget.target

    def take(self, index: int, start: str, reason: str) -> None:
        """Keep only the beginning of a segment's text and list the rest."""
        gone = self.texts[index][len(start) :].strip()
        before = self.size(index) if self._total is not None else 0
        self.texts[index] = start
        self._sizes.pop(index, None)
        if self._total is not None:
            self._total += (self.size(index) if start else 1) - before
        self.dropped.append(Dropped(index, self.segments[index].role, gone, reason, self.measure.count(gone)))

    def fitting(self, index: int) -> str:
        """The longest beginning of a segment with which all fits; empty where none does."""
        return cut_text(self.texts[index], lambda part: self.fits({index: part}))

    def needed(self, shorter: Sequence[tuple[int, str]]) -> int:
        """How many segments must get their shorter text, from the first on, so that all fits; one more than all: never."""
        return bisect_right(range(len(shorter) + 1), False, key=lambda count: self.fits(dict(shorter[:count])))  # noqa: FBT003

    def result(self) -> Compressed:
        text = self.text()
        left = tuple(
            msgspec.structs.replace(segment, text=text)
            for segment, text in zip(self.segments, self.texts, strict=True)
            if text
        )
        return Compressed(text, self.measure.count(text), tuple(self.dropped), left)


def _drop_roles(work: _Shrinking) -> None:
    """Let whole segments go, or their ends, role by role, until all fits."""
    order = [index for roles in DROP_ORDER for index in _least_worth(work, roles)]
    waiting: list[int] = []
    for index in order:
        if work.segments[index].min == 0:
            waiting.append(index)
        elif _drop(work, waiting) or _keep_tail(work, index):
            return
        else:
            waiting = []
    _drop(work, waiting)


def _drop(work: _Shrinking, indexes: Sequence[int]) -> bool:
    """Let as many of these segments go as is needed, from the first on. Tells whether all fits then."""
    hopeless = work.hopeless(dict.fromkeys(indexes, 1))
    count = len(indexes) + 1 if hopeless else work.needed([(index, "") for index in indexes])
    for index in indexes[: max(count - 1, 0)]:
        work.take(index, "", "budget")
    if 0 < count <= len(indexes):
        index = indexes[count - 1]
        tail = work.fitting(index) if work.segments[index].role in _TAILED else ""
        work.take(index, tail, "tail" if tail else "budget")
    return count <= len(indexes)


def _keep_tail(work: _Shrinking, index: int) -> bool:
    """Shorten a segment that keeps a minimum, where that makes all fit."""
    segment = work.segments[index]
    if work.hopeless({index: segment.min}):
        return False
    start = work.fitting(index)
    if start == work.texts[index] or not start or work.measure.count(start) < segment.min:
        return False
    work.take(index, start, "tail")
    return True


def _least_worth(work: _Shrinking, roles: Sequence[Role]) -> list[int]:
    indexes = [index for index, segment in enumerate(work.segments) if segment.role in roles and segment.may_go]
    filled = [index for index in indexes if work.texts[index]]
    return sorted(filled, key=lambda index: (work.segments[index].weight / max(1, work.size(index)), -index))


def _cut_rest(work: _Shrinking) -> None:
    """Shorten what may not be dropped: the rest first, then actions, identity last; of one kind the longest first."""
    order = {Role.ACTION: 1, Role.IDENTITY: 2}
    filled = [index for index, text in enumerate(work.texts) if text]
    indexes = sorted(filled, key=lambda index: (order.get(work.segments[index].role, 0), -work.size(index)))
    shorter = [
        (index, least_text(work.texts[index], work.measure.count, work.segments[index].min)) for index in indexes
    ]
    count = work.needed(shorter)
    for number, (index, least) in enumerate(shorter[:count], start=1):
        start = work.fitting(index) if number == count else ""
        enough = start and work.measure.count(start) >= work.segments[index].min
        chosen = start if enough else least
        if len(chosen) < len(work.texts[index]):
            work.take(index, chosen, "cut")
