"""Segments and budgets: a prompt in parts with roles, made to fit, and a list of everything that went, with the reason.

First whole segments go by role (`DROP_ORDER`), of one role the least worth for its size; settings and clothes lose their
end before they go. What may not be dropped is shortened only when nothing else is left: after a sentence, a clause or a word,
never inside a word or a group (``(long, golden:1.2)``), and never to nothing (dynamic-prompting reference 4.5). A text of n
characters is counted some log n times, however many segments it has.

A budget is how much room a prompt has, apart from how much a model may write. ``target_budget`` belongs to the consumer of the
prompt (an image model, say), ``max_output_tokens`` to the call that writes it; neither is ever taken for the other.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from innkeeper.library.errors import OverBudgetError
from innkeeper.library.models.emphasis import groups, outside
from innkeeper.library.models.facts import ROOM, Measure, TokenizerSpec
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import ConfigError, InnkeeperError

__all__ = [
    "DROP_ORDER",
    "Budget",
    "Compressed",
    "Dropped",
    "Fitted",
    "Repair",
    "Role",
    "Segment",
    "budget_of",
    "chat_budget",
    "compress",
    "cut_text",
    "fit_segments",
    "fit_text",
]


class Budget(msgspec.Struct, frozen=True):
    """The room for one prompt, in the unit of its spec.

    ``target`` is what may be used: ``limit`` less everything ``reserved``, or less where the template asks for less.
    ``char_limit`` is a limit of characters beside it, where a provider has one.
    """

    target: int
    limit: int
    reserved: Mapping[str, int] = EMPTY
    max_output_tokens: int | None = None
    char_limit: int | None = None
    unit: str = "tokens"

    def fits(self, text: str, measure: Measure) -> bool:
        """Whether a text is small enough, by the upper edge of an estimate."""
        return measure.most(text) <= self.target and (self.char_limit is None or len(text) <= self.char_limit)


class Dropped(msgspec.Struct, frozen=True):
    """What went of one segment: its place among the segments, its role, the text that went, why, and its size.

    Reasons: ``budget`` (the whole segment), ``tail`` (its end), ``cut`` (the end of one that is never dropped),
    ``duplicate`` and ``empty``.
    """

    place: int
    role: str
    text: str
    reason: str
    tokens: int


class Fitted(msgspec.Struct, frozen=True):
    """A text made to fit: what is left, its size, what was cut off its end (empty where nothing was), what went of segments."""

    text: str
    size: int
    cut: str = ""
    dropped: tuple[Dropped, ...] = ()


def budget_of(
    spec: TokenizerSpec,
    *,
    overlays: Mapping[str, str] = EMPTY,
    target_budget: int | None = None,
    max_output_tokens: int | None = None,
    char_limit: int | None = None,
    measure: Measure | None = None,
) -> Budget:
    """The room a prompt has under a spec.

    ``overlays`` are texts that are added to the prompt later (``ui``, ``suffix``, ``trigger_words`` …): their sizes are
    reserved, beside the spec's own reserve.

    Raises:
        ConfigError: nothing is left, or a limit is not above 0.
    """
    sizes = measure or spec.measure()
    reserved = {"spec": spec.reserve} if spec.reserve else {}
    reserved |= {name: sizes.most(text) for name, text in overlays.items() if text}
    room = spec.limit_usable - sum(reserved.values())
    target = room if target_budget is None else min(target_budget, room)
    for name, value in (("target", target), ("max_output_tokens", max_output_tokens), ("char_limit", char_limit)):
        if value is not None and value <= 0:
            message = f"a {name} of {value} leaves no room (limit {spec.limit_usable}, reserved {reserved})"
            raise ConfigError(message, hint=ROOM)
    unit = "chars" if spec.kind == "chars" else "tokens"
    return Budget(target, spec.limit_usable, FrozenDict(reserved), max_output_tokens, char_limit, unit)


def chat_budget(context_window: int, max_output_tokens: int, safety: int = 0) -> int:
    """The room of a chat: the window less the reply and a margin. Raises `ConfigError` when nothing is left."""
    room = context_window - max_output_tokens - safety
    if room <= 0 or max_output_tokens < 0 or safety < 0:
        message = f"a window of {context_window} with {max_output_tokens} for the reply and {safety} spare has no room"
        raise ConfigError(message, hint=ROOM)
    return room


def fit_text(text: str, budget: Budget, measure: Measure, overflow: str) -> Fitted:
    """A text of no known parts within a budget, cut after a sentence or else after a word.

    Raises:
        OverBudgetError: it does not fit, and ``overflow`` is ``error``, or not even its first word fits.
    """
    if budget.fits(text, measure):
        return Fitted(text, measure.count(text))
    kept = "" if overflow == "error" else cut_text(text, lambda part: budget.fits(part, measure))
    if not kept:
        raise OverBudgetError(measure.most(text), budget.target, budget.unit)
    return Fitted(kept, measure.count(kept), text[len(kept) :])


# ---------------------------------------------------------------------------------------------------------------- cutting


_SENTENCE_END: Final = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+[」』）]*|\n+")
_CLAUSE_END: Final = re.compile(r"\s*[,;:、，；](?=\s|$)|(?<=[、，；])")
_WORD_END: Final = re.compile(r"(?<=\S)(?=\s|$)|(?<=[\u3040-\u30ff\u3400-\u9fff])")
_WORTH: Final = 0.5
"""A cut after a sentence or clause is taken where it keeps at least this part of what a cut after a word would."""


def cut_text(text: str, fits: Callable[[str], bool]) -> str:
    """The beginning of ``text`` that is kept: empty where not even its first word or group fits."""
    if fits(text):
        return text
    spans = groups(text)
    word = _longest(text, _ends(text, spans, _WORD_END), fits)
    for ends in (_SENTENCE_END, _CLAUSE_END):
        places = _ends(text, spans, ends)
        kept = _longest(text, places[: bisect_right(places, len(word))], fits)
        if len(kept) >= _WORTH * len(word) and kept.strip():
            return kept.rstrip()
    return word.rstrip(" ,;:\t\n")


def _ends(text: str, spans: tuple[tuple[int, int], ...], ends: re.Pattern[str]) -> list[int]:
    """Where a text may end, outside of its groups."""
    return outside([match.start() if ends is _CLAUSE_END else match.end() for match in ends.finditer(text)], spans)


def _least(text: str, size: Callable[[str], int], least: int) -> str:
    """The beginning that is kept of a text at least: so much of it, or its first word or group."""
    first = next(iter(_ends(text, groups(text), _WORD_END)), len(text))
    return cut_text(text, lambda part: size(part) <= max(least, 1)) or text[:first]


def _longest(text: str, ends: Sequence[int], fits: Callable[[str], bool]) -> str:
    """The longest beginning up to one of the places that fits, where longer ones are larger; what it gives always fits."""
    kept = bisect_right(ends, False, key=lambda end: not fits(text[:end]))  # noqa: FBT003 - a search among truth values
    return text[: ends[kept - 1]] if kept else ""


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


DROP_ORDER: Final = (
    (Role.QUALITY, Role.TECHNICAL),
    (Role.MOOD,),
    (Role.STYLE,),
    (Role.SETTING,),
    (Role.CLOTHING,),
)
"""Which roles go first. Identity and action are in none: they are never dropped, whatever a segment says."""

_KEPT: Final = frozenset({Role.IDENTITY, Role.ACTION})


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
        return self.droppable and self.role not in _KEPT


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
    work = _Work(tuple(segments), room, counter, joiner)
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
    again, notes = _asked(ask, Repair(text, measure.count(text), budget.target, budget.unit))
    if again and budget.fits(again, measure):
        return Compressed(again, measure.count(again), repaired=True)
    shorter = again if again and measure.count(again) < measure.count(text) else text
    done = compress(segments_of(shorter), budget, measure, joiner=joiner)
    return msgspec.structs.replace(done, repaired=shorter is not text, notes=notes)


def _asked(ask: Callable[[Repair], str] | None, repair: Repair) -> tuple[str, tuple[str, ...]]:
    if ask is None:
        return "", ()
    try:
        return ask(repair).strip(), ("repair:over_budget",)
    except InnkeeperError as error:
        return "", (f"repair:{error.kind}",)


_AS_THEY_ARE: Final[Mapping[int, str]] = {}


class _Work:
    """Segments while they shrink: the texts that are left, and what went."""

    def __init__(self, segments: tuple[Segment, ...], budget: Budget, measure: Measure, joiner: str) -> None:
        self.segments, self.budget, self.measure, self.joiner = segments, budget, measure, joiner
        self.texts = [segment.text.strip() for segment in segments]
        self.dropped: list[Dropped] = []
        self._sizes: dict[int, int] = {}
        self._total: int | None = None
        seen: set[str] = set()
        for place, text in enumerate(self.texts):
            if not text or text.casefold() in seen:
                self.take(place, "", "duplicate" if text else "empty")
            seen.add(text.casefold())

    def text(self, instead: Mapping[int, str] = _AS_THEY_ARE) -> str:
        """What is left, joined; with other texts ``instead`` of some."""
        texts = (instead.get(place, text) for place, text in enumerate(self.texts)) if instead else self.texts
        return self.joiner.join(text for text in texts if text)

    def fits(self, instead: Mapping[int, str] = _AS_THEY_ARE) -> bool:
        return self.budget.fits(self.text(instead), self.measure)

    def size(self, place: int) -> int:
        """The size of one segment, which is counted once."""
        found = self._sizes.get(place)
        if found is None:
            found = self._sizes[place] = self.measure.count(self.texts[place])
        return found

    def hopeless(self, smaller: Mapping[int, int]) -> bool:
        """Whether it cannot all fit, even with smaller sizes of some: told from the sizes alone, without a look at the whole.

        Joined, all take the sum of their sizes at least, less one for each, since a token may be part of two.
        """
        if self._total is None:
            self._total = sum(self.size(place) - 1 for place, text in enumerate(self.texts) if text)
        saved = sum(self.size(place) - size for place, size in smaller.items())
        return self._total - saved > self.budget.target

    def take(self, place: int, kept: str, reason: str) -> None:
        """Keep only the beginning of a segment's text and list the rest."""
        gone = self.texts[place][len(kept) :].strip()
        before = self.size(place) if self._total is not None else 0
        self.texts[place] = kept
        self._sizes.pop(place, None)
        if self._total is not None:
            self._total += (self.size(place) if kept else 1) - before
        self.dropped.append(Dropped(place, self.segments[place].role, gone, reason, self.measure.count(gone)))

    def fitting(self, place: int) -> str:
        """The longest beginning of a segment with which all fits; empty where none does."""
        return cut_text(self.texts[place], lambda part: self.fits({place: part}))

    def needed(self, shorter: Sequence[tuple[int, str]]) -> int:
        """How many of these places must get their shorter text, from the first on, so that all fits; one more than all: never."""
        return bisect_right(range(len(shorter) + 1), False, key=lambda count: self.fits(dict(shorter[:count])))  # noqa: FBT003

    def result(self) -> Compressed:
        text = self.text()
        left = tuple(
            msgspec.structs.replace(segment, text=text)
            for segment, text in zip(self.segments, self.texts, strict=True)
            if text
        )
        return Compressed(text, self.measure.count(text), tuple(self.dropped), left)


def _drop_roles(work: _Work) -> None:
    """Let whole segments go, or their ends, role by role, until all fits."""
    order = [place for roles in DROP_ORDER for place in _least_worth(work, roles)]
    waiting: list[int] = []
    for place in order:
        if work.segments[place].min == 0:
            waiting.append(place)
        elif _drop(work, waiting) or _keep_tail(work, place):
            return
        else:
            waiting = []
    _drop(work, waiting)


def _drop(work: _Work, places: Sequence[int]) -> bool:
    """Let as many of these segments go as is needed, from the first on. Tells whether all fits then."""
    hopeless = work.hopeless(dict.fromkeys(places, 1))
    count = len(places) + 1 if hopeless else work.needed([(place, "") for place in places])
    for place in places[: max(count - 1, 0)]:
        work.take(place, "", "budget")
    if 0 < count <= len(places):
        place = places[count - 1]
        tail = work.fitting(place) if work.segments[place].role in _TAILED else ""
        work.take(place, tail, "tail" if tail else "budget")
    return count <= len(places)


def _keep_tail(work: _Work, place: int) -> bool:
    """Shorten a segment that keeps a minimum, where that makes all fit."""
    segment = work.segments[place]
    if work.hopeless({place: segment.min}):
        return False
    kept = work.fitting(place)
    if kept == work.texts[place] or not kept or work.measure.count(kept) < segment.min:
        return False
    work.take(place, kept, "tail")
    return True


def _least_worth(work: _Work, roles: Sequence[Role]) -> list[int]:
    places = [place for place, segment in enumerate(work.segments) if segment.role in roles and segment.may_go]
    filled = [place for place in places if work.texts[place]]
    return sorted(filled, key=lambda place: (work.segments[place].weight / max(1, work.size(place)), -place))


def _cut_rest(work: _Work) -> None:
    """Shorten what may not be dropped: the rest first, then actions, identity last; of one kind the longest first."""
    order = {Role.ACTION: 1, Role.IDENTITY: 2}
    filled = [place for place, text in enumerate(work.texts) if text]
    places = sorted(filled, key=lambda place: (order.get(work.segments[place].role, 0), -work.size(place)))
    shorter = [(place, _least(work.texts[place], work.measure.count, work.segments[place].min)) for place in places]
    count = work.needed(shorter)
    for number, (place, least) in enumerate(shorter[:count], start=1):
        kept = work.fitting(place) if number == count else ""
        enough = kept and work.measure.count(kept) >= work.segments[place].min
        _cut(work, place, kept if enough else least)


def _cut(work: _Work, place: int, kept: str) -> None:
    if len(kept) < len(work.texts[place]):
        work.take(place, kept, "cut")
