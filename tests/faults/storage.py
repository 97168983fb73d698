"""What is written to a library in one step, and a program that is killed at each point of it.

Run as ``python -m tests.faults.storage OPERATION FILE FOLDER STEP``: for each (or each so-many-th) statement, commit, write to
the disk and renaming of the operation, a process does it on a copy of the file and dies there. It prints what was found after
each as JSON: the state of before, or that of after.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import event, inspect

from innkeeper.library.catalogue.database_source import DatabaseSource
from innkeeper.library.catalogue.snapshot import SnapshotFile
from innkeeper.library.db import schema
from innkeeper.library.db.engine import Database
from innkeeper.library.log.conversations import ConversationStore
from innkeeper.library.models.stores import SettingsStore
from innkeeper.library.templates.store import TemplateStore
from innkeeper.library.vault.keys import FileKeys
from innkeeper.library.vault.vault import Vault
from tests.library.drafts import draft
from tests.library.former import make_former

NAME = draft().name


def prepare(path: Path) -> None:
    """A library with a conversation, two versions, a setting and a secret, and its snapshot."""
    with Database.open(path) as db:
        here = ConversationStore(db).create({"id": "c"}).id
        ConversationStore(db).append(here, "user", "Hello")
        TemplateStore(db).publish(draft())
        TemplateStore(db).add_version(draft(text="Other {{subject}}."))
        SettingsStore(db).set("a", 1)
        vault = Vault(db, FileKeys(path.with_name("vault.key")))
        vault.init()
        vault.set("N", "secret")
        SnapshotFile(path.with_name("snapshot")).store(DatabaseSource(db).load())


def prepare_first(path: Path) -> None:
    """A library as the first release made it."""
    with Database.open(path, check=False) as db:
        make_former(db, schema.REVISIONS[0])
        with db.transaction() as connection:
            connection.exec_driver_sql("INSERT INTO settings (key, value) VALUES ('a', '1')")


class Operation(NamedTuple):
    """Something that is written in one step: before what, how, and how its state is read."""

    prepare: Callable[[Path], None]
    run: Callable[[Database, Path], object]
    state: Callable[[Database, Path], Any]
    upgrade: bool = True


def _turn(db: Database, _path: Path) -> Any:
    messages = ConversationStore(db).newest("c")
    return [[row.seq for row in messages], ConversationStore(db).get("c").last_seq]


def _labels(db: Database, _path: Path) -> Any:
    store = TemplateStore(db)
    with db.reading() as connection:
        events = connection.exec_driver_sql(
            "SELECT count(*) FROM audit_events WHERE action = 'label.move'"
        ).scalar_one()
    return [store.labels(NAME), len(store.history(NAME)), len(store.versions(NAME)), events, db.revision()]


def _schema(db: Database, _path: Path) -> Any:
    with db.reading() as connection:
        found = inspect(connection)
        tables = {name: len(found.get_columns(name)) for name in sorted(found.get_table_names())}
        value = connection.exec_driver_sql("SELECT value FROM settings").scalar_one()
        return [schema.present(connection), tables, value]


def _secrets(db: Database, path: Path) -> Any:
    vault = Vault(db, FileKeys(path.with_name("vault.key")))
    assert vault.reveal("N", who="t", why="t").reveal() == "secret"
    return "opens"


def _snapshot(_db: Database, path: Path) -> Any:
    return SnapshotFile(path.with_name("snapshot")).load().revision


def _keep(db: Database, path: Path) -> None:
    TemplateStore(db).move_label(NAME, "production", 2)
    SnapshotFile(path.with_name("snapshot")).store(DatabaseSource(db).load())


OPERATIONS = {
    "save a turn": Operation(prepare, lambda db, _: ConversationStore(db).append("c", "user", "More"), _turn),
    "move a label": Operation(prepare, lambda db, _: TemplateStore(db).move_label(NAME, "production", 2), _labels),
    "publish": Operation(prepare, lambda db, _: TemplateStore(db).publish(draft(text="Third {{subject}}.")), _labels),
    "migrate": Operation(prepare_first, lambda db, _: db.upgrade(), _schema, upgrade=False),
    "rotate a key": Operation(
        prepare, lambda db, path: Vault(db, FileKeys(path.with_name("vault.key"))).rotate(drop_old=True), _secrets
    ),
    "keep a snapshot": Operation(prepare, _keep, _snapshot),
}


def copied(path: Path, folder: Path) -> Path:
    """A copy of everything beside a library, in a folder of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(path.parent, folder)
    return folder / path.name


@contextmanager
def opened(operation: Operation, path: Path, **options: Any) -> Iterator[Database]:
    """The library of a copy, as the operation finds it."""
    with Database.open(path, check=operation.upgrade, **options) as db:
        yield db


def state_of(operation: Operation, path: Path) -> Any:
    """What is there, as JSON has it."""
    with opened(operation, path) as db:
        return json.loads(json.dumps(operation.state(db, path)))


class Fuse:
    """Ends the process at the n-th point."""

    def __init__(self, left: int) -> None:
        self.left = left

    def point(self, *_: Any, **__: Any) -> None:
        """One point of an operation."""
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the system with a point before and after it."""

        def call(*args: Any, **options: Any) -> Any:
            self.point()
            done = real(*args, **options)
            self.point()
            return done

        return call

    def arm(self, db: Database) -> None:
        """Put points before and after every statement, before every commit, and around what reaches the disk."""
        for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
            event.listen(db.engine, name, self.point)
        os.fsync, os.replace = self.around(os.fsync), self.around(os.replace)


def die_at(operation: Operation, path: Path, number: int) -> bool:
    """Do the operation in a process that dies at this point. Tells whether it came to its end before."""
    child = os.fork()
    if child == 0:
        with opened(operation, path) as db:
            Fuse(number).arm(db)
            operation.run(db, path)
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def main(name: str, path: Path, folder: Path, step: int) -> None:
    """Kill at every point, and print what was found."""
    operation, found = OPERATIONS[name], []
    for number in itertools.count(1, step):
        copy = copied(path, folder)
        ended = die_at(operation, copy, number)
        found.append(state_of(operation, copy))
        if ended:
            break
    print(json.dumps(found))  # noqa: T201 - the answer


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
