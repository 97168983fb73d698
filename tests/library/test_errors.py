"""Near names: an unknown name's error offers what was probably meant, and stays the error it was."""

from __future__ import annotations

import pytest

from innkeeper.library.errors import NotFoundError, near_names, with_near
from innkeeper.prompt.errors import UsageError


def test_near_names_are_offered() -> None:
    """Up to three names that are like it, the nearest first; without one the error keeps its own hint."""
    error = with_near(NotFoundError("no"), "painter", ["painters", "pointer", "saint", "painted", "x"])
    assert error.hint == "did you mean 'painters' or 'pointer' or 'painted'?"
    assert error.to_dict()["details"]["near"][0] == "painters"
    assert with_near(NotFoundError("no"), "zzz", ["painter"]).hint == NotFoundError.HINT


def test_only_unknown_names_are_touched() -> None:
    """Other errors pass as they are, and nobody is asked for names."""
    with pytest.raises(UsageError, match="other"), near_names("x", lambda: pytest.fail("asked")):
        raise UsageError("other")
    with pytest.raises(NotFoundError) as caught, near_names("dise", lambda: ["dice"]):
        raise NotFoundError("no")
    assert caught.value.hint == "did you mean 'dice'?"


def test_very_long_names() -> None:
    """A name of any length is compared in its beginning."""
    assert with_near(NotFoundError("no"), "x" * 1_000_000, ["y"]).hint is None
