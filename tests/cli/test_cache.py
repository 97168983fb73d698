"""``innkeeper cache``: what requests are answered from, and that it is built anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from innkeeper.library.database_source import DatabaseSnapshots
from innkeeper.library.errors import DatabaseReadOnlyError
from tests.cli.running import Run


def test_show_and_rebuild(run: Run, tmp_path: Path) -> None:
    """The catalogue is shown with its snapshot; a rebuilt one is the one that is shown."""
    run("template", "import", "--builtin")
    first = run("cache", "show").out
    assert "11 labelled: production 11" in first
    made = run("cache", "rebuild", "--json").data
    shown = run("cache", "show", "--json").data
    assert shown["snapshot"]["content_sha256"] == made["content_sha256"]
    assert shown["source"] == "memory"
    text = run("cache", "rebuild").out
    assert text.startswith(f"{tmp_path}/home/innkeeper.db.snapshot.json: revision ")


def test_a_damaged_snapshot(run: Run, tmp_path: Path) -> None:
    """A snapshot that was tampered with is told, and not used."""
    run("template", "import", "--builtin")
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
    run("template", "import", "--builtin")

    def refuse(*_: object) -> None:
        raise DatabaseReadOnlyError("no")

    monkeypatch.setattr(DatabaseSnapshots, "store", refuse)
    found = run("cache", "rebuild")
    assert (found.code, found.err) == (0, "not kept in the database: database_read_only\n")


def test_an_empty_library(run: Run) -> None:
    """An empty library is shown as one."""
    found = run("cache", "show")
    assert "database_empty" in found.out
    assert "no snapshot" in found.out
