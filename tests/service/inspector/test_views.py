"""What the inspector's page is told of the views."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from innkeeper.service.inspector.views.exchanges import Comparison
from innkeeper.service.inspector.views.inspection import InspectionView, Wire
from innkeeper.service.inspector.views.workspace import Workspace

ROOT = Path(__file__).parents[3]


def test_the_types_of_the_page_are_those_of_the_views() -> None:
    """``inspector/src/api/types.ts`` is what `scripts/inspector_types.py` writes."""
    written = runpy.run_path(str(ROOT / "scripts" / "inspector_types.py"))
    assert written["TYPES"].read_text(encoding="utf-8") == written["types"]()


RECORDED: Final[dict[str, Any]] = {
    "workspace": Workspace,
    "inspection": InspectionView,
    "wire": Wire,
    "comparison": Comparison,
}


@pytest.mark.parametrize("name", RECORDED)
def test_the_recorded_session_is_of_today(name: str) -> None:
    """The session that the page's own tests answer from has every field of the view, with a value of its type, and no other."""
    session = json.loads((ROOT / "inspector" / "tests" / "fixtures" / "session.json").read_bytes())
    view = msgspec.convert(session[name], RECORDED[name])
    assert json.loads(msgspec.json.encode(view)) == session[name]
