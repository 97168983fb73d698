"""Damaged files, files of others, and files that may only be read: each is an error of ours, or an answer that says so."""

import contextlib
import io
import json
import random
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from innkeeper.cli import main
from innkeeper.library.catalogue.catalogue import AnswerSource
from innkeeper.library.catalogue.sources import Timing
from innkeeper.library.db import schema
from innkeeper.library.db.engine import Database
from innkeeper.library.errors import DatabaseCorruptError, DatabaseReadOnlyError, SchemaError
from innkeeper.library.library import Library
from innkeeper.library.models.stores import ModelStore, SettingsStore
from innkeeper.library.templates.store import TemplateStore
from innkeeper.prompt.errors import InnkeeperError
from tests.library.conftest import Fresh
from tests.library.drafts import draft
from tests.library.filled import fill
from tests.library.opening import ask, opened
from tests.library.unprivileged import run_unprivileged, unwritable

NAME = draft().name
ASKED = "--use-case enhancement --job-type image --target sdxl"
COMMANDS = [
    ["admin", *line.split()]
    for line in f"""
    template list
    template list --label production
    template show {NAME} --history
    template diff {NAME} 1 2
    template check {NAME}
    template resolve {ASKED}
    template render {NAME} --value subject=x
    template render {ASKED} --value subject=x
    template new fresh --use-case chat --text hi
    template publish {NAME} --force
    template label {NAME}
    template rollback {NAME}
    template export
    provider list
    provider show openrouter
    provider set openrouter --base-url http://x
    model list
    model list --task roleplay
    model show maker/one
    model set maker/one --priority 3
    tool list
    tool show dice
    negative list
    negative new bad --family sdxl
    negative render --family sdxl
    vault list
    vault status
    vault check
    vault remove KEY
    tier check hello
    db status
    db upgrade
    db backup BACKUP --force
    db export
    cache show
    cache rebuild
    logs list
    logs stats --since all
    """.strip().splitlines()
] + [["admin", "db", "query", f"SELECT * FROM {table}"] for table in ("enhancement_logs", "messages")]
"""Every command that has to do with a database."""

_DEFECT = 70


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A SQLite file with something in every table."""
    path = tmp_path_factory.mktemp("whole") / "a.db"
    with Database.open(path) as db:
        fill(db)
    return path.read_bytes()


def damaged(whole: bytes, number: int) -> bytes:
    """A copy with other bytes at 1 to 256 random places."""
    chance, data = random.Random(number), bytearray(whole)  # noqa: S311 - only places are drawn
    for _ in range(chance.choice([1, 4, 32, 256])):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def run(words: list[str]) -> tuple[int, str]:
    """A command in this process: what it exits with, and what it says of errors."""
    out, errors = io.TextIOWrapper(io.BytesIO(), write_through=True), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        return main(words), errors.getvalue()


def check_commands(whole: bytes, numbers: range, folder: Path) -> None:
    """Run every command on each damaged copy."""
    path = folder / "x.db"
    for number in numbers:
        for words in COMMANDS:
            for old in folder.glob("x.db*"):
                old.unlink()
            path.write_bytes(damaged(whole, number))
            here = [str(folder / "copy.db") if word == "BACKUP" else word for word in words]
            code, said = run([*here, "--database", str(path)])
            assert code != _DEFECT, f"copy {number}, {words}: {said}"
            assert "Traceback" not in said


def test_every_command_on_damaged_copies(whole: bytes, tmp_path: Path) -> None:
    """A file damaged anywhere ends no command as a defect."""
    check_commands(whole, range(1), tmp_path)


@pytest.mark.endurance
def test_every_command_on_many_damaged_copies(whole: bytes, tmp_path: Path) -> None:
    """The same, of 250 copies."""
    check_commands(whole, range(250), tmp_path)


@pytest.mark.parametrize("numbers", [range(12), pytest.param(range(12, 250), marks=pytest.mark.endurance)])
def test_a_damaged_copy_answers_from_the_snapshot(whole: bytes, numbers: range, tmp_path: Path) -> None:
    """A library over a damaged file answers as before, by what can still be read or by the snapshot, and that says so."""
    path = tmp_path / "x.db"
    with opened(str(_written(path, whole))) as library:
        before = library.resolve(ask()).resolution.template
        library.refresh()
        kept = library.snapshot.read_bytes()
    for number in numbers:
        for old in tmp_path.glob("x.db*"):
            old.unlink()
        path.write_bytes(damaged(whole, number))
        (tmp_path / "x.db.snapshot.json").write_bytes(kept)
        with opened(str(path)) as library:
            for _ in range(2):
                found = library.resolve(ask())
                assert found.resolution.template == before
                assert found.degraded == (found.resolution.source is AnswerSource.SNAPSHOT)
                with contextlib.suppress(InnkeeperError):
                    library.prepare(ask(values={"subject": "a cat"}))
                library.refresh()


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_file_overwritten_under_a_process_stays_flagged(whole: bytes, tmp_path: Path) -> None:
    """Once a file was overwritten in its place, answers are flagged for as long as that lasts, and then no more."""
    path = _written(tmp_path / "x.db", whole)
    with opened(str(path)) as library:
        library.refresh()
        assert not library.resolve(ask()).degraded
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sound = path.read_bytes()
        path.write_bytes(b"\xa5" * len(sound))
        for _ in range(5):
            assert "database_corrupt" in library.refresh().degraded
            assert library.resolve(ask()).degraded
        path.write_bytes(sound)
        assert library.refresh().degraded == ()
        assert not library.resolve(ask()).degraded


def test_who_follows_a_file_sees_that_it_was_overwritten(whole: bytes, tmp_path: Path) -> None:
    """A library that follows its database flags its answers within a moment, and goes on doing so."""
    path = _written(tmp_path / "x.db", whole)
    with Library.open(path, timing=Timing(fresh=3600)) as library:
        wait_until(lambda: library.catalogue.source is AnswerSource.MEMORY)
        path.write_bytes(b"\xa5" * path.stat().st_size)
        wait_until(lambda: library.resolve(ask()).degraded)
        for _ in range(10):
            time.sleep(0.1)
            assert library.resolve(ask()).degraded


def wait_until(true: Callable[[], bool]) -> None:
    """Wait for a thread's work."""
    until = time.monotonic() + 120
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_words_that_are_no_data_are_damage(whole: bytes, tmp_path: Path) -> None:
    """What a column cannot hold is damage where it is read, and no value of it is shown."""
    path = _written(tmp_path / "x.db", whole)
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("UPDATE settings SET value = '{secret'")
        plain.execute("UPDATE api_models SET updated_at = 'yesterday', display_name = cast(x'ff' AS text)")
    with Database.open(path) as db:
        with pytest.raises(DatabaseCorruptError) as caught:
            SettingsStore(db).list()
        assert "secret" not in caught.value.render()
        with pytest.raises(DatabaseCorruptError, match=r"moment|text"):
            ModelStore(db).list()


# -------------------------------------------------------------------------------------------------- databases of others


@pytest.mark.parametrize("stamp", [None, "0001", "ae12"])
def test_a_database_of_others_is_left_alone(fresh: Fresh, stamp: str | None) -> None:
    """No table of ours is put into another program's database, whatever is stamped there."""
    url = fresh(bare=True)
    with Database.open(url, check=False) as db:
        with db.transaction() as connection:
            connection.exec_driver_sql("CREATE TABLE songs (name VARCHAR(20))")
            if stamp is not None:
                connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32))")
                connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{stamp}')")
        with pytest.raises(SchemaError):
            db.upgrade()
        with pytest.raises(SchemaError):
            Database.open(url)
        with db.reading() as connection:
            count = connection.exec_driver_sql(
                "SELECT count(*) FROM sqlite_master"
                if db.dialect == "sqlite"
                else "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
            ).scalar_one()
    assert count == (1 if stamp is None else 2)


def test_an_empty_database_is_made(fresh: Fresh) -> None:
    """A database without any table becomes a library."""
    with Database.open(fresh(bare=True)) as db, db.reading() as connection:
        assert schema.present(connection) == schema.HEAD


# ----------------------------------------------------------------------------------------------------- only for reading


@pytest.fixture
def closed_folder(whole: bytes) -> Iterator[Path]:
    """A folder with a library that nobody may write. Not in pytest's own, which others may not even enter."""
    import tempfile

    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "x.db").write_bytes(whole)
    yield folder
    shutil.rmtree(folder)


READS = [
    words
    for words in COMMANDS
    if words[1:3]
    not in (
        *(["template", name] for name in ("new", "publish", "rollback")),
        *([group, "set"] for group in ("provider", "model")),
        ["negative", "new"],
        ["vault", "remove"],
        ["cache", "rebuild"],
        ["db", "backup"],
    )
]
_RUN = (
    "import json, sys; from innkeeper.cli import main\n"
    "for words in json.loads(sys.argv[1]):\n"
    "    code = main([*words, '--database', sys.argv[2]])\n"
    "    if code not in (0, 1) and words[1:] != ['vault', 'check']: print('FAILED', words, code)\n"
)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere root cannot give up its rights this way")
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a writer"])
def test_who_may_only_read_can_read_everything(closed_folder: Path, *, beside: bool) -> None:
    """Without the right to write, everything that reads works, whether somebody writes meanwhile or nobody does."""
    import json

    path = closed_folder / "x.db"
    with contextlib.ExitStack() as stack:
        if beside:
            db = stack.enter_context(Database.open(path))
            TemplateStore(db).create(draft("newest"))
        stack.enter_context(unwritable(closed_folder))
        reads = [*READS, ["admin", "template", "show", "newest"]] if beside else READS
        said = run_unprivileged(_RUN, json.dumps(reads), str(path))
    assert "FAILED" not in said


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere root cannot give up its rights this way")
@pytest.mark.parametrize("only", [False, True])
def test_who_may_only_read_writes_nothing(closed_folder: Path, *, only: bool) -> None:
    """A write of somebody who may only read is refused as such, and leaves no file behind."""
    path = closed_folder / "x.db"
    code = (
        "from innkeeper.library.db.engine import Database\n"
        "from innkeeper.library.errors import DatabaseReadOnlyError\n"
        "from innkeeper.library.models.stores import SettingsStore\n"
        f"with Database.open(sys.argv[1], read_only={only}) as db:\n"
        "    print(len(SettingsStore(db).list()))\n"
        "    try: SettingsStore(db).set('a', 1)\n"
        "    except DatabaseReadOnlyError as error: print(error.kind)\n"
    )
    with unwritable(closed_folder):
        assert run_unprivileged(code, str(path)).split() == ["1", DatabaseReadOnlyError("").kind]
    assert [one.name for one in closed_folder.iterdir()] == ["x.db"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere root cannot give up its rights this way")
def test_a_log_that_cannot_be_read(closed_folder: Path) -> None:
    """Where the last changes are in a log that one may not read, no older state passes for the newest.

    What reads the database fails with its reason, and requests are answered from the snapshot, flagged.
    """
    path, resolved = closed_folder / "x.db", ["admin", "template", "resolve", "--use-case", "enhancement", "--json"]
    with opened(str(path)) as library:
        TemplateStore(library.db).create(draft("newest"))
        library.refresh()
        logged = Path(f"{path}-wal").read_bytes()
    assert logged
    Path(f"{path}-wal").write_bytes(logged)
    code = (
        "import json, sys; from innkeeper.cli import main; sys.stderr = sys.stdout\n"
        "print(main(['admin', 'template', 'list', '--database', sys.argv[1]]))\n"
        "print(main([*json.loads(sys.argv[2]), '--database', sys.argv[1]]))\n"
    )
    with unwritable(closed_folder):
        said = run_unprivileged(code, str(path), json.dumps(resolved)).splitlines()
    assert "its last changes are in x.db-wal" in said[0]
    assert said[-1] == "0"
    answer = json.loads(said[-2])
    assert (answer["source"], answer["degraded"]) == ("snapshot", True)
    assert "database_unreachable" in answer["reasons"]


def test_what_is_made_is_private(tmp_path: Path) -> None:
    """Nobody but its owner may read a library, what SQLite keeps beside it, or its snapshot."""
    with opened(str(tmp_path / "new" / "x.db")) as library:
        fill(library.db)
        library.refresh()
        modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "new").iterdir()}
    assert {"x.db", "x.db-wal", "x.db-shm", "x.db.snapshot.json"} <= modes.keys()
    assert set(modes.values()) == {"0o600"}
