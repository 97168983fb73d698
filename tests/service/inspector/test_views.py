"""What the inspector's page is told of the views."""

from __future__ import annotations

import runpy
from pathlib import Path

import msgspec

from innkeeper.service.inspector import views

ROOT = Path(__file__).parents[3]


def test_the_types_of_the_page_are_those_of_the_views() -> None:
    """``inspector/src/api/types.ts`` is what `scripts/inspector_types.py` writes."""
    written = runpy.run_path(str(ROOT / "scripts" / "inspector_types.py"))
    assert written["TYPES"].read_text(encoding="utf-8") == written["types"]()


def test_every_view_is_written() -> None:
    """No struct of the module is left out of the table."""
    structs = {one for one in vars(views).values() if isinstance(one, type) and issubclass(one, msgspec.Struct)}
    assert structs == set(views.VIEWS)
