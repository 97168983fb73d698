"""Profiles as rows: a folder becomes a row and a folder again, byte for byte, and a row is as little trusted as a folder."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import insert

from innkeeper.library import profiles as library_profiles
from innkeeper.library.db import backup
from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.logs import profile_files, profiles
from innkeeper.library.profiles import (
    StoredProfile,
    StoredProfiles,
    folder_profile,
    write_folder,
)
from innkeeper.prompt.errors import ConfigError, FormatError, InnkeeperError, LimitError, UnknownNameError, UsageError
from innkeeper.taverns.profiles import open_profile
from innkeeper.taverns.profiles.files import FileNameError
from innkeeper.taverns.profiles.profile import MAX_PROFILE_BYTES
from tests.taverns.profiles.folders import profile_folder

DOCUMENT = '# A keeper.\ncharacter = "wenna.png"\npersona = "ansel.persona.json"\nroute = "house"\n'
CARD = b'{"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira"}}'
PLAIN = b'character = {name = "Wenna"}\n'


def content(folder: Path) -> dict[str, bytes]:
    """The files below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_becomes_a_row_and_a_folder_again(db: Database, tmp_path: Path) -> None:
    """With the comments of its document; it is the same profile."""
    profile_folder(tmp_path / "wenna", DOCUMENT)
    store = StoredProfiles(db)
    row = store.put(folder_profile(tmp_path / "wenna", tenant="inn", owner="k1"))
    assert (row.name, row.tenant, row.owner) == ("wenna", "inn", "k1")
    assert row.digest == open_profile(tmp_path / "wenna").digest == store.get("wenna").opened().digest
    write_folder(store.get("wenna"), tmp_path / "again")
    original = content(tmp_path / "wenna")
    assert content(tmp_path / "again") == {name: original[name] for name in content(tmp_path / "again")}
    assert [one.name for one in store.all()] == ["wenna"]


def test_rows_are_replaced_only_when_told(db: Database) -> None:
    """A changed row has another digest, and no file of before."""
    store = StoredProfiles(db)
    first = store.put(StoredProfile(name="mira", document=PLAIN))
    again = StoredProfile(name="mira", document=b'character = "mira.json"\n', files={"mira.json": CARD})
    with pytest.raises(UsageError, match="already"):
        store.put(again)
    assert store.put(again, replace=True).digest != first.digest
    assert store.put(StoredProfile(name="mira", document=PLAIN), replace=True).digest == first.digest
    assert store.get("mira").files == {}
    store.remove("mira")
    for ask in (store.get, store.remove):
        with pytest.raises(UnknownNameError, match="stored profile"):
            ask("mira")


@dataclass(frozen=True)
class Bad:
    """A profile that is not stored."""

    id: str
    error: type[InnkeeperError]
    words: str
    name: str = "mira"
    document: bytes = PLAIN
    files: dict[str, bytes] = field(default_factory=dict)


BAD = [
    Bad("a name with a slash", ConfigError, "cannot be the name", name="../mira"),
    Bad("a name that goes up", ConfigError, "cannot be the name", name=".."),
    Bad("an absolute name", ConfigError, "cannot be the name", name="/mira"),
    Bad("an empty name", ConfigError, "cannot be the name", name=""),
    Bad("a long name", ConfigError, "cannot be the name", name="m" * 65),
    Bad("another name", ConfigError, "calls itself", document=b'name = "other"\n' + PLAIN),
    Bad("no TOML", FormatError, "not TOML", document=b"character ="),
    Bad("no UTF-8", FormatError, "not TOML", document=b'name = "\xff"'),
    Bad("a key that there is not", ConfigError, "charakter", document=b"charakter = 1"),
    Bad("a giant", LimitError, "MAX_PROFILE_BYTES", document=PLAIN + b"#" * MAX_PROFILE_BYTES),
    Bad("deep", InnkeeperError, ".", document=b"variables = " + b"[" * 5_000 + b"]" * 5_000),
    Bad("a file that is not there", UsageError, "not stored with it", document=b'character = "mira.png"'),
    Bad("a file that goes up", FileNameError, "is not a file", files={"../x": b""}),
    Bad("an absolute file", FileNameError, "is not a file", files={"/etc/passwd": b""}),
    Bad("a hidden file", FileNameError, "is not a file", files={".bashrc": b""}),
    Bad("a drive", FileNameError, "is not a file", files={"C:x": b""}),
    Bad("a file by two names", FileNameError, "is not a file", files={"a//b": b""}),
    Bad("a file for the document", FileNameError, "is not a file", files={"profile.toml": b""}),
    Bad("an address", ConfigError, "no address", document=PLAIN + b'provider = "http://10.0.0.1"\nmodel = "m"\n'),
    Bad("an address in the model", ConfigError, "no address", document=PLAIN + b'model = "http://10.0.0.1:m"\n'),
    Bad(
        "a broken card",
        InnkeeperError,
        "PNG|png",
        document=b'character = "a.png"',
        files={"a.png": b"\x89PNG\r\n\x1a\n"},
    ),
]


@pytest.mark.parametrize("case", BAD, ids=lambda it: it.id)
def test_what_is_no_profile_is_not_stored(case: Bad, common_db: Database) -> None:
    """Nothing of it is."""
    store = StoredProfiles(common_db)
    with pytest.raises(case.error, match=case.words):
        store.put(StoredProfile(name=case.name, document=case.document, files=case.files))
    assert store.all() == ()


def test_giant_files(common_db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files together have a limit."""
    monkeypatch.setattr(library_profiles, "MAX_STORED_VOLUME", 10)
    with pytest.raises(LimitError, match="MAX_STORED_VOLUME"):
        StoredProfiles(common_db).put(StoredProfile(name="mira", document=PLAIN, files={"a": b"x" * 9, "b": b"xx"}))


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", ".x"])
def test_a_row_that_others_wrote_leads_nowhere(db: Database, tmp_path: Path, name: str) -> None:
    """A file that leads out of its folder is not written."""
    with db.transaction() as connection:
        connection.execute(insert(profiles).values(name="mira", document=PLAIN.decode()))
        connection.execute(insert(profile_files).values(profile="mira", name=name, content=b"x"))
    with pytest.raises(FileNameError):
        write_folder(StoredProfiles(db).get("mira"), tmp_path / "mira")
    assert not list(tmp_path.rglob("x"))


def test_a_folder_with_a_link_is_not_stored(tmp_path: Path) -> None:
    """A link leads out of the folder."""
    profile_folder(tmp_path / "wenna", 'character = "card.json"\n')
    (tmp_path / "card.json").write_text('{"name": "X"}')
    (tmp_path / "wenna" / "card.json").symlink_to(tmp_path / "card.json")
    with pytest.raises(FileNameError, match="link"):
        folder_profile(tmp_path / "wenna")


def test_writing_over_files(db: Database, tmp_path: Path) -> None:
    """Only where it is told to."""
    stored = StoredProfile(name="mira", document=PLAIN)
    write: Callable[..., object] = write_folder
    write(stored, tmp_path / "mira")
    with pytest.raises(InnkeeperError):
        write(stored, tmp_path / "mira")
    write(stored, tmp_path / "mira", force=True)


def test_a_backup_has_them(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With their files, byte for byte, in lines that are not too long to be read."""
    monkeypatch.setattr(backup, "_MOST", 100)
    files = {f"{at}.json": CARD + b" " * at for at in range(5)}
    StoredProfiles(db).put(StoredProfile(name="mira", document=b'character = "4.json"\n', files=files))
    with (tmp_path / "dump").open("wb") as file:
        backup.write_dump(db, file)
    lines = [line for line in (tmp_path / "dump").read_bytes().splitlines() if b'"profile_files"' in line]
    assert len(lines) == 3
    with Database.open(tmp_path / "other.db") as other:
        backup.load_rows(other, tmp_path / "dump")
        assert StoredProfiles(other).get("mira").files == files
