"""What tests of several commands share."""

from pathlib import Path

import pytest

from tests.cli.running import Run, runner


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs ``innkeeper`` on a library of the test's own."""
    return runner(monkeypatch, capsys, tmp_path / "home")
