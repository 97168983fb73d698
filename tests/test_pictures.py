"""The pictures in the documentation: of the terminal what the commands print today, of the inspector the example of today."""

from __future__ import annotations

import re

import pytest

from scripts import inspector_pictures, pictures
from tests.shared import ROOT

PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))


def lines(picture: str) -> list[str]:
    """What stands in a picture."""
    return re.findall(r"<text [^>]*>(.*?)</text>", picture)


def test_every_picture_is_drawn() -> None:
    """The folder has the pictures that the script draws, each small and without an address to fetch from."""
    assert [one.stem for one in PICTURES] == sorted(pictures.COMMANDS)
    for one in PICTURES:
        text = one.read_text(encoding="utf-8")
        assert len(text) < 60_000
        assert not re.search(r"url\((?!#)|@import|<script|xlink:href", text)


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.stem for one in PICTURES])
def test_pictures_are_of_today(name: str) -> None:
    """``python scripts/pictures.py`` draws each as it is, whatever version of the drawing library is here."""
    assert lines(pictures.picture(name)) == lines(
        (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("what", ["example", "pictures"])
def test_pictures_of_the_inspector_were_taken_together(what: str) -> None:
    """They show the example as it is, and none was put there by hand; of which page they are, a release looks at."""
    assert inspector_pictures.taken()[what] == inspector_pictures.digests()[what], inspector_pictures.AGAIN
