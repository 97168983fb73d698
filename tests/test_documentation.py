"""Tests that the pages keep what is promised of them. That their examples run is tested by running them."""

import re
from pathlib import Path

import pytest

from tests.shared import ROOT

HOW_TO = sorted(page for page in (ROOT / "docs" / "how-to").glob("*.md") if page.stem != "index")


def blocks(page: Path) -> list[list[str]]:
    """The lines of each Python block of a page, blank ones left out."""
    found = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [[line for line in text.splitlines() if line.strip()] for text in found]


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_short(page: Path) -> None:
    """Adding something takes fewer than 30 lines."""
    assert 0 < len(blocks(page)[0]) < 30


def test_first_example() -> None:
    """The README shows the library in at most 20 lines."""
    assert len(blocks(ROOT / "README.md")[0]) <= 20


def test_every_page_is_reached() -> None:
    """Links between the pages and in the papers of the repository lead to files that exist."""
    papers = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    pages = [page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts]
    for page in [*papers, *pages]:
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert "://" in link or (page.parent / link).exists(), f"{page.name}: {link}"
