"""Faults of the storage, one after the other at every point: what is written in one step is there, or it is not."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from innkeeper.content.files.private import _DRAFT
from innkeeper.library.db.engine import Database
from innkeeper.library.errors import DatabaseLockedError, DatabaseReadOnlyError
from tests import shared
from tests.faults.storage import OPERATIONS, Operation, copied, opened, state_of
from tests.library.outsides import Counted

NAMES = list(OPERATIONS)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[Any, Path]:
    """The libraries that operations begin with."""
    made: dict[Any, Path] = {}
    for operation in OPERATIONS.values():
        if operation.prepare not in made:
            path = tmp_path_factory.mktemp("prepared") / "a.db"
            operation.prepare(path)
            made[operation.prepare] = path
    return made


def states(operation: Operation, path: Path, folder: Path) -> tuple[Any, Any]:
    """What is there before and after."""
    copy = copied(path, folder)
    before = state_of(operation, copy)
    with opened(operation, copy) as db:
        operation.run(db, copy)
    return before, state_of(operation, copy)


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed this way there")
@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.endurance)])
@pytest.mark.parametrize("name", NAMES)
def test_killed_at_every_point(prepared: dict[Any, Path], name: str, step: int, tmp_path: Path) -> None:
    """Killed before or after any statement, commit, write to the disk or renaming, the library is as before or as after.

    In the short form, at every 17th such point.
    """
    operation = OPERATIONS[name]
    path = prepared[operation.prepare]
    before, after = states(operation, path, tmp_path / "whole")
    command = [sys.executable, "-m", "tests.faults.storage", name, str(path), str(tmp_path / "killed"), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=shared.ROOT)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) > 1
    assert all(one in (before, after) for one in found)
    assert (found[0], found[-1]) == (before, after)
    assert not [one for one in (tmp_path / "whole").iterdir() if _DRAFT.search(one.name)]


@pytest.mark.parametrize("name", NAMES)
def test_a_disk_that_fills_at_every_page(prepared: dict[Any, Path], name: str, tmp_path: Path) -> None:
    """With room for so many further pages and no more, the library is as before, with an error that says so, or as after.

    Every number of pages at first; of many, every ninth.
    """
    operation = OPERATIONS[name]
    before, after = states(operation, prepared[operation.prepare], tmp_path / "whole")
    for pages in (*range(30), *range(30, 600, 9)):
        copy = copied(prepared[operation.prepare], tmp_path / "full")
        with opened(operation, copy) as db:
            _allow(db, pages)
            try:
                operation.run(db, copy)
            except DatabaseReadOnlyError as error:
                said = error.render()
                with db.reading() as connection:
                    assert connection.exec_driver_sql("SELECT count(*) FROM settings").scalar() == 1
            else:
                break
        assert "room" in said
        assert state_of(operation, copy) == before
    assert state_of(operation, copy) == after


def _allow(db: Database, pages: int) -> None:
    """Let the file grow by so many pages."""
    db.engine.dispose()

    def limit(connection: sqlite3.Connection, _record: Any) -> None:
        present = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {present + pages}")

    event.listen(db.engine, "connect", limit)


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_that_is_held(prepared: dict[Any, Path], name: str, tmp_path: Path) -> None:
    """While another writes, the operation is refused after a while and nothing has changed; then it is done."""
    operation = OPERATIONS[name]
    before, after = states(operation, prepared[operation.prepare], tmp_path / "whole")
    copy = copied(prepared[operation.prepare], tmp_path / "held")
    with opened(operation, copy, timeout=0.05) as db:
        with closing(sqlite3.connect(copy, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(DatabaseLockedError):
                operation.run(db, copy)
        assert json.loads(json.dumps(operation.state(db, copy))) == before
        operation.run(db, copy)
    assert state_of(operation, copy) == after


@pytest.mark.parametrize("name", NAMES)
def test_a_library_that_is_only_read(prepared: dict[Any, Path], name: str, tmp_path: Path) -> None:
    """Opened to be read only, the operation is refused and nothing has changed."""
    operation = OPERATIONS[name]
    copy = copied(prepared[operation.prepare], tmp_path / "read")
    before = state_of(operation, copy)
    with opened(operation, copy, read_only=True) as db, pytest.raises(DatabaseReadOnlyError):
        operation.run(db, copy)
    assert state_of(operation, copy) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_clock_that_is_set_back(prepared: dict[Any, Path], name: str, tmp_path: Path) -> None:
    """An hour that comes twice changes nothing of what is done, nor of its order."""
    operation = OPERATIONS[name]
    _, after = states(operation, prepared[operation.prepare], tmp_path / "whole")
    copy, outside = copied(prepared[operation.prepare], tmp_path / "back"), Counted()
    outside.moment -= timedelta(hours=1)
    with opened(operation, copy, outside=outside) as db:
        operation.run(db, copy)
    assert state_of(operation, copy) == after
