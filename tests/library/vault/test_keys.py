"""Keys of the vault: where they are found, what is refused, and that nothing shows them."""

from __future__ import annotations

import os
from pathlib import Path
from string import ascii_letters

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.errors import VaultKeyError, VaultKeyMissingError
from innkeeper.library.vault.keys import MOST_KEYS, EnvironmentKeys, FileKeys, KeyRing, SystemKeys, VaultKey, find_keys
from innkeeper.prompt.errors import UnavailableError, UsageError


def test_a_key_reads_what_it_writes() -> None:
    """A key is the same after it was kept, in either alphabet of base64, with or without padding."""
    key = VaultKey.fresh()
    for text in (key.text(), key.text().rstrip("="), key.text().replace("+", "-").replace("/", "_")):
        assert (VaultKey.of(text).raw(), VaultKey.of(text).id) == (key.raw(), key.id)
    assert key.text() not in repr(key)


@pytest.mark.parametrize(
    "text", ["", "short", "§" * 44, "A" * 40, "A" * 200], ids=["none", "short", "no base64", "less", "more"]
)
def test_what_is_no_key_is_refused(text: str) -> None:
    """Text that is no key is an error that does not quote it."""
    with pytest.raises(VaultKeyError) as caught:
        VaultKey.of(text)
    assert not text or text not in caught.value.render()


def test_rings() -> None:
    """The first key seals, each opens; comments and blanks are left aside, doubles count once."""
    one, other = VaultKey.fresh(), VaultKey.fresh()
    ring = KeyRing.of(f"# keys\n{one.text()}\n\n{other.text()},{one.text()}\n")
    assert ring.ids == (one.id, other.id)
    assert ring.primary.id == one.id
    found = ring.get(other.id)
    assert found is not None
    assert found.raw() == other.raw()
    assert ring.get("nobody") is None
    assert KeyRing.of(ring.text()).ids == ring.ids
    with pytest.raises(VaultKeyError, match="more than"):
        KeyRing(VaultKey.fresh() for _ in range(MOST_KEYS + 1))


@given(st.text(max_size=120) | st.text(ascii_letters, min_size=30, max_size=120))
def test_no_text_brings_it_down(text: str) -> None:
    """Any text is keys or an error of the vault that does not quote it."""
    message = ""
    try:
        KeyRing.of(text)
    except (VaultKeyError, VaultKeyMissingError) as error:
        message = error.render()
    assert [word for word in text.split() if len(word) > 20 and word in message] == []


def test_a_file_is_its_owners_alone(tmp_path: Path) -> None:
    """A file that is written is readable for its owner only; one that others may read is refused, with the mend."""
    source = FileKeys(tmp_path / "folder" / "k")
    source.store(KeyRing([VaultKey.fresh()]))
    assert source.path.stat().st_mode & 0o777 == 0o600
    assert list(source.path.parent.iterdir()) == [source.path]
    for mode in (0o640, 0o604, 0o620):
        source.path.chmod(mode)
        with pytest.raises(VaultKeyError, match="others may read") as caught:
            source.load()
        assert "chmod 600" in str(caught.value.hint)


def test_files_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file, a folder, an empty file, a huge one, one of somebody else, a folder that takes none: each is an error."""
    with pytest.raises(VaultKeyMissingError):
        FileKeys(tmp_path / "none").load()
    with pytest.raises(VaultKeyError, match="no plain file"):
        FileKeys(tmp_path).load()
    blocked = tmp_path / "file"
    blocked.write_text("x" * 20_000)
    blocked.chmod(0o600)
    with pytest.raises(VaultKeyError, match="larger"):
        FileKeys(blocked).load()
    with pytest.raises(VaultKeyError, match="cannot be read"):
        FileKeys(blocked / "below").load()
    with pytest.raises(VaultKeyError, match="cannot be written"):
        FileKeys(blocked / "below").store(KeyRing([VaultKey.fresh()]))
    blocked.write_text("")
    with pytest.raises(VaultKeyMissingError, match="no key") as caught:
        FileKeys(blocked).load()
    assert str(blocked) in str(caught.value)
    monkeypatch.setattr(os, "geteuid", lambda: blocked.stat().st_uid + 1)
    os.chown(blocked, 12345, -1) if blocked.stat().st_uid == 0 else None
    with pytest.raises(VaultKeyError, match="somebody else"):
        FileKeys(blocked).load()


def test_environment() -> None:
    """The environment's keys are read; they are not written from here."""
    key = VaultKey.fresh()
    source = EnvironmentKeys({"INNKEEPER_VAULT_KEY": key.text()})
    assert source.load().ids == (key.id,)
    with pytest.raises(VaultKeyError, match="whoever sets it"):
        source.store(source.load())
    with pytest.raises(VaultKeyMissingError):
        EnvironmentKeys({}).load()


class Backend:
    """A keyring in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, account: str) -> str | None:
        return self.kept.get((service, account))

    def set_password(self, service: str, account: str, text: str) -> None:
        if len(self.kept) > 0:
            raise RuntimeError(f"refused {text}")
        self.kept[service, account] = text


def test_system_keyring() -> None:
    """Keys are kept in the system's keyring; what it raises is told without what it was given."""
    source, key = SystemKeys(Backend()), VaultKey.fresh()
    with pytest.raises(VaultKeyMissingError):
        source.load()
    source.store(KeyRing([key]))
    assert source.load().ids == (key.id,)
    with pytest.raises(VaultKeyError, match="RuntimeError") as caught:
        source.store(KeyRing([key]))
    assert key.text() not in caught.value.render()
    assert caught.value.__cause__ is None


def test_without_the_library_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library is missing, the error names its extra; where it is there, it is asked."""
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)
    with pytest.raises(UnavailableError, match="keyring"):
        SystemKeys().load()
    monkeypatch.setitem(__import__("sys").modules, "keyring", Backend())
    with pytest.raises(VaultKeyMissingError):
        SystemKeys().load()


def test_where_keys_are_looked_for(tmp_path: Path) -> None:
    """The key itself, then the file or the keyring that is named, then the file in the home; or what is asked for."""
    home = {"INNKEEPER_HOME": str(tmp_path)}
    assert find_keys(home).location == str(tmp_path / "vault.key")
    assert find_keys({**home, "INNKEEPER_VAULT_KEY_FILE": "/x/k"}).location == "/x/k"
    assert isinstance(find_keys({**home, "INNKEEPER_VAULT_KEY_FILE": "keyring:"}), SystemKeys)
    assert isinstance(find_keys({**home, "INNKEEPER_VAULT_KEY": "x"}), EnvironmentKeys)
    assert isinstance(find_keys(home, kind="keyring"), SystemKeys)
    assert isinstance(find_keys({**home, "INNKEEPER_VAULT_KEY_FILE": "keyring:"}, kind="file"), FileKeys)
    with pytest.raises(UsageError):
        find_keys(home, kind="pocket")


@pytest.mark.parametrize(
    "raw", [bytes(32), b"a" * 32, b"0123456" * 4 + b"0123"], ids=["zeros", "one byte", "seven bytes"]
)
def test_keys_that_are_not_random_are_refused(raw: bytes) -> None:
    """A key of zeros, or of few different bytes, is none that chance has made."""
    with pytest.raises(VaultKeyError, match="random"):
        VaultKey(raw)
