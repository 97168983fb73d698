"""``innkeeper admin db``: what it makes, shows, moves and refuses."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.app import progress
from innkeeper.cli.app.root import main
from innkeeper.library.builtins import packaged
from innkeeper.library.catalogue.database_source import DatabaseSnapshots
from innkeeper.library.db.engine import Database
from innkeeper.library.db.schema import HEAD
from innkeeper.library.errors import DatabaseReadOnlyError
from innkeeper.library.log.logs import LogStore
from innkeeper.library.templates.store import TemplateStore
from innkeeper.prompt.machine import HOME_VARIABLE
from tests.cli.running import Run
from tests.library.drafts import draft
from tests.library.filled import fill
from tests.library.former import make_former
from tests.library.opening import ask, opened


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder for Innkeeper's files, and the time zone and width of a terminal."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path / "home"


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What a command that succeeds answers as JSON."""
    assert main(["admin", "db", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def failure(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """How a command fails, as JSON."""
    assert main(["admin", "db", *words, "--json"]) != 0
    return json.loads(capsys.readouterr().err)["error"]


def test_upgrade_makes_and_upgrades(capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path) -> None:
    """The first upgrade makes the database, the next finds it up to date, an older one is brought forward."""
    assert main(["admin", "db", "upgrade"]) == 0
    assert capsys.readouterr().out == f"{home}/innkeeper.db: made, revision {HEAD}.\n"
    assert main(["admin", "db", "upgrade"]) == 0
    assert f"is up to date (revision {HEAD})" in capsys.readouterr().out
    with Database.open(tmp_path / "old.db", check=False) as old:
        make_former(old, "0001")
    assert main(["admin", "db", "status", "--database", str(tmp_path / "old.db")]) == 0
    assert f"0001 (upgrade to {HEAD}: innkeeper admin db upgrade)" in capsys.readouterr().out
    assert main(["admin", "db", "upgrade", "--database", str(tmp_path / "old.db")]) == 0
    assert f"upgraded from 0001, revision {HEAD}" in capsys.readouterr().out
    assert answer(capsys, "upgrade") == {
        "database": str(home / "innkeeper.db"), "before": HEAD, "after": HEAD, "changed": False,
    }  # fmt: skip


def test_status(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    """The status counts rows, for people and as JSON; without a database it says how to make one."""
    assert failure(capsys, "status")["kind"] == "database_missing"
    with Database.open() as db:
        LogStore(db).add({"template_name": "x"})
    assert main(["admin", "db", "status"]) == 0
    out = capsys.readouterr().out
    assert f"database  {home}/innkeeper.db" in out
    assert "enhancement_logs" in out
    found = answer(capsys, "status")
    assert (found["rows"]["enhancement_logs"], found["rows"]["templates"], found["up_to_date"]) == (1, 0, True)


def test_an_empty_database_is_no_library(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    """A file without a library in it says so."""
    home.mkdir()
    (home / "innkeeper.db").touch()
    assert failure(capsys, "status")["kind"] == "database_missing"


def test_backup_and_restore(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A backup is written, verified and restored; what would overwrite something wants to be told."""
    with Database.open() as db:
        fill(db)
    path = str(tmp_path / "backup.db")
    assert main(["admin", "db", "backup", path]) == 0
    assert "verified (sha256 " in capsys.readouterr().out
    assert failure(capsys, "backup", path)["kind"] == "already_exists"
    assert answer(capsys, "backup", path, "--force")["kind"] == "sqlite"
    assert failure(capsys, "restore", path)["kind"] == "already_exists"
    assert main(["admin", "db", "restore", path, "--force"]) == 0
    assert "restored" in capsys.readouterr().out
    assert answer(capsys, "restore", path, "--database", str(tmp_path / "new.db"))["path"] == path


def test_export_and_import(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A library goes out as JSON or YAML and comes in again, by file or by pipe."""
    with Database.open() as db:
        fill(db)
    for name in ("a.json", "a.yaml"):
        path, target = str(tmp_path / name), str(tmp_path / f"{name}.db")
        assert main(["admin", "db", "export", path]) == 0
        assert "2 templates" in capsys.readouterr().out
        assert failure(capsys, "export", path)["kind"] == "output_exists"
        assert answer(capsys, "export", path, "--force")["templates"] == 2
        assert main(["admin", "db", "import", path, "--database", target, "--dry-run"]) == 0
        assert capsys.readouterr().out.startswith("would import: 2 templates, 3 versions, 3 labels")
        assert answer(capsys, "import", path, "--database", target, "--who", "ann")["templates"] == 2
        with Database.open(target) as db:
            assert TemplateStore(db).history("header")[0].who == "ann"
    assert (tmp_path / "a.yaml").read_text(encoding="utf-8").startswith("detection_lists:\n")
    capsys.readouterr()
    assert main(["admin", "db", "export"]) == 0
    text = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["admin", "db", "import", "-", "--database", str(tmp_path / "b.db")]) == 0
    assert "imported: 2 templates" in capsys.readouterr().out


def test_a_bad_import_says_where(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file that is wrong is shown with line and column, and one that is not there by name."""
    path = tmp_path / "bad.json"
    path.write_text('{"format": "innkeeper-library",\n "schema": 1,\n "templates": 7}', encoding="utf-8")
    assert main(["admin", "db", "import", str(path)]) == 65
    assert f"{path}:3:15: templates: must be a list, not a whole number" in capsys.readouterr().err
    assert failure(capsys, "import", str(tmp_path / "none.json"))["kind"] == "missing_file"


def test_query(capsys: pytest.CaptureFixture[str]) -> None:
    """A question is answered as a table, one line a value where it is wide, and as JSON; changes are refused."""
    with Database.open() as db:
        LogStore(db).add({"template_name": "[bold]x", "execution_time_ms": 12.0}, {"template_name": None})
    statement = "SELECT template_name, count(*) AS n FROM enhancement_logs WHERE created_at > NOW() - INTERVAL '1 day' GROUP BY 1"
    assert main(["admin", "db", "query", statement]) == 0
    out = capsys.readouterr().out
    assert "[bold]x" in out
    assert "2 rows" in out
    assert answer(capsys, "query", "SELECT 1 AS a") == {"columns": ["a"], "rows": [{"a": 1}], "truncated": False}
    assert main(["admin", "db", "query", "SELECT * FROM enhancement_logs", "--limit", "1"]) == 0
    out = capsys.readouterr().out
    assert "execution_time_ms" in out
    assert "1 row (there are more)" in out
    assert failure(capsys, "query", "DELETE FROM settings")["kind"] == "usage"


def test_a_long_import_shows_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On a terminal a line on the error stream tells of what takes long; the answer is the same."""
    monkeypatch.setattr(progress, "SILENT_SECONDS", -1.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Database.open() as db:
        TemplateStore(db).publish(draft())
    assert main(["admin", "db", "export", str(tmp_path / "a.json")]) == 0
    assert main(["admin", "db", "import", str(tmp_path / "a.json"), "--database", str(tmp_path / "b.db")]) == 0
    out, err = capsys.readouterr()
    assert "imported: 1 templates" in out
    assert "rows" in err


def test_show_and_rebuild(run: Run, tmp_path: Path) -> None:
    """The catalogue is shown with its snapshot; a rebuilt one is the one that is shown."""
    run("admin", "template", "import", "--builtin")
    first = run("cache", "show").out
    count = len(packaged().labelled)
    assert f"{count} labelled: production {count}" in first
    made = run("cache", "rebuild", "--json").data
    shown = run("cache", "show", "--json").data
    assert shown["snapshot"]["content_sha256"] == made["content_sha256"]
    assert shown["source"] == "memory"
    text = run("cache", "rebuild").out
    assert text.startswith(f"{tmp_path}/home/innkeeper.db.snapshot.json: revision ")


def test_a_damaged_snapshot(run: Run, tmp_path: Path) -> None:
    """A snapshot that was tampered with is told, and not used."""
    run("admin", "template", "import", "--builtin")
    run("cache", "rebuild")
    path = tmp_path / "home" / "innkeeper.db.snapshot.json"
    path.write_bytes(path.read_bytes().replace(b"suitable", b"unsuited"))
    (tmp_path / "home" / "innkeeper.db").write_bytes(b"no database" * 500)
    shown = run("cache", "show", "--json").data
    assert "damaged" in shown["snapshot"]["problem"]
    assert shown["degraded"] == ["database_corrupt"]
    failed = run("cache", "rebuild", "--json")
    assert (failed.code, failed.error["kind"]) == (69, "database_corrupt")


def test_a_table_that_takes_none(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the file could be kept, that is told on the error stream."""
    run("admin", "template", "import", "--builtin")

    def refuse(*_: object) -> None:
        raise DatabaseReadOnlyError("no")

    monkeypatch.setattr(DatabaseSnapshots, "store", refuse)
    found = run("admin", "cache", "rebuild")
    assert (found.code, found.err) == (0, "not kept in the database: database_read_only\n")


def test_an_empty_library(run: Run) -> None:
    """An empty library is shown as one."""
    found = run("cache", "show")
    assert "database_empty" in found.out
    assert "no snapshot" in found.out


@pytest.fixture
def used(run: Run, tmp_path: Path) -> Run:
    """A library that has prepared three prompts."""
    with opened(str(tmp_path / "home" / "innkeeper.db")) as library:
        for number in range(3):
            library.prepare(ask(text="a lighthouse", request_id=f"r{number}"))
    return run


def test_show(used: Run) -> None:
    """Rows are shown newest first, filtered by time, outcome, template and request."""
    rows = used("admin", "logs", "list", "--json").data["logs"]
    assert [row["request_id"] for row in rows] == ["r2", "r1", "r0"]
    assert "enhancement.sdxl.qwen_instruct.sfw@1" in used("admin", "logs", "list", "--limit", 1).out
    assert (
        used("admin", "logs", "list", "--since", "1h", "--request", "r1", "--json").data["logs"][0]["request_id"]
        == "r1"
    )
    assert used("admin", "logs", "list", "--status", "blocked", "--json").data == {"logs": []}
    assert used("admin", "logs", "list", "--template", "none", "--since", "2100-01-01", "--json").data == {"logs": []}


def test_stats(used: Run) -> None:
    """Figures are told for each template and for all, with how they were made."""
    data = used("admin", "logs", "stats", "--json").data
    assert (data["percentiles"], data["all"]["calls"]) == ("exact, nearest rank", 3)
    assert data["templates"][0]["template"] == "enhancement.sdxl.qwen_instruct.sfw"
    assert set(data["all"]["milliseconds"]["at"]) == {"50", "90", "95", "99"}
    assert "enhancement.sdxl.qwen_instruct.sfw  3" in used("admin", "logs", "stats", "--since", "all").out
    assert used("admin", "logs", "stats", "--since", "2100-01-01").code == 0


def test_no_time(run: Run) -> None:
    """A time that is none is an error that says how to write one."""
    found = run("admin", "logs", "stats", "--since", "yesterday", "--json")
    assert (found.code, found.error["kind"]) == (65, "format")
