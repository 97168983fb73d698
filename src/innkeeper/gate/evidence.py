"""Evidence: what stands in a text about ages and contexts, how near they are, and what the contexts are.

Ages are ``minor``, ``kin`` (a number of years of somebody's child), ``family`` (a word of age that tells of a family),
``setting`` (a place of childhood) or ``hint`` (a thing of childhood, which counts where no adult's age is told around it).
Contexts are ``sexual``, ``romantic`` and the absolute categories, each ``depicted``, ``doubtful`` or ``reported`` by the words of
lessons, clinics, courts and newspapers around it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Final, NamedTuple

from innkeeper.gate.ages.age import NUMBERED
from innkeeper.gate.classifier import depiction
from innkeeper.gate.tier import Extent, Relation
from innkeeper.gate.unattached import unattached_words
from innkeeper.gate.words.patterns import gate_pattern
from innkeeper.text.automaton import is_unspaced

ABSOLUTE: Final = frozenset({"age_ambiguous", "minor_sexual", "non_consent", "real_person_sexual", "trafficking"})
"""Categories that block whatever the tier, the account or the settings. A policy adds to them and takes none away."""

CONTEXTS: Final = frozenset({"romantic", "sexual"})
"""Categories that make age-indicating content a hard block, in every tier."""

FAMILY: Final = "age_family"
"""The category of age words that tell of somebody's family."""

AWAY: Final = "age_away"
"""The category of words of age for a family's children who are asleep, away, or have a part at a wedding."""

REPORTED: Final = "reported"
"""The category of words of sex that are spoken about and not depicted."""

HINT: Final = "age_hint"
"""The category of things of childhood, such as a lunchbox: weak evidence, which only holds."""

_AROUND: Final = 240
"""So many characters on each side tell how a word is meant."""

_OWN: Final = 0.5
"""From this weight on, the words of lessons and clinics in a sentence of its own let those around it count."""

_LABEL_WORDS: Final = 2
_LABEL_CHARACTERS: Final = 24
_LABEL_SIGNS: Final = 4
_LABEL_LOOKED_AT: Final = 64
"""A part of a sentence no longer than this, between commas, only names something: it tells nothing of the rest. In scripts
that have no blanks between words it is counted in signs."""

_DEPICTED: Final = 0.6
_DOUBTFUL: Final = 0.42
_STRONG: Final = 0.6
"""Words of sex of this weight are hardly ever used in another sense."""

_SPOUSE: Final = 0.6
"""Words of this weight among those of adults are of husband and wife."""

_BARRED: Final = "age.barred"
"""A limit below which nobody is (``no characters under eighteen``): it indicates ages, and is the age of nobody."""

_COUNTS: Final = 0.4
"""From this weight on, a word makes a context or an age."""


class Mention(NamedTuple):
    """A word or an age that was found: places of the text as it was given, and what it means."""

    start: int
    end: int
    category: str
    entry: str
    weight: float
    low: float = 0
    high: float = 0
    subject: str = ""
    own: bool = True
    """Whether it is of the packaged lists; those of operators mean what they say."""


class Weighed(NamedTuple):
    """Mentions with what their surroundings make of them, and how ages and contexts lie to one another."""

    mentions: list[Mention]
    ages: dict[str, Extent]
    contexts: dict[str, Extent]
    relations: tuple[Relation, ...]


class _Sums:
    """Weights of the words of one class by place, each place once."""

    def __init__(self, mentions: Iterable[Mention]) -> None:
        best: dict[int, float] = {}
        for each in mentions:
            best[each.start] = max(each.weight, best.get(each.start, 0.0))
        self.best_at = best
        self.starts = sorted(best)
        self.sums = [0.0, *accumulate(best[start] for start in self.starts)]

    def around(self, start: int, end: int) -> float:
        return self.within(start - _AROUND, end + _AROUND)

    def within(self, start: int, end: int) -> float:
        """The weights of the words that begin from one place to another."""
        first = bisect_left(self.starts, start)
        return self.sums[max(first, bisect_right(self.starts, end))] - self.sums[first]

    def best(self, start: int, end: int) -> float:
        """The weight of the weightiest word around a place."""
        if not self.starts:
            return 0.0
        first, last = bisect_left(self.starts, start - _AROUND), bisect_right(self.starts, end + _AROUND)
        return max((self.best_at[at] for at in self.starts[first : min(last, first + _LOOKED_AT)]), default=0.0)


class _CueWindow:
    """What lessons, clinics, courts and newspapers say around a word, in a text.

    What is said in the word's own sentence counts, and, where that is anything, what is said around it. An innocent word that
    only stands beside ``others`` ("…, museum"), unattached by grammar, tells nothing of them (dynamic-prompting reference, S9).
    What asks for ``advice`` ("how do I explain") asks it of what was said before, and counts from another sentence.
    """

    def __init__(
        self, text: str, words: Iterable[Mention], advice: Iterable[Mention], others: Iterable[Mention]
    ) -> None:
        self._sentences = [0, *(one.end() for one in _SENTENCE_END.finditer(text)), len(text) + 1]
        self._parts = [0, *(one.end() for one in _PART_END.finditer(text)), len(text) + 1]
        self._text = text
        known = list(words)
        unattached = unattached_words(text, ((*_span(each), each.weight) for each in known), map(_span, others))
        known = [each for each in known if each.start not in unattached] if unattached else known
        self._advice = _Sums(advice)
        self._all = _Sums(known)
        self._cues = _Sums(each for each in known if not self._is_label(each.start))

    def around(self, start: int, end: int) -> float:
        """The weight of what is told of a word."""
        first, last = _bounds(self._sentences, start)
        own, after = _bounds(self._parts, start)
        labels = self._all.within(own, after - 1) - self._cues.within(own, after - 1)
        labels += self._advice.within(end, end + _AROUND)
        inside = labels + self._cues.within(max(first, start - _AROUND), min(last - 1, end + _AROUND))
        return labels + self._cues.around(start, end) if inside >= _OWN else inside

    def _is_label(self, index: int) -> bool:
        first, last = _bounds(self._parts, index)
        if last - first > _LABEL_LOOKED_AT:
            return False
        part = _ARTICLE.sub("", self._text[first:last].strip(_ENDS))
        most = _LABEL_SIGNS if any(map(is_unspaced, part)) else _LABEL_CHARACTERS
        return len(part) <= most and len(part.split()) <= _LABEL_WORDS


def _span(each: Mention) -> tuple[int, int]:
    return each.start, each.end


def _bounds(ends: Sequence[int], index: int) -> tuple[int, int]:
    at = bisect_right(ends, index)
    return ends[at - 1], ends[min(at, len(ends) - 1)]


_SENTENCE_END: Final = re.compile(r"[.!?。！？…\n]+")
_PART_END: Final = re.compile(r"[.!?。！？…\n,，、;；]+")
_ARTICLE: Final = re.compile(r"^(?:an?|the) ", re.IGNORECASE)
_ENDS: Final = " .!?。！？…\n,，、;；"

_LOOKED_AT: Final = 64
_JUDGED: Final = CONTEXTS | ABSOLUTE
_BESIDE: Final = ("cue", "age", "age_setting", FAMILY, "age_kin", HINT, "age_adult")
"""With what is judged, the classes that an innocent word may stand beside unattached."""

_LINKED: Final = 32
"""So many characters at most lie between a word of age and the romance that it is part of."""

_AGES: Final = {
    "age": "minor",
    "age_setting": "setting",
    FAMILY: "family",
    AWAY: "family",
    "age_kin": "kin",
    HINT: "hint",
}


def weighed(mentions: Sequence[Mention], text: str) -> Weighed:
    """What the mentions of a text mean together. Linear in their number and the text, but for sorting."""
    classes: dict[str, list[Mention]] = {}
    for each in mentions:
        classes.setdefault(each.category, []).append(each)
    ages: dict[str, list[tuple[int, int]]] = {}
    for category, kind in _AGES.items():
        mine = classes.get(category, [])
        if category == HINT and mine:
            grown = _Sums(classes.get("age_adult", ()))
            mine = [each for each in mine if not grown.best(each.start, each.end)]
        if spans := [(each.start, each.end) for each in mine if each.weight >= _COUNTS and each.entry != _BARRED]:
            ages.setdefault(kind, []).extend(spans)
    contexts, reported = _contexts(classes, text)
    romances = {each.start for each in classes.get("romantic", ())}
    grown_ups = [  # an ``adult lover`` is whom somebody loves, and stands between nobody
        _span(each)
        for name in ("adult", "age_adult")
        for each in classes.get(name, ())
        if each.entry != "adult.adult" or each.end + 1 not in romances
    ]
    if bystanders := _bystanders(classes.get("age", ()), contexts, text, grown_ups):
        ages["minor"] = [span for span in ages["minor"] if span not in bystanders]
        ages = {
            **{kind: spans for kind, spans in ages.items() if spans},
            "family": [*ages.get("family", ()), *bystanders],
        }
    relations = relations_of(ages, contexts) if ages and contexts else ()
    counted = [each for each in mentions if each.category not in _SILENT]
    if reported:
        counted = [each for each in counted if each not in reported]
        counted += [each._replace(category=REPORTED) for each in reported]
    return Weighed(counted, _extents(ages), _extents(contexts), relations)


def _bystanders(
    aged: Iterable[Mention],
    contexts: Mapping[str, list[tuple[int, int]]],
    text: str,
    grown_ups: Sequence[tuple[int, int]],
) -> set[tuple[int, int]]:
    """The words of age that are beside a romance of adults, and no part of it: in another clause, or behind who is loved.

    What a number tells is always part of it, and so is everything where sex is depicted.
    """
    romances = {name: spans for name, spans in contexts.items() if name.startswith("romantic:")}
    if not romances or "sexual:depicted" in contexts:
        return set()
    alone = "romantic:depicted" in romances  # then only of many children it is certain that they look on
    spans = [span for listed in romances.values() for span in listed]
    words = {
        (each.start, each.end)
        for each in aged
        if gate_pattern("many").fullmatch(each.entry) or not (alone or each.entry.startswith(NUMBERED))
    }
    if any(each.entry.startswith(NUMBERED) and not gate_pattern("many").fullmatch(each.entry) for each in aged):
        return set()
    return {word for word in words if not any(_are_linked(text, word, span, grown_ups) for span in spans)}


def _are_linked(text: str, one: tuple[int, int], other: tuple[int, int], grown_ups: Sequence[tuple[int, int]]) -> bool:
    """Whether two places are in one clause, near one another, with no adult between them."""
    first, last = sorted((one, other))
    if any(first[1] <= start and end <= last[0] for start, end in grown_ups):
        return False
    gap = text[first[1] : last[0]]
    return len(gap) <= _LINKED and gate_pattern("clause_end").search(gap) is None


_SILENT: Final = frozenset({"educational", "advice", "cue", "adult", "age_adult", HINT})
"""Classes that say how others are meant; they are no finds of their own."""


def _contexts(classes: Mapping[str, list[Mention]], text: str) -> tuple[dict[str, list[tuple[int, int]]], set[Mention]]:
    """The places of each context by ``category:state``, and the mentions that are only reported."""
    spans: dict[str, list[tuple[int, int]]] = {}
    reported: set[Mention] = set()
    judged = [each for name in _JUDGED for each in classes.get(name, ()) if each.weight >= _COUNTS]
    if not judged:
        return spans, reported
    adult, lessons = _Sums(classes.get("adult", ())), classes.get("educational", [])
    advice = classes.get("advice", []) if "age_kin" in classes else []  # those who ask it are of the family
    windows: tuple[_Sums, _Sums, _CueWindow] | tuple[()] = ()
    if lessons or advice:
        others = chain(judged, *(classes.get(name, ()) for name in _BESIDE))
        windows = (_Sums(judged), _Sums(classes.get("cue", ())), _CueWindow(text, lessons, advice, others))
    for each in judged:
        start, end = each.start, each.end
        chance = 1.0
        if each.own and windows:
            sexual, cue, educational = (sums.around(start, end) for sums in windows)
            chance = depiction(sexual, cue, educational, strong=each.category == "sexual" and each.weight >= _STRONG)
        if (
            each.own
            and each.category == "sexual"
            and each.weight < _STRONG
            and gate_pattern("form_field").match(text, end)
        ):
            chance = 0.0
        state = "depicted" if chance >= _DEPICTED else "doubtful" if chance >= _DOUBTFUL else REPORTED
        if state == "depicted" and each.category == "romantic" and (grown := adult.best(start, end)):
            state = "married" if grown >= _SPOUSE else "grown"
        if state == REPORTED or (state == "doubtful" and each.category in ABSOLUTE):
            reported.add(each)
        spans.setdefault(f"{each.category}:{state}", []).append((start, end))
    return spans, reported


def _extents(spans: Mapping[str, list[tuple[int, int]]]) -> dict[str, Extent]:
    return {name: Extent(min(start for start, _ in each), max(end for _, end in each)) for name, each in spans.items()}


def relations_of(
    ages: Mapping[str, list[tuple[int, int]]], contexts: Mapping[str, list[tuple[int, int]]]
) -> tuple[Relation, ...]:
    """For each kind of age and each context how near they come, in characters."""
    ordered = {name: sorted(extents) for name, extents in (*ages.items(), *contexts.items())}
    return tuple(
        Relation.of(age, context, _nearest(ordered[age], ordered[context])) for age in ages for context in contexts
    )


def _nearest(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> int:
    """The least distance between two sorted lists of places, 0 where they touch."""
    one, other = iter(some), iter(others)
    (start, end), (begin, stop) = next(one), next(other)
    least = abs(start - begin)
    while least > 0:
        apart = begin - end if begin > end else start - stop
        if apart < least:
            least = max(0, apart)
        following = next(one if start <= begin else other, None)
        if following is None:
            break
        if start <= begin:
            start, end = following
        else:
            begin, stop = following
    return least
