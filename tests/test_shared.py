"""The helper that finds reference material beside the checkout."""

from pathlib import Path

import pytest

from tests import shared


def test_absent_material_skips_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is absent skips a test, and is named in the reason."""
    monkeypatch.setattr(shared, "SHARED", tmp_path)
    assert shared.find("cards") is None
    assert shared.files("cards") == []
    with pytest.raises(pytest.skip.Exception, match=r"needs \.\./shared/cards"):
        shared.need("cards")


def test_present_material_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there comes as a path, and a folder's files come sorted."""
    for name in ("b.json", "a.json", "a.png"):
        path = tmp_path / "cards" / "deep" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setattr(shared, "SHARED", tmp_path)
    assert shared.need("cards") == tmp_path / "cards"
    assert [path.name for path in shared.files("cards", "*.json")] == ["a.json", "b.json"]
