"""Reference material that lies beside the checkout, in ``../shared``, and is not part of this project.

A test that wants some of it calls `need` and is skipped, with the reason, where it is absent::

    CARDS = shared.find("fixtures/cards")  # at import: a path, or None


    def test_reads_the_card() -> None:
        card = shared.need("fixtures/cards/one.png")  # in a test: a path, or a skip
"""

from pathlib import Path
from typing import Final

import pytest

__all__ = ["ROOT", "SHARED", "VECTORS", "files", "find", "need"]

ROOT: Final = Path(__file__).resolve().parent.parent
"""The checkout."""

SHARED: Final = ROOT.parent / "shared"
"""Where the reference material would be."""

VECTORS: Final = ROOT / "tests" / "vectors"
"""Golden cases that are part of this project."""


def find(place: str) -> Path | None:
    """The file or folder at ``place`` under ``../shared``, or None where it is absent."""
    path = SHARED / place
    return path if path.exists() else None


def need(place: str) -> Path:
    """The file or folder at ``place`` under ``../shared``; skips the test where it is absent."""
    path = find(place)
    if path is None:
        pytest.skip(f"needs ../shared/{place}, which is not beside this checkout")
    return path


def files(place: str, pattern: str = "*") -> list[Path]:
    """The files under a folder of ``../shared``, sorted; none where it is absent. For ``parametrize``."""
    folder = find(place)
    return [] if folder is None else sorted(path for path in folder.rglob(pattern) if path.is_file())
