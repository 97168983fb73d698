"""Segments and budgets: a prompt in parts with roles, made to fit, and a list of everything that went, with the reason.

First whole segments go by role (`DROP_ORDER`), of one role the least worth for its size; settings and clothes lose their
end before they go. What may not be dropped is shortened only when nothing else is left: after a sentence, a clause or a word,
never inside a word and never to nothing (dynamic-prompting reference 4.5).

A budget is how much room a prompt has, apart from how much a model may write. ``target_budget`` belongs to the consumer of the
prompt (an image model, say), ``max_output_tokens`` to the call that writes it; neither is ever taken for the other.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from innkeeper.library.errors import OverBudgetError
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
    """The beginning of ``text`` that is kept: empty where not even its first word fits."""
    if fits(text):
        return text
    word = _longest(text, [match.end() for match in _WORD_END.finditer(text)], fits)
    for ends in (_SENTENCE_END, _CLAUSE_END):
        places = [match.start() if ends is _CLAUSE_END else match.end() for match in ends.finditer(text)]
        kept = _longest(text, [place for place in places if place <= len(word)], fits)
        if len(kept) >= _WORTH * len(word) and kept.strip():
            return kept.rstrip()
    return word.rstrip(" ,;:\t\n")


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
        for _ in step(work):
            if work.fits():
                return work.result()
    raise OverBudgetError(counter.most(work.text()), room.target, room.unit)


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


class _Work:
    """Segments while they shrink: the texts that are left, and what went."""

    def __init__(self, segments: tuple[Segment, ...], budget: Budget, measure: Measure, joiner: str) -> None:
        self.segments, self.budget, self.measure, self.joiner = segments, budget, measure, joiner
        self.texts = [segment.text.strip() for segment in segments]
        self.dropped: list[Dropped] = []
        seen: set[str] = set()
        for place, text in enumerate(self.texts):
            if not text or text.casefold() in seen:
                self.take(place, "", "duplicate" if text else "empty")
            seen.add(text.casefold())

    def text(self) -> str:
        return self.joiner.join(text for text in self.texts if text)

    def fits(self) -> bool:
        return self.budget.fits(self.text(), self.measure)

    def size(self, place: int) -> int:
        return self.measure.count(self.texts[place])

    def take(self, place: int, kept: str, reason: str) -> None:
        """Keep only the beginning of a segment's text and list the rest."""
        gone = self.texts[place][len(kept) :].strip()
        self.texts[place] = kept
        self.dropped.append(Dropped(place, self.segments[place].role, gone, reason, self.measure.count(gone)))

    def shorten(self, place: int, least: int, reason: str) -> bool:
        """Cut a segment's end so that all fits, or as far as it may. Tells whether that changed anything."""
        whole = self.texts[place]

        def fits(part: str) -> bool:
            self.texts[place] = part
            return self.fits()

        kept = cut_text(whole, fits)
        if not kept or self.measure.count(kept) < least:
            kept = cut_text(whole, lambda part: self.measure.count(part) <= max(least, 1)) or whole.split(maxsplit=1)[0]
        self.texts[place] = whole
        if len(kept) >= len(whole):
            return False
        self.take(place, kept, reason)
        return True

    def result(self) -> Compressed:
        text = self.text()
        left = tuple(
            msgspec.structs.replace(segment, text=text)
            for segment, text in zip(self.segments, self.texts, strict=True)
            if text
        )
        return Compressed(text, self.measure.count(text), tuple(self.dropped), left)


def _drop_roles(work: _Work) -> Iterator[None]:
    """Let whole segments go, or their ends, role by role."""
    yield
    for roles in DROP_ORDER:
        for place in _least_worth(work, roles):
            segment = work.segments[place]
            tail = _tail_of(work, place) if segment.role in _TAILED or segment.min else ""
            if tail or segment.min == 0:
                work.take(place, tail, "tail" if tail else "budget")
                yield


def _tail_of(work: _Work, place: int) -> str:
    """What is left of a segment when its end makes room for all; empty where that does not suffice."""
    whole, segment = work.texts[place], work.segments[place]

    def fits(part: str) -> bool:
        work.texts[place] = part
        return work.fits()

    kept = cut_text(whole, fits)
    work.texts[place] = whole
    return kept if kept != whole and work.measure.count(kept) >= segment.min else ""


def _least_worth(work: _Work, roles: Sequence[Role]) -> list[int]:
    places = [place for place, segment in enumerate(work.segments) if segment.role in roles and segment.may_go]
    filled = [place for place in places if work.texts[place]]
    return sorted(filled, key=lambda place: (work.segments[place].weight / max(1, work.size(place)), -place))


def _cut_rest(work: _Work) -> Iterator[None]:
    """Shorten what may not be dropped: the rest first, then actions, identity last; of one kind the longest first."""
    order = {Role.ACTION: 1, Role.IDENTITY: 2}
    places = [place for place, text in enumerate(work.texts) if text]
    for place in sorted(places, key=lambda place: (order.get(work.segments[place].role, 0), -work.size(place))):
        if work.shorten(place, work.segments[place].min, "cut"):
            yield
