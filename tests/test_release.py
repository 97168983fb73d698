"""The release: what the README promises is in it, two builds are one, and nothing goes out with a placeholder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import metadata, release
from tests.shared import ROOT


def test_promised_files_exist() -> None:
    """What an sdist must hold is in the repository."""
    assert [name for name in release.IN_SDIST if not (ROOT / name).exists()] == []


def test_links_lead_out() -> None:
    """The README of a package index has no link that only a checkout can follow; others stay as they are."""
    text = metadata.with_addresses("[a](docs/a.md) [b](https://b.example) [c](#c) [d](LICENSE)", "https://host/x/")
    assert text == "[a](https://host/x/docs/a.md) [b](https://b.example) [c](#c) [d](https://host/x/LICENSE)"


def test_a_placeholder_stops_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """While nobody has said where the project lives, a release is refused, and says where to say it."""
    about = {**release.project(), "urls": {"Source": "https://example.org/innkeeper"}}
    monkeypatch.setattr(release, "project", lambda: about)
    assert any("project.urls" in one for one in release.findings())


def test_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of parts names each requirement once, is the same when it is made again, and can be written as JSON."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    (tmp_path / "innkeeper.whl").write_bytes(b"wheel")
    parts = release.parts_list([tmp_path / "innkeeper.whl"])
    names = [package["name"] for package in parts["packages"]]
    assert names[0] == "innkeeper"
    assert len(names) == len(set(names)) == 1 + len(release.project()["dependencies"])
    assert all(package["versionInfo"] != "NOASSERTION" for package in parts["packages"])
    assert parts["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    assert json.loads(json.dumps(parts)) == release.parts_list([tmp_path / "innkeeper.whl"])


@pytest.mark.endurance
def test_builds(tmp_path: Path) -> None:
    """Wheel and sdist hold what they should, and have the same bytes when they are built again, at another time."""
    pytest.importorskip("hatchling", reason="hatchling builds the distributions")
    files = release.built_twice(tmp_path)
    assert [path.suffix for path in files] == [".whl", ".gz"]
