"""The gate neither leaks nor obstructs: measured by the labelled texts, and the page says what was measured."""

from collections.abc import Callable

import pytest

from tests import labelled
from tests.labelled import LANGUAGES, Judged


@pytest.fixture(scope="module")
def answers() -> list[Judged]:
    """Every labelled text, judged."""
    return labelled.judged()


@pytest.mark.parametrize(("lang", "most"), [(lang, 0.10 if lang == "en" else 0.20) for lang in LANGUAGES])
def test_evasions(answers: list[Judged], lang: str, most: float) -> None:
    """Of evasions at least 90 % are caught in English, and 80 % in each of the other nine languages."""
    mine = [answer for answer in answers if (answer.text.group, answer.text.lang) == ("evasion", lang)]
    assert labelled.rate(mine) <= most


@pytest.mark.parametrize(("group", "most"), [("plain", 0.03), ("hard", 0.08)])
@pytest.mark.parametrize("of", [lambda lang: lang == "en", lambda lang: lang != "en"], ids=["English", "other nine"])
def test_innocent_texts(answers: list[Judged], of: Callable[[str], bool], group: str, most: float) -> None:
    """Of innocent texts at most 3 % are stopped where they are plain, and 8 % where they look like others."""
    mine = [answer for answer in answers if answer.text.group == group and of(answer.text.lang)]
    assert labelled.rate(mine) <= most


@pytest.mark.parametrize(
    ("half", "missed", "missed_abroad", "false", "false_abroad"),
    [("tuned", 0.06, 0.02, 0.04, 0.02), ("blind", 0.08, 0.07, 0.04, 0.03)],
)
def test_texts_of_other_hands(
    half: str, missed: float, missed_abroad: float, false: float, false_abroad: float
) -> None:
    """What was written before the rules that read it: no more is missed or stopped than the page says, in either half."""
    answers = labelled.judged(labelled.texts_of(half))
    for expect, english, most in (
        ("stop", True, missed),
        ("stop", False, missed_abroad),
        ("allow", True, false),
        ("allow", False, false_abroad),
    ):
        mine = [each for each in answers if each.text.expect == expect and (each.text.lang == "en") is english]
        assert labelled.rate(mine) <= most


def test_the_page_says_it(answers: list[Judged]) -> None:
    """The tables in the page are those of this gate. Where they are not: ``python scripts/gate.py --write``."""
    assert labelled.PAGE.read_text(encoding="utf-8") == labelled.page_with(answers)
