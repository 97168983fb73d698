"""What the inspector's page is told of the views."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_types_of_the_page_are_those_of_the_views() -> None:
    """``inspector/src/api/types.ts`` is what `scripts/inspector_types.py` writes."""
    written = runpy.run_path(str(ROOT / "scripts" / "inspector_types.py"))
    assert written["TYPES"].read_text(encoding="utf-8") == written["types"]()
