"""Budgets: how much room a prompt has, apart from how much a model may write; and a text cut to fit its room.

``target_budget`` belongs to the consumer of the prompt (an image model, say), ``max_output_tokens`` to the call that writes it;
neither is ever taken for the other. A text is cut after a sentence, a clause or a word, never inside a word or a group
(``(long, golden:1.2)``) (dynamic-prompting reference 4.5).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from innkeeper.library.errors import OverBudgetError
from innkeeper.library.models.emphasis import groups, outside
from innkeeper.library.models.facts import ROOM, Measure, TokenizerSpec
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import ConfigError


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
    start = "" if overflow == "error" else cut_text(text, lambda part: budget.fits(part, measure))
    if not start:
        raise OverBudgetError(measure.most(text), budget.target, budget.unit)
    return Fitted(start, measure.count(start), text[len(start) :])


_SENTENCE_END: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*(?=\s|$)|[。！？]+[」』）]*|\n+")
_CLAUSE_END: Final = re.compile(r"(?<!\s)\s*[,;:、，；](?=\s|$)|(?<=[、，；])")
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
        positions = _ends(text, spans, ends)
        start = _longest(text, positions[: bisect_right(positions, len(word))], fits)
        if len(start) >= _WORTH * len(word) and start.strip():
            return start.rstrip()
    return word.rstrip(" ,;:\t\n")


def _ends(text: str, spans: tuple[tuple[int, int], ...], ends: re.Pattern[str]) -> list[int]:
    """Where a text may end, outside of its groups."""
    return outside([match.start() if ends is _CLAUSE_END else match.end() for match in ends.finditer(text)], spans)


def least_text(text: str, size: Callable[[str], int], least: int) -> str:
    """The beginning that is kept of a text at least: so much of it, or its first word or group."""
    first = next(iter(_ends(text, groups(text), _WORD_END)), len(text))
    return cut_text(text, lambda part: size(part) <= max(least, 1)) or text[:first]


def _longest(text: str, ends: Sequence[int], fits: Callable[[str], bool]) -> str:
    """The longest beginning up to one of ``ends`` that fits, where longer ones are larger; what it gives always fits."""
    count = bisect_right(ends, False, key=lambda end: not fits(text[:end]))  # noqa: FBT003 - a search among truth values
    return text[: ends[count - 1]] if count else ""
