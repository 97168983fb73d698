"""Detector: looks at every text that enters or leaves, and reports what it found without the text.

It changes nothing and decides nothing: `TierPolicy.judge` says what its findings mean in a tier. A guest that fails, a
`Classifier` that did not answer in time or an operator's expression, marks the scan ``failed``, which means review
(dynamic-prompting reference 3.2); a text that could not be checked against the lists in full is not ``whole``, which means
block.

Ages are years of life below adulthood, written in figures or words, and age words. One that speaks of somebody's family ("they
raised two children") is ``age_family`` instead of ``age``: beside romantic words alone it asks for a review in the general tier,
where any other age word is a block. Beside sexual words, and in the adult tier, it blocks like all others. The phrases of family
are few on purpose; anything else stays a block. English only; other languages come as entries of detection lists.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol, runtime_checkable

from innkeeper.library.limits import ADULT_AGE, CLASSIFIER_SECONDS, CLASSIFIERS_AT_ONCE, MAX_SCAN_CHARS, MAX_SPANS
from innkeeper.library.tier import ScanFindings, Span
from innkeeper.library.tiers.lexicon import Find, Lexicon, LexiconEntry, Matcher, builtin_lexicon
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.once import once
from innkeeper.text.confusables import View, views_of
from innkeeper.text.pyregex import PatternLimitError

__all__ = [
    "AGE_FAMILY",
    "DETECTOR_VERSION",
    "Classifier",
    "ClassifierFailure",
    "Detector",
    "ImageClassifier",
    "Waiter",
    "ages_in",
    "default_detector",
    "kin_in",
]

DETECTOR_VERSION: Final = "2"
"""Raised whenever folding, matching or the reading of ages changes what is found."""

AGE_FAMILY: Final = "age_family"
"""The category of age words that tell of somebody's family (`innkeeper.library.tiers.detector`)."""

_AGED: Final = frozenset({"age", "age_setting"})
_AGE: Final = LexiconEntry(id="age.years", pattern="", category="age", weight=0.9)


class Detector:
    """Detection lists compiled once, and a classifier where there is one. Threads may share it.

    The packaged list is always part of it; ``lexicons`` add to it. ``languages`` leaves out entries of those lists that are
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
        floor = builtin_lexicon()
        wanted = None if languages is None else frozenset(languages)
        self.lexicon_version = "+".join(lexicon.label for lexicon in (floor, *added))
        entries = (
            *floor.entries,
            *(entry for lexicon in added for entry in lexicon.entries if _is_spoken(entry, wanted)),
        )
        self._own = len(floor.entries)
        self._matcher = Matcher(entries)
        self._entries = (*entries, _AGE)
        self._classifier, self._image_classifier = classifier, image_classifier
        self._waiter = Waiter(classifier_seconds)
        guests = [guest.label for guest in (classifier, image_classifier) if guest is not None]
        self.version = "+".join((DETECTOR_VERSION, *guests))

    def scan(self, text: str) -> ScanFindings:
        """What a text has in it. Raises nothing."""
        failed: list[str] = []
        spans: list[Span] = []
        scores: Mapping[str, float] = {}
        data, whole = b"", False
        try:
            data = text.encode("utf-8", "surrogatepass")
            if len(text) > MAX_SCAN_CHARS:
                failed.append("text_too_long")
            spans = self._spans(text[:MAX_SCAN_CHARS], failed)
            whole = len(text) <= MAX_SCAN_CHARS
            if (guest := self._classifier) is not None and whole:
                scores = self._ask(lambda: guest.scores(text), failed)
        except Exception as error:  # noqa: BLE001 - a scan that fails means review, never a way past it
            failed.append(type(error).__name__)
        return self._findings(spans, scores, failed, data, whole=whole)

    def scan_image(self, data: bytes) -> ScanFindings:
        """What a picture has in it, as its classifier says; without one it needs review. Raises nothing."""
        failed: list[str] = []
        guest = self._image_classifier
        scores: Mapping[str, float] = {}
        if guest is None:
            failed.append("no_image_classifier")
        else:
            scores = self._ask(lambda: guest.image_scores(data), failed)
        return self._findings([], scores, failed, data)

    def _spans(self, text: str, failed: list[str]) -> list[Span]:
        """All finds in all views, each once, in the order of the text."""
        entries = self._entries
        found: set[tuple[int, int, int]] = set()
        plain: View | None = None
        for view in views_of(text):
            for find in self._finds(view, failed, first=plain is None):
                found.add((*view.place(find.start, find.end), find.entry))
            plain = plain or view
        kin = self._kin(plain, found)
        return [
            Span(
                start,
                end,
                kin.get((start, end, entry), entries[entry].category),
                entries[entry].id,
                entries[entry].weight,
            )
            for start, end, entry in sorted(found)
        ]

    def _kin(self, plain: View | None, found: set[tuple[int, int, int]]) -> dict[tuple[int, int, int], str]:
        """The finds of the packaged list that only tell of somebody's family. Lists of operators mean what they say."""
        aged = [find for find in found if find[2] < self._own and self._entries[find[2]].category in _AGED]
        if not aged or plain is None:
            return {}
        places = [plain.place(*place) for place in kin_in(plain.text)]
        return {find: AGE_FAMILY for find in aged if any(start <= find[0] and find[1] <= end for start, end in places)}

    def _finds(self, view: View, failed: list[str], *, first: bool) -> Iterator[Find]:
        yield from self._matcher.finds(view)
        if not first:
            return
        yield from (Find(len(self._entries) - 1, *place) for place in ages_in(view.text))
        try:
            yield from self._matcher.matches(view)
        except PatternLimitError:
            failed.append("regex_timeout")

    def _ask(self, ask: Callable[[], Mapping[str, float]], failed: list[str]) -> Mapping[str, float]:
        try:
            return self._waiter.ask(ask)
        except ClassifierFailure as failure:
            failed.append(str(failure))
            return {}

    def _findings(
        self, spans: list[Span], scores: Mapping[str, float], failed: list[str], data: bytes, *, whole: bool = True
    ) -> ScanFindings:
        return ScanFindings(
            scores=FrozenDict(_combined(spans, scores)),
            spans=_told(spans),
            detector_version=self.version,
            lexicon_version=self.lexicon_version,
            text_sha256=hashlib.sha256(data).hexdigest(),
            failed=",".join(failed),
            whole=whole,
        )


def _is_spoken(entry: LexiconEntry, languages: frozenset[str] | None) -> bool:
    return languages is None or not entry.languages or not languages.isdisjoint(entry.languages)


def _told(spans: list[Span]) -> tuple[Span, ...]:
    """As many finds as are told: the first of each entry, so that none is drowned by another, and then the others."""
    if len(spans) <= MAX_SPANS:
        return tuple(spans)
    first = {(span.entry, span.category): span for span in reversed(spans)}
    chosen = list(dict.fromkeys((*first.values(), *spans)))[:MAX_SPANS]
    return tuple(sorted(chosen, key=lambda span: (span.start, span.end)))


def _combined(spans: Iterable[Span], scores: Mapping[str, float]) -> dict[str, float]:
    """``1 - Π(1 - w)`` for each category, over the entries found (each once, however often) and the classifier."""
    left: dict[str, float] = {category: 1 - score for category, score in scores.items()}
    for _, category, weight in {(span.entry, span.category, span.weight) for span in spans}:
        left[category] = left.get(category, 1.0) * (1 - weight)
    return {category: round(1 - rest, 6) for category, rest in sorted(left.items())}


@once
def default_detector() -> Detector:
    """The detector with the packaged list alone."""
    return Detector()


@runtime_checkable
class Classifier(Protocol):
    """Judges texts. ``label`` is its name and version, as decisions write it. May raise or hang: then a scan needs review."""

    label: str

    def scores(self, text: str, /) -> Mapping[str, float]:
        """A score from 0 to 1 for each category it knows."""
        ...


@runtime_checkable
class ImageClassifier(Protocol):
    """Judges pictures, as `Classifier` judges texts."""

    label: str

    def image_scores(self, data: bytes, /) -> Mapping[str, float]:
        """A score from 0 to 1 for each category it knows."""
        ...


class ClassifierFailure(Exception):  # noqa: N818 - it never leaves the detector, which turns it into a reason
    """Why a classifier gave no usable scores: its message is the reason."""


class Waiter:
    """Asks classifiers, each in a thread of its own that is not waited for longer than ``seconds``."""

    def __init__(self, seconds: float = CLASSIFIER_SECONDS, at_once: int = CLASSIFIERS_AT_ONCE) -> None:
        self.seconds = seconds
        self._free = threading.BoundedSemaphore(at_once)

    def ask(self, ask: Callable[[], Mapping[str, float]]) -> dict[str, float]:
        """The scores, checked. Raises `ClassifierFailure`."""
        if not self._free.acquire(timeout=self.seconds):
            raise ClassifierFailure("classifier_busy")
        answer: list[Any] = []
        thread = threading.Thread(target=self._run, args=(ask, answer), daemon=True, name="innkeeper-classifier")
        thread.start()
        thread.join(self.seconds)
        if not answer:
            raise ClassifierFailure("classifier_timeout" if thread.is_alive() else "classifier_error")
        return _checked(answer[0])

    def _run(self, ask: Callable[[], Any], answer: list[Any]) -> None:
        try:
            answer.append(ask())
        except BaseException:  # noqa: BLE001 - whatever a guest raises, the scan goes to review
            return
        finally:
            self._free.release()


def _checked(scores: Any) -> dict[str, float]:
    if not isinstance(scores, Mapping):
        raise ClassifierFailure("classifier_error")
    try:
        found = {str(name): float(score) for name, score in scores.items()}
    except (TypeError, ValueError, OverflowError):
        raise ClassifierFailure("classifier_error") from None
    if not all(0 <= score <= 1 for score in found.values()):
        raise ClassifierFailure("classifier_error")
    return found


_WORDS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)
_NUMBERS: Final = {word: number for number, word in enumerate(_WORDS.split(" "))}
_A_YEAR: Final = {"y": 1, "m": 12, "w": 52, "d": 366}
"""How many of a unit make a year, by the unit's first letter."""

_UNIT: Final = r"(?P<unit>y|m|w|d)(?:(?:ea)?rs?|onths?|eeks?|ays?)"
_HALF: Final = r"(?: and (?:a )?(?:half|quarter|three quarters))?"
_OLD: Final = re.compile(rf"\b(?P<number>\w{{1,9}}){_HALF} {_UNIT} old\b")
_FIGURES: Final = re.compile(rf"\b(?P<number>\d{{1,4}}) ?(?:{_UNIT} ?(?:old|of age)|y ?o)\b")
_AGE_OF: Final = re.compile(r"\b(?:age (?:of|is|was|about|around|only)|aged?|ages) (?P<number>\w{1,9})\b(?P<unit>)")
_THINGS: Final = (
    "seconds|minutes|hours|days|weeks|months|percent|degrees|dollars|euros|pounds|miles|met|feet|inch|points|kilo"
)
_UNDER: Final = re.compile(
    rf"\b(?:under|below|younger than) (?:the age of )?(?P<number>1[0-8]|eighteen)\b(?P<unit>)(?! (?:{_THINGS}))"
)
_TURNED: Final = re.compile(
    rf"\bturn(?:s|ed|ing)? (?P<number>1[0-7]|\w{{3,9}}teen|ten|eleven|twelve)\b(?P<unit>)(?! (?:{_THINGS}|pages|times|of))"
)
_NEARLY: Final = re.compile(rf"\b(?:not yet|almost|nearly|soon) (?:18|eighteen)\b(?! (?:{_THINGS}))")
_ORDINAL: Final = (
    r"(?:1?\d(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
    r"|(?:thir|four|fif|six|seven)teenth)"
)
_BIRTHDAY: Final = re.compile(rf"\b{_ORDINAL}(?<!18th)(?<!19th) birthday\b")
_GRADE: Final = re.compile(rf"\b{_ORDINAL} grade(?:rs?)?\b")
_GATES: Final = (
    (_OLD, " old"),
    (_FIGURES, "y"),
    (_AGE_OF, "age"),
    (_UNDER, "under"),
    (_UNDER, "below"),
    (_UNDER, "younger"),
    (_TURNED, "turn"),
    (_NEARLY, "18"),
    (_NEARLY, "eighteen"),
    (_BIRTHDAY, " birthday"),
    (_GRADE, " grade"),
)
"""Each expression with a text without which it finds nothing: asking for that first is much cheaper."""

_ALWAYS: Final = frozenset({_UNDER, _NEARLY, _BIRTHDAY, _GRADE})
"""Expressions whose matches are all below adulthood."""


def ages_in(text: str) -> Iterator[tuple[int, int]]:
    """Where a folded plain text gives an age below adulthood, or speaks of being under a limit up to it."""
    for pattern, gate in _GATES:
        if gate in text:
            yield from (match.span() for match in pattern.finditer(text) if pattern in _ALWAYS or _is_young(match))


def _is_young(match: re.Match[str]) -> bool:
    number = match["number"]
    age = int(number) if number.isdecimal() else _NUMBERS.get(number)
    return age is not None and age < ADULT_AGE * _A_YEAR[match["unit"] or "y"]


_NUMBER: Final = r"no|an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}|many|several|some|any|more"
_OTHER: Final = "other|young|small|grown|healthy|own|their|his|her|our|my|your"
_FEW: Final = rf"(?:(?:{_NUMBER}|{_OTHER}) ){{0,3}}"
_KIN: Final = (
    r"(?:child|children|kids?|infants?|toddlers?)\b"
    r"(?! (?:s )?(?:lovers?|brides?|grooms?|girlfriends?|boyfriends?|wi(?:fe|ves)|husbands?|dates?|partners?|sweethearts?"
    r"|romantic|romance|flirt|sedu|kiss))"
)
_PARENT: Final = r"(?:grand)?(?:fathers?|mothers?|parents?|ma|pa|mum|mom|dad)"
_SITTER: Final = rf"(?:(?:baby ?)?sitter|nanny|aunt|uncle|{_PARENT})"
_PHRASES: Final = (
    rf"(?:had|has|have|having|bore|bears?|bearing|expecting) (?:(?:him|her|them|us) )?{_FEW}{_KIN}",
    rf"(?:rais|adopt|babysit|father)(?:es?|s|ed|ing|ting|t)? (?:the )?{_FEW}{_KIN}",
    rf"(?:look|looks|looked|looking) after (?:the )?{_FEW}{_KIN}",
    rf"{_PARENT} (?:of|to) (?:the )?{_FEW}{_KIN}",
    rf"(?:widow|widower|couple|family|single {_PARENT}) with {_FEW}{_KIN}",
    rf"{_SITTER} (?:watch|mind|keep|kept|take|took|ha)(?:s|es|ed|d|ing)? (?:the )?{_FEW}{_KIN}",
    r"(?:the )?(?:children|kids) (?:fell|are|were|got|get) (?:ill|sick|asleep|away|home|hungry|grown)\b",
    r"(?:the )?(?:child|children) of (?:the |these |two )?(?:lovers|couple|parents)\b",
    r"for (?:children|kids) and (?:adults|parents|grown ups)\b",
    r"(?:high |middle |old )?school (?:reunions?|boards?|fees)\b",
)
_ALL: Final = re.compile(rf"\b(?:{'|'.join(_PHRASES)})")
_GATE: Final = re.compile("child|kid|infant|toddler|school")


def kin_in(text: str) -> Iterator[tuple[int, int]]:
    """Where a folded plain text tells of a family; asked only where an age word was found."""
    if _GATE.search(text):
        yield from (match.span() for match in _ALL.finditer(text))
