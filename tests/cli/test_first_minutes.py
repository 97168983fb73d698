"""The first minutes: what the page shows is what a terminal shows, and no width loses anything."""

import importlib.util
import re
import sys
from types import ModuleType

import pytest

from tests.shared import ROOT


@pytest.fixture(scope="module")
def minutes() -> ModuleType:
    """The script that plays them."""
    spec = importlib.util.spec_from_file_location("first_minutes", ROOT / "scripts" / "first_minutes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


WORDS = re.compile(r"[A-Za-z0-9{}_]+")


def test_the_page_is_current(minutes: ModuleType) -> None:
    """The first steps, played again, are on the page as they are shown."""
    page = minutes.PAGE.read_text("utf-8")
    for step, code, shown in minutes.play(80, minutes.STEPS[1:4]):
        assert code == step.code, shown
        lines = [line.rstrip() for line in minutes.plain(shown).strip("\n").splitlines()]
        assert "\n".join(lines) in page


@pytest.mark.parametrize(
    "words",
    [("card", "show", "wenna.png"), pytest.param(("tokens", "--all", "hello"), marks=pytest.mark.endurance)],
    ids=lambda words: words[0],
)
def test_nothing_is_lost_in_a_narrow_terminal(minutes: ModuleType, words: tuple[str, ...]) -> None:
    """Of 40 columns: every word that a wide terminal shows is there."""
    steps = (minutes.Step("", words),)
    narrow, wide = (minutes.play(columns, steps) for columns in (40, 160))
    for (step, _, few), (_, _, many) in zip(narrow, wide, strict=True):
        missing = set(WORDS.findall(minutes.plain(many))) - set(WORDS.findall(minutes.plain(few)))
        assert not missing, f"{step.words}: {missing}"


@pytest.mark.endurance
@pytest.mark.parametrize("columns", [40, 80, 160])
def test_all_steps(minutes: ModuleType, columns: int) -> None:
    """Each ends with the exit code that it must have, whatever the width."""
    for step, code, shown in minutes.play(columns):
        assert code == step.code, shown


@pytest.mark.endurance
def test_the_whole_page_is_current(minutes: ModuleType) -> None:
    """As the script writes it."""
    assert minutes.page() == minutes.PAGE.read_text("utf-8")
