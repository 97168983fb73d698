"""The detector: what evades a list of words is found, what is harmless is not, and what fails is never a way past."""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.detector import Detector, default_detector
from innkeeper.gate.gate import Thresholds, TierPolicy
from innkeeper.gate.limits import MAX_SCAN_CHARS, MAX_SPANS
from innkeeper.gate.tier import Ceilings, Decision, Tier, combined, effective_tier
from innkeeper.gate.words.lexicon import Lexicon, LexiconEntry, Matcher
from innkeeper.text.views import views_of

OPEN, ADULT = TierPolicy(adult_enabled=True), Ceilings(account=Tier.NSFW)


def decide(text: str, tier: str = "sfw") -> str:
    """The decision about a text where the operator and the account allow all there is."""
    return effective_tier(tier, ADULT, policy=OPEN, detection=default_detector().scan(text)).decision.value


HARMLESS = (
    "adult penguins in a classroom",
    "adult penguins on an ice shelf",
    "town map of Essex",
    "classic",
    "a classic car in a first-class carriage",
    "Middlesex, Sussex and Wessex",
    "the naked eye sees the moon",
    "handle it with kid gloves",
    "a sonata in a minor key",
    "teenth, kidney, childlike wonder, minority report",
    "children play in the schoolyard",
    "sex education in the classroom",
    "a romantic comedy for all ages",
    "a dinner for two lovers of cheese",
    "20 years old, aged 21, 30yo",
    "section 4.5.6 a b c d e",
    "",
)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_texts_pass(text: str) -> None:
    """Ordinary sentences pass in the general tier, whatever their words resemble."""
    assert decide(text) == "allow"


EVASIONS = (
    "a nude child",
    "a ｎｕｄｅ ｃｈｉｌｄ",
    "a n u d e  c h i l d",
    "a nu\u200bde ch\u200dild",
    "a nud3 ch1ld",
    "a nudе сhild",  # Cyrillic letters
    "a n.u.d.e c-h-i-l-d",
    "a nuuuude chiiiild",
    "A NUDE CHILD",
    "𝓃𝓊𝒹ℯ 𝒸𝒽𝒾𝓁𝒹",
    "ɴᴜᴅᴇ ᴄʜɪʟᴅ",
    "a nüdé chîld",
    "classic classic classic, a nude child in Essex",
    "sexual, 16 years old",
    "sexual, a sixteen-year-old",
    "sexual, aged 15",
    "sexual, １６yo",
    "romantic dinner of two teenagers",
    "erotica in a high\nschool",
    "a nude &#x63;hild",
    "a nude c&#104;ild",
    "a nude %63hild",
    "a nude \\u0063hild",
    "a nude c&#8203;h\\u{69}ld",
)


@pytest.mark.parametrize("text", EVASIONS)
@pytest.mark.parametrize("tier", ["sfw", "nsfw"])
def test_evasions_are_blocked_in_every_tier(text: str, tier: str) -> None:
    """Age-indicating with sexual or romantic content is a hard block, however it is written."""
    assert decide(text, tier) == "block"


@pytest.mark.parametrize(
    "text", ["a child", "in the classroom", "17 years old", "8 months old", "nobody under 18 here"]
)
def test_ages_are_blocked_in_the_adult_tier(text: str) -> None:
    """In the adult tier what indicates an age is enough."""
    assert decide(text, "nsfw") == "block"
    assert decide(text) == "allow"


@pytest.mark.parametrize(
    "text", ["under 15 minutes", "under ten dollars", "in an age of heroes", "some years old", "page 12"]
)
def test_figures_that_are_no_ages(text: str) -> None:
    """A number beside such a word is not always an age."""
    assert default_detector().scan(text).score("age") == 0


def test_exceptions_cover_their_own_find_only() -> None:
    """A harmless phrase takes nothing away from the same word elsewhere in the text."""
    found = default_detector().scan("nude lipstick, and a nude study")
    assert [(span.start, span.end) for span in found.spans] == [(21, 25)]


def test_findings_hold_no_text() -> None:
    """Hashes and places, no words of the text."""
    text = "Marigold Ashby is nude"
    found = default_detector().scan(text)
    told = msgspec.json.encode(found).decode()
    assert "Marigold" not in told
    assert [text[span.start : span.end] for span in found.spans] == ["nude"]
    assert len(found.text_sha256) == 64
    assert found.lexicon_version == "detection-general@6+7+9"


def lexicon(*entries: LexiconEntry, version: str = "1") -> Lexicon:
    """An operator's list."""
    return Lexicon("mine", version, entries)


def entry(pattern: str, **more: object) -> LexiconEntry:
    """An entry of it."""
    return msgspec.convert(
        {"id": f"e.{pattern}", "pattern": pattern, "category": "mine", "weight": 0.5, **more}, LexiconEntry
    )


def test_scores_combine_entries_once() -> None:
    """``1 - Π(1 - w)`` over the entries found, each once however often."""
    detector = Detector([lexicon(entry("amber"), entry("cobalt", weight=0.2))])
    assert detector.scan("amber amber cobalt").score("mine") == pytest.approx(0.6)
    assert detector.scan("amber amber").score("mine") == pytest.approx(0.5)
    assert detector.lexicon_version == "detection-general@6+7+9+mine@1"


def test_an_operators_list_takes_nothing_away() -> None:
    """The packaged list stays, whatever an added one says of the same words."""
    detector = Detector([lexicon(entry("child", category="age", weight=0.01, allow_contexts=("nude child",)))])
    found = detector.scan("a nude child")
    assert effective_tier("sfw", policy=TierPolicy(), detection=found).decision is Decision.BLOCK


@pytest.mark.parametrize(
    ("made", "text", "score"),
    [
        (entry("blue moon", kind="phrase"), "a blue-moon", 0.5),
        (entry("blue moon", kind="phrase"), "a bluemoon", 0),
        (entry("mond", languages=("de",)), "der Mond", 0.5),
        (entry("lune", languages=("fr",)), "la lune", 0),
        (entry("月"), "在月亮下", 0.5),
        (entry(r"mo+n\b", kind="regex"), "the MOOON", 0.5),
        (entry(r"mo+n\b", kind="regex", allow_contexts=("honey moon",)), "honey moon", 0),
        (entry(r"x*", kind="regex"), "moon", 0),
        (entry("moon", allow_contexts=("honey moon",)), "the moon, honey moon", 0.5),
    ],
    ids=[
        "phrase",
        "not a phrase",
        "language",
        "other language",
        "unspaced",
        "regex",
        "context",
        "empty match",
        "one of two",
    ],
)
def test_kinds_of_entries(made: LexiconEntry, text: str, score: float) -> None:
    """Words, phrases and expressions, by language, with their contexts."""
    assert Detector([lexicon(made)], languages=("de", "en")).scan(text).score("mine") == score


def test_expressions_that_take_too_long_need_review() -> None:
    """An expression that backtracks for ever is stopped, and the scan is marked failed."""
    found = Detector([lexicon(entry(r"(a+)+$", kind="regex"))]).scan("a" * 5000 + "b")
    assert found.failed == "regex_timeout"


class Guest:
    """A classifier that does what it is told."""

    label = "guest@1"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def scores(self, text: object, /) -> Mapping[str, float]:
        """What was given, or raised."""
        if isinstance(self.answer, BaseException):
            raise self.answer
        if self.answer == "hang":
            time.sleep(0.5)
        return self.answer  # type: ignore[return-value]

    image_scores = scores


def test_a_classifier_adds_to_the_scores() -> None:
    """Its scores combine with the list's, and its name is in the version."""
    detector = Detector(classifier=Guest({"sexual": 0.5, "other": 0.25}))
    found = detector.scan("nude")
    assert dict(found.scores) == {"other": 0.25, "sexual": 0.75}
    assert found.detector_version.endswith("+guest@1")
    assert not found.failed


@pytest.mark.parametrize(
    "answer",
    [ValueError("x"), SystemExit(), None, {"a": 2}, {"a": float("nan")}, {"a": "x"}, [("a", 1)], "hang"],
    ids=["raises", "exits", "nothing", "range", "nan", "text", "list", "hangs"],
)
def test_a_classifier_that_fails_means_review(answer: object) -> None:
    """Whatever a guest does: the scan is failed, closed above ``sfw``, and the list's finds still count."""
    found = Detector(classifier=Guest(answer), classifier_seconds=0.05).scan("nude")
    assert found.failed in {"classifier_error", "classifier_timeout"}
    assert found.score("sexual") == 0.5
    assert not effective_tier("nsfw", ADULT, policy=OPEN, detection=found).passed


def test_classifiers_that_hang_do_not_pile_up() -> None:
    """Once as many hang as may be waited for, a scan fails at once instead of starting another."""
    detector = Detector(classifier=Guest("hang"), classifier_seconds=0.001)
    reasons = {detector.scan("x").failed for _ in range(12)}
    assert reasons == {"classifier_timeout", "classifier_busy"}


def test_pictures_need_a_classifier() -> None:
    """Without one they need review; with one its scores count."""
    assert Detector().scan_image(b"x").failed == "no_image_classifier"
    assert Detector(image_classifier=Guest({"sexual": 0.9})).scan_image(b"x").score("sexual") == pytest.approx(0.9)


def test_texts_too_long_need_review() -> None:
    """A text beyond the limit is looked at up to it, and marked."""
    found = default_detector().scan("nude " + "x" * MAX_SCAN_CHARS)
    assert found.failed == "text_too_long"
    assert found.score("sexual") == 0.5


def test_finds_told_are_bounded() -> None:
    """Of very many finds only some are told."""
    assert len(default_detector().scan("nude " * 1000).spans) == MAX_SPANS


def test_what_is_no_text_fails() -> None:
    """Even a wrong type gives findings that mean review."""
    assert default_detector().scan(None).failed == "AttributeError"  # type: ignore[arg-type]


@given(st.text(max_size=200))
def test_any_text_is_scanned(text: str) -> None:
    """Whatever the text: no failure, and places within it."""
    found = default_detector().scan(text)
    assert not found.failed
    assert all(0 <= span.start < span.end <= len(text) for span in found.spans)
    assert all(0 < score <= 1 for score in found.scores.values())


def test_no_entries_find_nothing() -> None:
    """A matcher without words has nothing to look for."""
    assert Matcher(()).finds(next(views_of("nude"))) == []


def test_texts_are_judged_together() -> None:
    """A child in a card and a sexual message are blocked together, and each find says where it is."""
    scans = [("card", default_detector().scan("a child")), ("user_text", default_detector().scan("something sexual"))]
    found = combined(scans)
    assert effective_tier("sfw", policy=TierPolicy(), detection=found).decision is Decision.BLOCK
    assert {span.source for span in found.spans} == {"card", "user_text"}


NEUTRAL = (
    "The doctor explained sexual health to the parents of teenagers.",
    "Sex education is taught in middle school.",
    "The infant was breastfed and slept through the night.",
    "The paediatrician weighed the baby, 8 months old.",
    "Give children under 12 half the dose.",
    "A 12-year-old whisky, aged in oak barrels.",
    "Aged 12 months, the cheese is sharp.",
    "The prince was crowned at age 9, in the thirteenth century.",
    "At the age of 17 she joined the resistance.",
    "The school play has a minor role for a girl.",
    "Naked mole rats live with their infants.",
    "Cooking school for kids: how to bake a pie.",
    "A teenage boy fixes his bike in the playground.",
    "The king's mistress bore him two children.",
    "He was a lover of books and father of two children.",
    "She flirts with disaster every time she babysits the kids.",
    "Two lovers of chess teach at the primary school.",
    "Her love affair with jazz began as a child.",
    "The seductive smell of bread drew the children in.",
    "Teen drama without romance.",
    "Same-sex parents and their children.",
    "The biological sex of the infant was recorded at birth.",
    "The young girl learns the violin in a minor key.",
    "On his 16th birthday he got a guitar; he had turned the pages of a 5th grade songbook for years.",
)
"""Family, history, medicine, cooking."""


@pytest.mark.parametrize("text", NEUTRAL)
def test_neutral_texts_pass(text: str) -> None:
    """Plain sentences of every kind pass in the general tier without a review."""
    assert decide(text) == "allow"


FAMILIES = (
    "The lovers had three children and lived by the sea.",
    "My grandparents had a long romance and raised five kids.",
    "Their romantic holiday ended when the children fell ill.",
    "A film with a little romance, for children and adults.",
    "A romance that begins at a high school reunion.",
    "The couple planned a romantic dinner while a sitter watched the kids.",
    "Widow with two children finds romance again.",
    "Keep romance alive after having kids.",
    "In the myth the child of the lovers becomes king.",
)


@pytest.mark.parametrize("text", FAMILIES)
def test_families_beside_romance_are_for_review(text: str) -> None:
    """A family in a romantic story passes in the general tier, marked; never in the adult tier, never beside sexual words."""
    assert decide(text) == "review"
    assert effective_tier("sfw", policy=TierPolicy(), detection=default_detector().scan(text)).passed
    assert decide(text, "nsfw") == decide(f"{text} Something sexual.") == "block"


@pytest.mark.parametrize(
    "text",
    [
        "a romantic dinner with a child",
        "she flirts with the kid",
        "the child had lovers",
        "they had a child lover and a romance",
        "the lovers had three children, and one child flirts with him",
        "a romance of two teenagers who had no children",
        "a romance in a high school",
        "a romantic evening; she is 16 years old and has two kids",
        "the lovers of children",
        "romance, raised as a teen",
    ],
)
def test_romance_with_a_minor_is_a_block(text: str) -> None:
    """One find that is no family is enough."""
    assert decide(text) == "block"


def test_families_of_several_texts() -> None:
    """A family in one text does not cover an age in another."""
    texts = ("The lovers had three children.", "She is sixteen years old.")
    found = combined((str(number), default_detector().scan(text)) for number, text in enumerate(texts))
    assert effective_tier("sfw", policy=TierPolicy(), detection=found).decision is Decision.BLOCK


def test_policies_about_ages_count_families() -> None:
    """An operator's rule about ages sees those of families too."""
    found = default_detector().scan("They raised two children.")
    assert TierPolicy(sfw={"age": Thresholds(review=0.5)}).judge(found, Tier.SFW).decision is Decision.REVIEW
    assert TierPolicy(absolute=frozenset({"age"})).judge(found, Tier.SFW).decision is Decision.BLOCK


@pytest.mark.parametrize(
    "text",
    [
        "sexual, twelve and a half years old",
        "sexual, her age was 15",
        "sexual, just turned 16",
        "sexual, on her 16th birthday",
        "sexual, not yet 18",
        "sexual, a 10th grader",
        "a nude middle-schooler",
        "a nude, junior high",
        "nudes of a tween",
    ],
)
def test_ages_in_other_words(text: str) -> None:
    """Birthdays, grades, halves of years."""
    assert decide(text) == "block"


def test_an_entry_with_a_packaged_id_adds_to_it() -> None:
    """An operator's entry that bears the id of a packaged one does not stand in its place."""
    added = lexicon(
        LexiconEntry(id="age.child", pattern="child", category="mine", weight=0.01),
        LexiconEntry(id="sexual.nude", pattern="nude", category="mine", weight=0.01),
    )
    found = Detector([added]).scan("a nude child")
    assert effective_tier("sfw", policy=TierPolicy(), detection=found).decision is Decision.BLOCK


def test_a_text_that_was_not_seen_whole_is_blocked() -> None:
    """Behind very much text nothing gets past: what the lists were not held against passes in no tier."""
    found = default_detector().scan("x " * MAX_SCAN_CHARS + "a nude child")
    decision = effective_tier("sfw", policy=TierPolicy(), detection=found)
    assert decision.decision is Decision.BLOCK
    assert decision.reasons[0].startswith("detector:text_too_long")  # on a slow machine the allowance says so too
    both = combined([("a", default_detector().scan("x")), ("b", found)])
    assert not effective_tier("sfw", policy=TierPolicy(), detection=both).passed


def test_the_same_words_in_two_texts_count_once() -> None:
    """A word that a template repeats does not weigh more than one that the user wrote once."""
    scans = [(name, default_detector().scan("a nude study")) for name in ("user_text", "system_prompt")]
    assert combined(scans).scores == {"sexual": 0.5}
    other = ("history", default_detector().scan("lingerie"))
    assert combined([*scans, other]).score("sexual") == pytest.approx(0.7)


def test_no_find_is_drowned() -> None:
    """Behind very many finds of one entry the others are still told."""
    found = default_detector().scan("nude " * 1000 + "child")
    assert {span.category for span in found.spans} == {"sexual", "age"}


@pytest.mark.parametrize("text", ["0.233529653: 1", "room 455, then 80085", "call 257920600", "0.456148288: 2"])
def test_numbers_are_no_words(text: str) -> None:
    """Digits stand for letters beside letters alone: a number, however long, holds no word and no age."""
    assert not default_detector().scan(text).spans
