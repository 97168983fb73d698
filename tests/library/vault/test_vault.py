"""The vault: secrets come out only by `reveal`, only whole, only with their key, and only under their name."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update

from innkeeper.library.db.engine import Database
from innkeeper.library.db.queries import query
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.db.tables.logs import audit_events
from innkeeper.library.db.tables.templates import secrets
from innkeeper.library.errors import (
    FieldError,
    NotFoundError,
    TamperedSecretError,
    VaultError,
    VaultKeyError,
    VaultKeyMissingError,
)
from innkeeper.library.models.stores import ProviderStore
from innkeeper.library.vault.keys import EnvironmentKeys, FileKeys, KeyRing, VaultKey
from innkeeper.library.vault.sealing import seal, unseal
from innkeeper.library.vault.vault import MOST_BYTES, Vault
from innkeeper.prompt.errors import InnkeeperError, UsageError
from innkeeper.prompt.machine import Secret

CANARY = "canary-7f3a-Zx9"


@pytest.fixture
def vault(db: Database, tmp_path: Path) -> Vault:
    """A vault with a key in a file."""
    made = Vault(db, FileKeys(tmp_path / "vault.key"))
    made.init()
    return made


def everything(vault: Vault) -> str:
    """All that the database tells anybody, as text."""
    tables = ("secrets", "audit_events", "api_providers", "settings")
    rows = [query(vault.db, f"SELECT * FROM {table}") for table in tables]
    return repr((rows, vault.list(), vault.status(), vault.doctor(), vault, vault.keys, AuditStore(vault.db).newest()))


def test_set_and_reveal(vault: Vault) -> None:
    """What is set is revealed, as a value that shows nothing, and the use is an audit event."""
    entry = vault.set("OPENROUTER", CANARY, who="ann")
    found = vault.reveal("OPENROUTER", who="adapter", why="chat")
    assert found.reveal() == CANARY
    assert (entry.is_set, entry.updated_by, entry.key_id) == (True, "ann", vault.keys.load().primary.id)
    event = AuditStore(vault.db).newest(1)[0]
    assert (event.action, event.actor, event.details["why"]) == ("secrets.reveal", "adapter", "chat")


def test_nothing_tells_the_secret(vault: Vault) -> None:
    """No listing, status, audit event, row, text form or finding holds the secret or a key; pickling is refused."""
    vault.set("A", CANARY)
    vault.set("A", Secret(f"{CANARY}-2"))
    vault.rotate()
    vault.reveal("A", who="x", why="y")
    key = vault.keys.load().primary
    told = everything(vault) + repr(key) + str(key) + repr(vault.reveal("A", who="x", why="y"))
    assert CANARY not in told
    assert key.text().strip() not in told
    with pytest.raises(UsageError):
        pickle.dumps(vault.reveal("A", who="x", why="y"))


def test_errors_do_not_tell_the_secret(vault: Vault) -> None:
    """Whatever fails, neither the error nor its traceback holds the secret."""
    failures: list[Callable[[], object]] = [
        lambda: vault.set("no such name!", CANARY),
        lambda: vault.set("A", CANARY * MOST_BYTES),
        lambda: vault.set("A", f"{CANARY}\0"),
        lambda: vault.set("A", f"{CANARY}\ud800"),
    ]
    for fail in failures:
        with pytest.raises(FieldError) as caught:
            fail()
        told = f"{caught.value.render()}{caught.value.to_dict()}{''.join(traceback.format_exception(caught.value))}"
        assert CANARY not in told.replace("CANARY", "")
    with pytest.raises(FieldError):
        vault.set("A", " \n")


def test_rows_cannot_be_swapped(vault: Vault) -> None:
    """A ciphertext opens only under the name for which it was made."""
    vault.set("A", "one")
    vault.set("B", "other")
    rows = {name: vault._store.ciphertext(name) for name in "AB"}
    with vault.db.transaction() as connection:
        for name, other in ("AB", "BA"):
            connection.execute(update(secrets).where(secrets.c.name == name).values(ciphertext=rows[other]))
    for name in "AB":
        with pytest.raises(TamperedSecretError, match=name):
            vault.reveal(name, who="x", why="y")
    assert {finding.code for finding in vault.doctor() if not finding.ok} == {"tampered_secret"}


@pytest.mark.parametrize("damage", ["bit", "short", "form", "key id"])
def test_tampering_is_found(vault: Vault, damage: str) -> None:
    """A changed row never opens: not with a bit turned, cut, in another form, or given to another key of the ring."""
    vault.set("A", CANARY)
    vault.rotate()
    sealed = vault._store.ciphertext("A")
    changes: dict[str, dict[str, object]] = {
        "bit": {"ciphertext": sealed[:-1] + bytes([sealed[-1] ^ 1])},
        "short": {"ciphertext": sealed[:9]},
        "form": {"ciphertext": b"old" + sealed},
        "key id": {"key_id": vault.keys.load().ids[1]},
    }
    with vault.db.transaction() as connection:
        connection.execute(update(secrets).values(changes[damage]))
    with pytest.raises(TamperedSecretError) as caught:
        vault.reveal("A", who="x", why="y")
    assert caught.value.exit_code == 69


def test_lost_and_wrong_keys(vault: Vault, tmp_path: Path) -> None:
    """Without a key, and with another one, opening fails with an error of its own; listing goes on."""
    vault.set("A", CANARY)
    lost = Vault(vault.db, FileKeys(tmp_path / "nowhere"))
    other = Vault(vault.db, EnvironmentKeys({"INNKEEPER_VAULT_KEY": VaultKey.fresh().text()}))
    with pytest.raises(VaultKeyMissingError):
        lost.reveal("A", who="x", why="y")
    with pytest.raises(VaultKeyError, match=vault.keys.load().primary.id):
        other.reveal("A", who="x", why="y")
    assert lost.list() == other.list() == vault.list()
    assert (lost.status().key_id, lost.status().sealed_by_others) == (None, 1)
    assert other.status().sealed_by_others == 1
    assert [finding.code for finding in lost.doctor()] == ["vault_key_missing"]
    assert "vault_key" in {finding.code for finding in other.doctor()}
    with pytest.raises(VaultKeyError):
        other.rotate()
    assert vault.reveal("A", who="x", why="y").reveal() == CANARY


def test_rotation(vault: Vault) -> None:
    """A rotation seals everything with a new key; old ones stay until they are let go."""
    vault.set("A", "one")
    vault.set("B", "two")
    first = vault.keys.load().primary.id
    done = vault.rotate(who="ann")
    assert (done.before, done.secrets, done.dropped) == (first, 2, ())
    assert {entry.key_id for entry in vault.list()} == {done.key_id} != {first}
    assert vault.keys.load().ids == (done.key_id, first)
    last = vault.rotate(drop_old=True)
    assert set(last.dropped) == {done.key_id, first}
    assert vault.keys.load().ids == (last.key_id,)
    assert vault.reveal("B", who="x", why="y").reveal() == "two"


def test_rotation_by_environment(db: Database) -> None:
    """Keys of the environment are not made: the first of them is what everything is sealed with."""
    old, new = VaultKey.fresh(), VaultKey.fresh()
    Vault(db, EnvironmentKeys({"INNKEEPER_VAULT_KEY": old.text()})).set("A", CANARY)
    both = Vault(db, EnvironmentKeys({"INNKEEPER_VAULT_KEY": f"{new.text()},{old.text()}"}))
    assert [finding.code for finding in both.doctor()] == ["key", "older_key"]
    assert (both.rotate().key_id, both.rotate().before) == (new.id, old.id)
    assert (
        Vault(db, EnvironmentKeys({"INNKEEPER_VAULT_KEY": new.text()})).reveal("A", who="x", why="y").reveal() == CANARY
    )
    with pytest.raises(VaultKeyError, match="whoever sets it"):
        both.rotate(drop_old=True)


def test_a_rotation_that_fails_changes_nothing(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sealing fails halfway every secret is as it was, and opens."""
    for name in ("A", "B"):
        vault.set(name, name * 3)
    before = vault.list()
    put, calls = vault._put, []

    def failing(*words: object) -> None:
        calls.append(words)
        if len(calls) > 1:
            raise VaultError("no more")
        put(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(vault, "_put", failing)
    with pytest.raises(VaultError, match="no more"):
        vault.rotate()
    assert vault.list() == before
    assert [vault.reveal(name, who="x", why="y").reveal() for name in "AB"] == ["AAA", "BBB"]


def test_unset(vault: Vault) -> None:
    """A secret is forgotten; one that is not set is an error that offers near names."""
    vault.set("OPENROUTER", CANARY)
    with pytest.raises(NotFoundError) as caught:
        vault.unset("OPENROUTR")
    assert caught.value.hint == "did you mean 'OPENROUTER'?"
    vault.unset("OPENROUTER")
    assert vault.list() == ()
    with pytest.raises(NotFoundError):
        vault.reveal("OPENROUTER", who="x", why="y")


def test_init_twice(vault: Vault) -> None:
    """A key that is there is never overwritten."""
    before = vault.keys.load().ids
    with pytest.raises(VaultError, match="already"):
        vault.init()
    assert vault.keys.load().ids == before


def test_providers_without_their_secret(vault: Vault) -> None:
    """A secret that a provider names and nobody has set is listed, and found by the doctor."""
    ProviderStore(vault.db).put({"name": "openrouter", "secret_name": "OR"})
    (entry,) = vault.list()
    assert (entry.name, entry.is_set, entry.providers) == ("OR", False, ("openrouter",))
    assert [finding.code for finding in vault.doctor()] == ["key", "unset"]
    vault.set("OR", CANARY)
    assert all(finding.ok for finding in vault.doctor())


def test_no_use_without_its_record(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the audit event cannot be written, nothing is revealed."""
    vault.set("A", CANARY)

    def refuse(*_: object, **__: object) -> None:
        raise InnkeeperError("no audit")

    monkeypatch.setattr(AuditStore, "append", refuse)
    with pytest.raises(InnkeeperError, match="no audit"):
        vault.reveal("A", who="x", why="y")


def test_keys_are_found(monkeypatch: pytest.MonkeyPatch, db: Database, tmp_path: Path) -> None:
    """Where no source is given, the environment decides."""
    monkeypatch.setenv("INNKEEPER_VAULT_KEY_FILE", str(tmp_path / "k"))
    monkeypatch.delenv("INNKEEPER_VAULT_KEY", raising=False)
    FileKeys(tmp_path / "k").store(KeyRing([VaultKey.fresh()]))
    assert Vault(db).status().place == str(tmp_path / "k")


KEY, OTHER = VaultKey(bytes(range(32, 64))), VaultKey(bytes(range(32)))
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=80)


@given(name=TEXTS, text=TEXTS)
def test_round_trip(name: str, text: str) -> None:
    """Any text comes back under its name; the same text is never sealed to the same bytes."""
    sealed = seal(name, Secret(text), KEY)
    assert unseal(name, sealed, KEY).reveal() == text
    assert seal(name, Secret(text), KEY) != sealed


@given(name=TEXTS, other=TEXTS, place=st.integers(min_value=0), turn=st.integers(min_value=1, max_value=255))
def test_nothing_else_opens(name: str, other: str, place: int, turn: int) -> None:
    """Another name, another key, any byte changed, and anything cut off: none of them opens."""
    sealed = seal(name, Secret("a secret"), KEY)
    at = place % len(sealed)
    changed = sealed[:at] + bytes([sealed[at] ^ turn]) + sealed[at + 1 :]
    wrong = [(name, sealed, OTHER), (name, changed, KEY), (name, sealed[:at], KEY), (name, sealed + b"x", KEY)]
    wrong += [(other, sealed, KEY)] if other != name else []
    for attempt in wrong:
        with pytest.raises(TamperedSecretError):
            unseal(*attempt)


@given(st.binary(max_size=120))
def test_no_bytes_bring_it_down(data: bytes) -> None:
    """Bytes that nobody sealed are an error of the vault."""
    with pytest.raises(TamperedSecretError):
        unseal("a", data, KEY)


@pytest.mark.parametrize(("name", "value"), [("N", 1), ("N", None), ("N", b"x"), (1, "x")])
def test_what_is_no_text_is_refused(vault: Vault, name: Any, value: Any) -> None:
    """A name or value that is no text is an error that names the field, and shows nothing of it."""
    with pytest.raises(FieldError, match="must be text"):
        vault.set(name, value)


def test_an_older_ciphertext_is_noticed(vault: Vault) -> None:
    """Who puts a row back as it was is found out, by whoever uses the secret and by the doctor; setting it anew mends it."""
    vault.set("N", "old")
    with vault.db.reading() as connection:
        row = connection.execute(select(secrets)).mappings().one()
    vault.set("N", "new")
    with vault.db.transaction() as connection:
        connection.execute(update(secrets).values(ciphertext=row["ciphertext"]))
    with pytest.raises(TamperedSecretError, match="set last"):
        vault.reveal("N", who="a", why="b")
    assert "tampered_secret" in {finding.code for finding in vault.doctor()}
    vault.set("N", "newer")
    assert vault.reveal("N", who="a", why="b").reveal() == "newer"
    vault.rotate()
    assert vault.reveal("N", who="a", why="b").reveal() == "newer"


def test_a_secret_from_before_is_opened(vault: Vault) -> None:
    """A secret whose change was recorded by an earlier release, without its digest, opens as ever."""
    vault.set("N", "old")
    immutable = "keep_audit_events_update" if vault.db.dialect == "sqlite" else "keep_audit_events ON audit_events"
    with vault.db.transaction() as connection:
        connection.exec_driver_sql(f"DROP TRIGGER {immutable}")
        connection.execute(update(audit_events).values(details={}))
    assert vault.reveal("N", who="a", why="b").reveal() == "old"
