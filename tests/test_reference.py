"""The pages of the reference are those of the source: every variable of the environment, every error."""

from __future__ import annotations

import re

import pytest

from innkeeper.prompt.errors import InnkeeperError
from scripts import reference
from tests.shared import ROOT

SOURCES = sorted((ROOT / "src" / "innkeeper").rglob("*.py"))


@pytest.mark.parametrize("page", reference.PAGES)
def test_pages_are_of_today(page: str) -> None:
    """Each page is what ``python scripts/reference.py`` writes."""
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == reference.PAGES[page]()


def test_every_variable_is_listed() -> None:
    """The table has exactly the variables that the source reads, beside those that settings make."""
    text = "\n".join(source.read_text(encoding="utf-8") for source in SOURCES)
    ours = set(re.findall(r"\"(_?INNKEEPER_[A-Z_]*[A-Z])\"", text))
    read = set(re.findall(r"environ(?:\.get\(|\[)\"(\w+)\"", text))
    assert ours | read == reference.ENVIRONMENT.keys()


def test_every_error_says_how_to_mend_it() -> None:
    """The page has a row for each class of the tree, with a sentence on when and one on how to mend it."""
    rows = [line.split(" | ") for line in reference.errors().splitlines() if "<br>" in line]
    assert len(rows) == len(list(reference._tree(InnkeeperError, 0)))
    assert all(len(when) > 1 and len(mend) > 1 for _, when, mend, *_ in rows)
