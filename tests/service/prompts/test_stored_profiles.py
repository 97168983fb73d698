"""Stored profiles as folders: they follow the rows, and a row that is no sound profile harms no other."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert, update

from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.logs import profile_files, profiles
from innkeeper.library.profiles import StoredProfile, StoredProfiles
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.service.prompts.stored_profiles import StoredFolders, stored_folders
from innkeeper.service.settings import Settings
from innkeeper.taverns.profiles import Profiles

CARD = b'{"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira"}}'
PLAIN = b'character = {name = "Wenna"}\n'


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An empty library."""
    path = tmp_path_factory.mktemp("empty") / "library.db"
    Database.open(path).close()
    return path.read_bytes()


@pytest.fixture
def rows(tmp_path: Path, empty: bytes) -> Iterator[StoredProfiles]:
    """The rows of a library."""
    (tmp_path / "library.db").write_bytes(empty)
    store = StoredProfiles(Database.open(tmp_path / "library.db"))
    yield store
    store.close()


@pytest.fixture
def folders(rows: StoredProfiles, tmp_path: Path) -> Iterator[StoredFolders]:
    """Their folders; another profile is called ``taken``."""
    made = StoredFolders(lambda: StoredProfiles(Database.open(tmp_path / "library.db")), {"taken"})
    yield made
    made.close()
    assert not made.folder.exists()


def row(name: str, document: bytes = PLAIN, **fields: str) -> StoredProfile:
    """A profile to be stored."""
    return StoredProfile(name=name, document=document, **fields)  # type: ignore[arg-type]


def test_they_follow_the_rows(rows: StoredProfiles, folders: StoredFolders) -> None:
    """What is stored, changed or removed is seen by whoever reads the folders, without being told."""
    seen = Profiles((), folders.folder)
    folders.changed = seen.refresh
    folders.refresh()
    assert not seen
    rows.put(StoredProfile(name="mira", document=b'character = "a/m.json"', files={"a/m.json": CARD}))
    rows.put(row("wenna"))
    folders.refresh()
    assert list(seen) == ["mira", "wenna"]
    first = seen["mira"]
    rows.put(row("mira"), replace=True)
    folders.refresh()
    assert seen["mira"].digest != first.digest
    assert [path.name for path in (folders.folder / "mira").rglob("*") if path.is_file()] == ["profile.toml"]
    rows.remove("mira")
    folders.refresh()
    assert list(seen) == ["wenna"]


def test_a_reader_that_is_not_told(rows: StoredProfiles, folders: StoredFolders) -> None:
    """A process that only has the folder notices that a profile has gone."""
    rows.put(row("mira"))
    folders.refresh()
    seen = Profiles((), folders.folder)
    assert seen["mira"].name == "mira"
    rows.remove("mira")
    folders.refresh()
    with pytest.raises(UnknownNameError, match="mira"):
        seen["mira"]


def hostile(rows: StoredProfiles, name: str, document: str = PLAIN.decode(), file: str | None = None) -> None:
    """A row that somebody else has written."""
    with rows.db.transaction() as connection:
        connection.execute(insert(profiles).values(name=name, document=document))
        if file is not None:
            connection.execute(insert(profile_files).values(profile=name, name=file, content=b"x"))


def test_hostile_rows_are_left_out(
    rows: StoredProfiles, folders: StoredFolders, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No name leads out of the folder; each is complained of once; the others are served."""
    rows.put(row("sound"))
    hostile(rows, "../up")
    hostile(rows, "/absolute")
    hostile(rows, "a/b")
    hostile(rows, "..")
    hostile(rows, "")
    hostile(rows, "taken")
    hostile(rows, "broken", "character =")
    hostile(rows, "renamed", 'name = "sound"')
    hostile(rows, "climbing", file="../sound/profile.toml")
    hostile(rows, "covering", file="profile.toml")
    hostile(rows, "asking", 'provider = "http://169.254.169.254"\nmodel = "m"')
    with caplog.at_level(logging.WARNING, "innkeeper.service"):
        folders.refresh()
        folders.refresh()
    assert list(Profiles((), folders.folder)) == ["sound"]
    assert [path.name for path in folders.folder.iterdir()] == ["sound"]
    assert (folders.folder / "sound" / "profile.toml").read_bytes() == PLAIN
    left_out = [record for record in caplog.records if "left out" in record.getMessage()]
    assert len(left_out) == 11
    assert not list(tmp_path.glob("up*"))


def test_a_row_that_goes_bad(rows: StoredProfiles, folders: StoredFolders) -> None:
    """What was served is served no more."""
    rows.put(row("mira"))
    folders.refresh()
    with rows.db.transaction() as connection:
        connection.execute(update(profiles).values(document="character =", digest="other"))
    folders.refresh()
    assert folders.row("mira") is None
    assert not list(folders.folder.iterdir())


def test_whose_they_are(rows: StoredProfiles, folders: StoredFolders) -> None:
    """A profile of a tenant or of one key is hidden from all others."""
    rows.put(row("all"))
    rows.put(row("inn", tenant="inn"))
    rows.put(row("mine", owner="k1"))
    rows.put(row("both", tenant="inn", owner="k1"))
    folders.refresh()
    assert folders.hidden("", "k2") == ("both", "inn", "mine")
    assert folders.hidden("inn", "k2") == ("both", "mine")
    assert folders.hidden("", "k1") == ("both", "inn")
    assert folders.hidden("inn", "k1") == ()


def test_they_are_wanted_or_not(rows: StoredProfiles, tmp_path: Path) -> None:
    """A service without stored profiles has no place for them."""
    assert stored_folders(Settings()) == (Settings(), None)
    settings, made = stored_folders(Settings(stored_profiles=True, database=str(tmp_path / "library.db")))
    assert made is not None
    assert settings.profile_folder == made.folder
    assert made.folder.stat().st_mode & 0o777 == 0o700
    made.close()
