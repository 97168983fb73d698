"""What happens to an open library when somebody else moves its file: typed errors, nothing written to nowhere, and back again."""

from pathlib import Path

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.errors import DatabaseUnreachableError
from innkeeper.library.templates.store import TemplateStore
from tests.library.drafts import draft
from tests.library.opening import ask, opened, published


def closed(path: Path, text: str) -> Path:
    """A library in a file, without a log beside it."""
    with Database.open(path) as db:
        TemplateStore(db).publish(draft(text=text))
    return path


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    """Nothing is written into a file that is not there any more, and none is made in its place; once it is back it is used."""
    path, aside = closed(tmp_path / "a.db", "one {{subject}}"), tmp_path / "aside.db"
    with Database.open(path) as db:
        store = TemplateStore(db)
        assert db.revision() == 1
        path.replace(aside)
        for work in (db.revision, lambda: store.publish(draft(text="two {{subject}}"))):
            with pytest.raises(DatabaseUnreachableError):
                work()
        assert not path.exists()
        aside.replace(path)
        assert store.publish(draft(text="two {{subject}}")).version == 2


def test_another_file_in_its_place(tmp_path: Path) -> None:
    """A file that was put in the place of another is the one that is read and written from then on."""
    path, other = closed(tmp_path / "a.db", "one {{subject}}"), closed(tmp_path / "b.db", "other {{subject}}")
    with Database.open(path, timeout=5) as db:
        store = TemplateStore(db)
        assert store.get(draft().name).system_prompt == "one {{subject}}"
        for end in ("-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
        other.replace(path)
        assert store.get(draft().name).system_prompt == "other {{subject}}"


def test_a_library_without_its_file(tmp_path: Path) -> None:
    """It goes on answering from memory, flagged, refuses to publish, and blocks what it blocks."""
    path = tmp_path / "a.db"
    with opened(str(path)) as library:
        published(library)
        path.unlink()
        library.prepare(ask(text="a boat", values={"subject": "x"}))
        assert not library.flush()
        found = library.prepare(ask(text="a boat", values={"subject": "x"}))
        assert (found.rendered is not None, found.log_id, found.reasons) == (True, None, ("log_failed",))
        assert library.refresh().degraded == ("database_unreachable", "stale")
        with pytest.raises(DatabaseUnreachableError):
            library.authoring.create(draft("x"))
        assert not library.tier_check({"user_text": "a nude child"}).passed
