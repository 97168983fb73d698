"""The first minutes: what the page shows is what a terminal shows, and no width loses anything."""

import re

import pytest

from scripts import first_minutes

WORDS = re.compile(r"[A-Za-z0-9{}_]+")


def test_the_page_is_current() -> None:
    """The first steps, played again, are on the page as they are shown."""
    page = first_minutes.PAGE.read_text("utf-8")
    for step, code, shown in first_minutes.play(80, first_minutes.STEPS[1:4]):
        assert code == step.code, shown
        lines = [line.rstrip() for line in first_minutes.plain(shown).strip("\n").splitlines()]
        assert "\n".join(lines) in page


@pytest.mark.parametrize(
    "words",
    [("card", "show", "wenna.png"), pytest.param(("tokens", "--all", "hello"), marks=pytest.mark.endurance)],
    ids=lambda words: words[0],
)
def test_nothing_is_lost_in_a_narrow_terminal(words: tuple[str, ...]) -> None:
    """Of 40 columns: every word that a wide terminal shows is there."""
    steps = (first_minutes.Step("", words),)
    narrow, wide = (first_minutes.play(columns, steps) for columns in (40, 160))
    for (step, _, few), (_, _, many) in zip(narrow, wide, strict=True):
        missing = set(WORDS.findall(first_minutes.plain(many))) - set(WORDS.findall(first_minutes.plain(few)))
        assert not missing, f"{step.words}: {missing}"


@pytest.mark.endurance
@pytest.mark.parametrize("columns", [40, 80, 160])
def test_all_steps(columns: int) -> None:
    """Each ends with the exit code that it must have, whatever the width."""
    for step, code, shown in first_minutes.play(columns):
        assert code == step.code, shown


@pytest.mark.endurance
def test_the_whole_page_is_current() -> None:
    """As the script writes it."""
    assert first_minutes.page() == first_minutes.PAGE.read_text("utf-8")
