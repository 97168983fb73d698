"""The pictures in the documentation: of the terminal what the commands print today, of the inspector the example of today."""

from __future__ import annotations

import re

import pytest

from innkeeper.jobs.job import NEXT
from scripts import diagrams, inspector_pictures, pictures
from tests.shared import ROOT

PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))


def lines(picture: str) -> list[str]:
    """What stands in a picture."""
    return re.findall(r"<text [^>]*>(.*?)</text>", picture)


def test_every_picture_is_drawn() -> None:
    """The folder has the pictures that the script draws, each small and without an address to fetch from."""
    assert [one.stem for one in PICTURES] == sorted([*pictures.COMMANDS, *diagrams.DIAGRAMS])
    for one in PICTURES:
        text = one.read_text(encoding="utf-8")
        assert len(text) < 60_000
        assert not re.search(r"url\((?!#)|@import|<script|xlink:href", text)


@pytest.mark.slow
@pytest.mark.parametrize("name", pictures.COMMANDS)
def test_pictures_are_of_today(name: str) -> None:
    """``python scripts/pictures.py`` draws each as it is, whatever version of the drawing library is here."""
    assert lines(pictures.picture(name)) == lines(
        (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("what", ["example", "pictures"])
def test_pictures_of_the_inspector_were_taken_together(what: str) -> None:
    """They show the example as it is, and none was put there by hand; of which page they are, a release looks at."""
    assert inspector_pictures.taken()[what] == inspector_pictures.digests()[what], inspector_pictures.AGAIN


@pytest.mark.parametrize("name", diagrams.DIAGRAMS)
def test_diagrams_are_of_today(name: str) -> None:
    """``python scripts/diagrams.py`` draws each as it is, and dark where the reader's system is."""
    text = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    assert text == diagrams.DIAGRAMS[name]()
    assert "prefers-color-scheme: dark" in text


def test_the_diagram_of_a_job_has_every_change() -> None:
    """Each change of a state that the source allows is an arrow."""
    arrows = re.findall(r"<title>(\w+) to (\w+)</title>", diagrams.job_states())
    assert sorted(arrows) == sorted((str(a), str(b)) for a, following in NEXT.items() for b in following)


def test_the_map_of_the_source_is_true() -> None:
    """Every path of the table of the page on architecture exists."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`([a-z_/]+(?:/|\.py))`", page.split("## Where does this live?")[1].split("## Rules")[0])
    below = ROOT / "src" / "innkeeper"
    assert [path for path in paths if not ((below / path).exists() or (ROOT / path).exists())] == []
