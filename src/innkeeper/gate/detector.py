"""Detector: looks at every text that enters or leaves, and reports what it found without the text.

It changes nothing and decides nothing: `TierPolicy.judge` says what its findings mean in a tier. A guest that fails, a
`Classifier` that did not answer in time or an operator's expression, marks the scan ``failed``, which means review
(dynamic-prompting reference 3.2); a text that could not be checked against the lists in full is not ``whole``, which means
block.

It reads a text in every form that hides a word from a comparison but not from a reader (`innkeeper.text.confusables`), for ages
(`innkeeper.gate.ages`) and for words of classes in ten languages, and weighs what stands near what
(`innkeeper.gate.evidence`). What it found in a text is remembered by content.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from innkeeper.gate.ages.age import PERHAPS, Age
from innkeeper.gate.ages.grammar import read_ages
from innkeeper.gate.ages.numeric import read_numeric_ages
from innkeeper.gate.classifier import EMBEDDED, Classifier, ClassifierFailure, ImageClassifier, Waiter
from innkeeper.gate.endearments import without_endearments
from innkeeper.gate.evidence import AWAY, CONTEXTS, FAMILY, HINT, Mention, Weighed, weighed
from innkeeper.gate.kinship import beside_spouses, grown_since, kinship_phrases
from innkeeper.gate.limits import ADULT_AGE, CLASSIFIER_SECONDS, MAX_SCAN_CHARS, MAX_SPANS
from innkeeper.gate.tier import Extent, Relation, ScanFindings, Span
from innkeeper.gate.words.languages import Term
from innkeeper.gate.words.misspelling import put_right, unmasked
from innkeeper.gate.words.patterns import gate_pattern
from innkeeper.gate.words.tables import PACKAGED, tables
from innkeeper.gate.words.vocabulary import Hits, vocabulary_of
from innkeeper.prompt.allowance import allowed, charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.typed.once import once
from innkeeper.text.encodings import decoded, pig_latin
from innkeeper.text.offsets import SAME, SelectedRuns
from innkeeper.text.views import TURNS, TextView, turned_views, views_of

if TYPE_CHECKING:
    from innkeeper.gate.words.lexicon import Lexicon, Matcher

DETECTOR_VERSION: Final = "13"
"""Raised whenever folding, matching or the reading of ages changes what is found."""

_REMEMBERED: Final = 4_096
_REMEMBERED_BYTES: Final = 32 * 1024 * 1024
_SPAN_BYTES: Final = 400

_SEAM: Final = 120
"""So many characters on each side of where two texts meet are read as one."""

_TOGETHER: Final = 24
"""So many characters at most lie between a romance and whom it is with."""

_IN_PHRASE: Final = 0.6
_KIN: Final = "age_kin"
_ADULT: Final = "age_adult"


Named = tuple[tuple[str, str], ...]
"""Texts of a request by name, in their order."""


class Detector:
    """Detection lists compiled once, and a classifier where there is one. Threads may share it.

    The packaged lists are always part of it; ``lexicons`` add to them. ``languages`` leaves out entries of those lists that are
    for others only.
    """

    def __init__(
        self,
        lexicons: Iterable[Lexicon] = (),
        *,
        languages: Iterable[str] | None = None,
        classifier: Classifier | None = None,
        image_classifier: ImageClassifier | None = None,
        classifier_seconds: float = CLASSIFIER_SECONDS,
    ) -> None:
        added = tuple(lexicon.checked() for lexicon in lexicons)
        selected = None if languages is None else frozenset(languages)
        self.lexicon_version = "+".join((f"{PACKAGED}@{tables().version}", *(lexicon.label for lexicon in added)))
        self._entries = tuple(
            entry
            for lexicon in added
            for entry in lexicon.entries
            if selected is None or not entry.languages or not selected.isdisjoint(entry.languages)
        )
        self._matcher: Matcher | None = None
        if self._entries:
            # With the engine of patterns, which the packaged lists need not.
            from innkeeper.gate.words.lexicon import Matcher

            self._matcher = Matcher(self._entries)
        self._classifier, self._image_classifier = classifier, image_classifier
        self._waiter = Waiter(classifier_seconds)
        guests = [guest.label for guest in (classifier, image_classifier) if guest is not None]
        self.version = "+".join((DETECTOR_VERSION, EMBEDDED, *guests))
        self._seen: BoundedCache[str, ScanFindings] = BoundedCache(items=_REMEMBERED, size=_REMEMBERED_BYTES)
        self._joints: BoundedCache[tuple[str, str], str] = BoundedCache(items=_REMEMBERED, size=_REMEMBERED_BYTES)
        self._requests: BoundedCache[Named, ScanFindings] = BoundedCache(items=_REMEMBERED, size=_REMEMBERED_BYTES)

    def scan(self, text: str) -> ScanFindings:
        """What a text has in it. Raises nothing."""
        known = self._seen.get(text) if isinstance(text, str) else None
        return known or self._scan(text)

    def forget(self) -> None:
        """Forget what was found in texts before."""
        self._seen.clear()
        self._joints.clear()
        self._requests.clear()

    def scan_request(self, named: Named, make: Callable[[Named], ScanFindings]) -> ScanFindings:
        """What the texts of a request have in them together, as ``make`` says; asked once for all gates that share this."""
        if not all(isinstance(text, str) for _, text in named):
            return make(named)  # which says that the scan failed
        known = self._requests.get(named)
        if known is None:
            known = make(named)
            if not known.failed:
                self._requests.put(named, known, sum(len(text) for _, text in named) + len(known.spans) * _SPAN_BYTES)
        return known

    def _scan(self, text: str) -> ScanFindings:
        failed: list[str] = []
        result = Weighed([], {}, {}, ())
        scores: Mapping[str, float] = {}
        data, whole = b"", False
        try:
            data = text.encode("utf-8", "surrogatepass")
            if len(text) > MAX_SCAN_CHARS:
                failed.append("text_too_long")
            with allowed():
                result = weighed(self._mentions(text[:MAX_SCAN_CHARS], failed), text[:MAX_SCAN_CHARS])
            whole = len(text) <= MAX_SCAN_CHARS
            if (guest := self._classifier) is not None and whole:
                scores = self._ask(lambda: guest.scores(text), failed)
        except Exception as error:  # noqa: BLE001 - a scan that fails means review, never a way past it
            failed.append(type(error).__name__)
        made = self._findings(result, scores, failed, data, whole=whole, length=len(text) if whole else 0)
        if not failed:
            self._seen.put(text, made, len(data) + len(made.spans) * _SPAN_BYTES)
        return made

    def seam(self, before: str, after: str) -> ScanFindings | None:
        """What the end of a text and the beginning of the next one say together and neither says alone; places in the latter.

        None where there is nothing. Raises nothing.
        """
        tail, head = before[-_SEAM:], after[:_SEAM]
        if self._joints.get((tail, head)):
            return None
        collected: list[Mention] = []
        failed: list[str] = []
        try:
            joined = {glue: self._mentions(f"{tail}{glue}{head}", failed) for glue in ("", " ")}
            if any(joined.values()):  # most texts say nothing, together or alone
                ends, begins = self._mentions(tail, failed), self._mentions(head, failed)
                alone = {*ends}
                for glue, mentions in joined.items():
                    cut = len(tail) + len(glue)
                    alone.update(each._replace(start=each.start + cut, end=each.end + cut) for each in begins)
                    collected += [
                        each._replace(start=max(0, each.start - cut), end=max(1, each.end - cut))
                        for each in mentions
                        if each not in alone
                    ]
        except Exception as error:  # noqa: BLE001 - as in a scan
            failed.append(type(error).__name__)
        if not (collected or failed):
            self._joints.put((tail, head), "nothing", len(tail) + len(head))
            return None
        together = weighed(sorted(set(collected)), head)
        return self._findings(
            together, {}, failed, f"{tail}\0{head}".encode("utf-8", "surrogatepass"), length=len(after)
        )

    def scan_image(self, data: bytes) -> ScanFindings:
        """What a picture has in it, as its classifier says; without one it needs review. Raises nothing."""
        failed: list[str] = []
        guest = self._image_classifier
        scores: Mapping[str, float] = {}
        if guest is None:
            failed.append("no_image_classifier")
        else:
            scores = self._ask(lambda: guest.image_scores(data), failed)
        return self._findings(Weighed([], {}, {}, ()), scores, failed, data)

    def _mentions(self, text: str, failed: list[str]) -> list[Mention]:
        """All finds in all views, each once, in the order of the text."""
        mentions: list[Mention] = []
        turned: set[str] = set()
        seen = _Seen()
        mentions += [_mention(age, age.start, age.end) for age in read_numeric_ages(text)]
        plain: TextView | None = None
        for view in views_of(text):
            turned |= _read(view, text, mentions, seen)
            if self._matcher is not None:
                mentions += self._listed(view, failed, first=plain is None)
            if plain is None or view.shortened:
                plain = plain or view
                if (right := put_right(view)) is not None:
                    _read(right, text, mentions, seen)
        if (shown := unmasked(text)) is not None:
            for view in views_of(shown):
                _read(view, shown, mentions, seen)
        for way in sorted(turned):
            turned_text = "" if way == "back" else TURNS[way](text)
            for view in turned_views(text, way):
                _read(view, turned_text, mentions, seen)
        mentions += _hidden(text)
        if plain is not None:
            mentions += _in_phrases(text, plain, mentions)
        mentions.sort()  # costs less than hashing them; each is taken once
        kin = {(each.start, each.end) for each in mentions if each.category == _KIN}
        mentions = [
            each
            for each in mentions
            if (each.start, each.end) not in kin
            or each.category == _KIN
            or not gate_pattern("relative").fullmatch(each.subject)
        ]
        distinct = [each for each, before in zip(mentions, chain((None,), mentions), strict=False) if each != before]
        return without_endearments(text, _with_families(text, plain, _of_persons(plain, distinct)))

    def _listed(self, view: TextView, failed: list[str], *, first: bool) -> Iterator[Mention]:
        """The finds of operators' lists."""
        matcher = self._matcher
        if matcher is None:
            return
        from innkeeper.text.pyregex import PatternLimitError

        finds = list(matcher.finds(view))
        if first:
            try:
                finds += matcher.matches(view)
            except PatternLimitError:
                failed.append("regex_timeout")
        for find in finds:
            entry = self._entries[find.entry]
            start, end = view.source_span(find.start, find.end)
            yield Mention(start, end, entry.category, entry.id, entry.weight, own=False)

    def _ask(self, ask: Callable[[], Mapping[str, float]], failed: list[str]) -> Mapping[str, float]:
        try:
            return self._waiter.ask(ask)
        except ClassifierFailure as failure:
            failed.append(str(failure))
            return {}

    def _findings(
        self,
        weighed_mentions: Weighed,
        scores: Mapping[str, float],
        failed: list[str],
        data: bytes,
        *,
        whole: bool = True,
        length: int = 0,
    ) -> ScanFindings:
        ages, contexts = dict(weighed_mentions.ages), dict(weighed_mentions.contexts)
        everywhere = Extent(0, length)
        ages.update({"minor": everywhere} if scores.get("age", 0) >= _GUEST else {})
        contexts.update(
            {f"{name}:depicted": everywhere for name in ("sexual", "romantic") if scores.get(name, 0) >= _GUEST}
        )
        guessed = tuple(
            Relation.of(age, context, 0)
            for age, here in ages.items()
            for context, there in contexts.items()
            if everywhere in (here, there)
        )
        return ScanFindings(
            scores=FrozenDict(_combined(weighed_mentions.mentions, scores)),
            spans=_reported(weighed_mentions.mentions),
            detector_version=self.version,
            lexicon_version=self.lexicon_version,
            text_sha256=hashlib.sha256(data).hexdigest(),
            failed=",".join(failed),
            whole=whole,
            relations=(*weighed_mentions.relations, *(guessed if scores else ())),
            ages=FrozenDict(ages),
            contexts=FrozenDict(contexts),
            length=length,
        )


_PER_FIND: Final = 20
"""Steps that a find costs."""

_GUEST: Final = 0.4
"""From this score on, a guest's word for an age or a context counts."""


def _read(view: TextView, text: str, mentions: list[Mention], seen: _Seen) -> set[str]:
    """Put what the packaged lists find in a view to the finds; returns in which other ways the text seems to be written.

    A word that stands in this view as often as in another that was seen before is not placed again.
    """
    vocabulary = vocabulary_of(view)
    charge("gate", len(view.text) // 2)
    hits = vocabulary.hits(view)
    charge("gate", _PER_FIND * (len(hits.terms) + len(hits.numbers)))
    known = seen.known(hits)
    for start, end, term in hits.terms:
        if term not in known:
            mentions.append(
                Mention(*view.source_span(start, end), term.category, term.entry, term.weight, term.low, term.high)
            )
    mentions += [
        _mention(age, *view.source_span(age.start, age.end)) for age in read_ages(view, vocabulary, hits, text)
    ]
    return hits.turned


def _in_phrases(text: str, plain: TextView, mentions: list[Mention]) -> list[Mention]:
    """The ages in phrases that have gaps: a year at a school, and half the age of somebody who is told of near by."""
    mentioned = [
        Mention(*plain.source_span(*match.span()), "age", "age.school", _IN_PHRASE, 13, ADULT_AGE - 1)
        for match in gate_pattern("school_year").finditer(plain.text)
    ]
    for match in gate_pattern("half_age").finditer(text):
        start, end = match.span()
        whole = [each.low for each in mentions if each.category == _ADULT and abs(each.start - start) <= _SEAM]
        if whole and (half := min(whole) / 2) < ADULT_AGE:
            mentioned.append(Mention(start, end, "age", "age.half", _IN_PHRASE, half, half))
    return mentioned


def _hidden(text: str) -> Iterator[Mention]:
    """The finds of what is written in a code, read as a text of its own, whose signs tell counts from ages."""
    if (plain := decoded(text)) is not None:
        positions = SelectedRuns(plain.starts, plain.olds, SAME)
        for each in _plainly(plain.text):
            first, last = positions.span(each.start, each.end - 1)
            yield each._replace(start=first, end=last + 1)
    for shown in pig_latin(text):
        yield from (each._replace(start=0, end=len(text)) for each in _plainly(shown))


def _plainly(text: str) -> list[Mention]:
    """The finds of the packaged lists in the plain view of a text."""
    mentions = [_mention(age, age.start, age.end) for age in read_numeric_ages(text)]
    _read(next(views_of(text)), text, mentions, _Seen())
    return mentions


class _Seen:
    """How often the words of a text stood in one of its views; they are counted when there is one more."""

    __slots__ = ("_counts", "_last")

    def __init__(self) -> None:
        self._counts: dict[Term, int] = {}
        self._last: Hits | None = None

    def known(self, hits: Hits) -> Container[Term]:
        """The terms that are no more often in a view than in one before."""
        last, self._last = self._last, hits
        if last is None:
            return ()
        counts = self._counts
        for term, count in Counter(term for _, _, term in last.terms).items():
            counts[term] = max(count, counts.get(term, 0))
        return {
            term for term, count in Counter(term for _, _, term in hits.terms).items() if count <= counts.get(term, 0)
        }


def _mention(age: Age, start: int, end: int) -> Mention:
    _, _, low, high, certainty, kind, subject = age
    category = HINT if kind == PERHAPS else _ADULT if low >= ADULT_AGE else _KIN if subject == "kin" else "age"
    return Mention(start, end, category, _entry(kind), certainty, low, high, subject)


@cache
def _entry(kind: str) -> str:
    """The id of a kind of form in decisions; there are as many as the data of languages has kinds."""
    return f"age.{kind.partition('+')[0].replace(' ', '_')}"


def _of_persons(plain: TextView | None, mentions: list[Mention]) -> list[Mention]:
    """The mentions without words of romance that are of a thing: of chess, of the sea."""
    if plain is None or not any(each.category == "romantic" for each in mentions):
        return mentions
    loved = [
        plain.source_span(*match.span())
        for name in ("loves_thing", "told_children")
        for match in gate_pattern(name).finditer(plain.text)
    ]
    return [
        each
        for each in mentions
        if each.category != "romantic" or not any(start <= each.end and each.start < end for start, end in loved)
    ]


def _is_together(text: str, depicted: list[int], start: int) -> bool:
    """Whether somebody is told of as the one with whom a romance is: ``a romantic evening with the toddler``."""
    at = bisect_right(depicted, start)
    return (
        at > 0
        and start - depicted[at - 1] <= _TOGETHER
        and bool(gate_pattern("together").search(text, depicted[at - 1], start))
    )


def _with_families(text: str, plain: TextView | None, mentions: list[Mention]) -> list[Mention]:
    """The mentions, with those words of age set apart that only tell of a family, and of children who are asleep or away."""
    if plain is None or not any(each.category in _OF_FAMILIES for each in mentions):
        return mentions
    contexts = [(each.start, each.end) for each in mentions if each.category in CONTEXTS]
    depicted = sorted(end for _, end in contexts)

    def spans(extents: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        return sorted(span for span in extents if not _is_together(text, depicted, span[0]))

    matches = () if gate_pattern("of_their_age").search(plain.text) else gate_pattern("away").finditer(plain.text)
    away = spans(plain.source_span(*match.span()) for match in matches)
    abroad = (match.span() for match in gate_pattern("family_abroad").finditer(text))
    within = [*kinship_phrases(plain.text), *beside_spouses(plain, contexts)]
    families = spans((*(plain.source_span(*extent) for extent in within), *abroad, *grown_since(text, contexts)))
    if not (away or families):
        return mentions

    def set_apart(each: Mention) -> Mention:
        if each.own and each.category in _OF_FAMILIES and _is_within(each, away):
            return each._replace(category=AWAY)
        if each.own and each.category in _WORDS_OF_AGE and _is_within(each, families):
            return each._replace(category=FAMILY)
        return each

    return [set_apart(each) for each in mentions]


def _is_within(each: Mention, spans: list[tuple[int, int]]) -> bool:
    at = bisect_right(spans, (each.start, _BEYOND)) - 1
    return at >= 0 and each.end <= spans[at][1]


_BEYOND: Final = 2**31
_WORDS_OF_AGE: Final = frozenset({"age", "age_setting"})
_OF_FAMILIES: Final = _WORDS_OF_AGE | {FAMILY, _KIN}


def _reported(mentions: list[Mention]) -> tuple[Span, ...]:
    """As many finds as are told: the first of each entry, so that none is drowned by another, and then the others."""
    if len(mentions) > MAX_SPANS:
        first = {(each.entry, each.category): each for each in reversed(mentions)}
        mentions = list(dict.fromkeys((*first.values(), *mentions)))[:MAX_SPANS]
    ordered = sorted(mentions, key=itemgetter(0, 1, 3))  # by where they begin and end, and by their entries
    return tuple(_span(each) for each in ordered)


def _span(each: Mention) -> Span:
    category = "age" if each.category == _KIN else each.category
    if not each.high:
        return Span(each.start, each.end, category, each.entry, each.weight)
    return Span(
        each.start,
        each.end,
        category,
        each.entry,
        each.weight,
        low=round(each.low, 2),
        high=round(each.high, 2),
        subject=each.subject,
    )


def _combined(mentions: Iterable[Mention], scores: Mapping[str, float]) -> dict[str, float]:
    """``1 - Π(1 - w)`` for each category, over the entries found (each once, however often) and the classifier."""
    left: dict[str, float] = {category: 1 - score for category, score in scores.items()}
    for _, name, weight in {(each.entry, each.category, each.weight) for each in mentions}:
        category = "age" if name == _KIN else name
        left[category] = left.get(category, 1.0) * (1 - weight)
    return {category: round(1 - rest, 6) for category, rest in sorted(left.items())}


@once
def default_detector() -> Detector:
    """The detector with the packaged lists alone."""
    return Detector()
