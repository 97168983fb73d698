"""The labelled texts that the tier gate is measured by: enough of them, of every kind, and made again as they are."""

from collections import Counter

import pytest

from innkeeper.library import TextKind
from tests import labelled
from tests.labelled import LANGUAGES, Judged, Labelled
from tests.vectors.tiers import grow

TEXTS = list(labelled.texts())


def test_enough() -> None:
    """At least 1,500 texts, no two of them the same."""
    assert len(TEXTS) >= 1500
    twice = [text for text, count in Counter((str(text.texts), text.tiers) for text in TEXTS).items() if count > 1]
    assert not twice


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_language_has_both_sides(lang: str) -> None:
    """Evasions, plain and hard innocent texts, in each language."""
    groups = Counter(text.group for text in TEXTS if text.lang == lang)
    assert min(groups[name] for name in ("evasion", "plain", "hard")) >= 20


def test_a_good_part_of_what_is_written_by_hand_is_held_out() -> None:
    """What was looked at has moved to the others; the newest set stands apart, and is as mixed."""
    by_source = Counter((text.source, text.group) for text in TEXTS)
    for group in ("evasion", "plain", "hard"):
        apart = by_source[labelled.HELD_OUT, group]
        assert apart >= max(20, (by_source["hand", group] + apart) // 10)
    assert {text.lang for text in TEXTS if text.source == labelled.HELD_OUT} == set(LANGUAGES)


def test_grown_again() -> None:
    """The file holds what its rules make of its phrases."""
    assert (labelled.FOLDER / "grown.jsonl").read_text(encoding="utf-8") == grow.lines()


def test_what_is_wrong() -> None:
    """An evasion is missed where one tier lets it pass; a false alarm is what one tier stops."""
    evasion = Labelled("hand", "plain", "en", "stop", {TextKind.USER_TEXT: "x"}, tiers=("sfw", "nsfw"))
    innocent = Labelled("hand", "family", "en", "allow", {TextKind.USER_TEXT: "x"})
    assert Judged(evasion, {"sfw": False, "nsfw": True}).wrong
    assert not Judged(evasion, {"sfw": False, "nsfw": False}).wrong
    assert Judged(innocent, {"sfw": False}).wrong
    assert not Judged(innocent, {"sfw": True}).wrong
    assert labelled.rate([Judged(innocent, {"sfw": False}), Judged(innocent, {"sfw": True})]) == 0.5
