"""``innkeeper info``: every place, with what lies there."""

from pathlib import Path

import pytest

from innkeeper.cli.app.info import size_text
from tests.cli.running import Run, runner


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs ``innkeeper`` in a home of the test's own."""
    return runner(monkeypatch, capsys, tmp_path)


def test_locations(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each place has its location and size; a database is counted with the files beside it."""
    for name, size in {"log.db": 7, "log.db-wal": 3, "log.db.old": 50, "assets/a/b.png": 5}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    monkeypatch.setenv("INNKEEPER_VAULT_KEY", "none")
    rows = {row["name"]: (row["location"], row["size"]) for row in run("info", "--json").data["locations"]}
    assert rows["folder"] == (str(tmp_path), 65)
    assert rows["log"] == (str(tmp_path / "log.db"), 10)
    assert rows["pictures and videos"] == (str(tmp_path / "assets"), 5)
    assert rows["library"] == (str(tmp_path / "innkeeper.db"), None)
    assert rows["vault key"][1] is None
    assert f"10 B  {tmp_path / 'log.db'}\n" in run("info").out


def test_assets_elsewhere(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is no folder is shown by its address."""
    monkeypatch.setenv("INNKEEPER_ASSETS", "s3://bucket/folder")
    assert "s3://bucket/folder" in run("info").out


@pytest.mark.parametrize(
    ("size", "text"), [(None, "-"), (0, "0 B"), (999, "999 B"), (1_500_000, "2 MB"), (10**13, "10,000 GB")]
)
def test_size_text(size: int | None, text: str) -> None:
    """Sizes are told in the unit that fits."""
    assert size_text(size) == text
