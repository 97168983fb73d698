"""Vault: secrets, encrypted in the database, that can be set and used but never read from outside.

`Vault.reveal` is for adapters inside this process; each use is an audit event. Everything else says only that a secret is set,
which key sealed it, and when. A secret is sealed with AES-256-GCM and a random nonce; its name, the key's id and the form of the
ciphertext are authenticated, so that rows cannot be swapped, renamed or given to another key. That it is the one that was set
last, not an older one put back, is told by the audit event of the change, which is never changed itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Final

import msgspec

from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import (
    FieldError,
    NotFoundError,
    TamperedSecretError,
    VaultError,
    VaultKeyError,
    need,
    with_near,
)
from innkeeper.library.models.stores import ProviderStore, SecretStore
from innkeeper.library.vault.keys import KeyRing, KeySource, VaultKey, find_keys, first_key
from innkeeper.library.vault.sealing import seal, unseal
from innkeeper.prompt.errors import Where
from innkeeper.prompt.machine import Secret

MOST_BYTES: Final = 65_536
"""The longest secret, in bytes."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class SecretEntry(msgspec.Struct, frozen=True):
    """What may be told of a secret. One that a provider names and nobody has set is told too, with ``is_set`` off."""

    name: str
    is_set: bool
    key_id: str = ""
    updated_at: str = ""
    updated_by: str = ""
    providers: tuple[str, ...] = ()


class VaultStatus(msgspec.Struct, frozen=True):
    """The vault at a glance. ``key_id`` is None where there is no key that can be used; ``problem`` says why."""

    place: str
    key_id: str | None
    keys: tuple[str, ...]
    secrets: int
    sealed_by_others: int
    problem: str = ""


class VaultFinding(msgspec.Struct, frozen=True):
    """One thing that the doctor found. ``code`` is a word for programs, ``ok`` off where something must be done."""

    code: str
    name: str
    message: str
    ok: bool = False
    hint: str = ""


class Rotated(msgspec.Struct, frozen=True):
    """A rotation: the key that seals now, the one before, how many secrets were sealed anew, and which keys were let go."""

    key_id: str
    before: str
    secrets: int
    dropped: tuple[str, ...] = ()


class Vault:
    """The vault of one library. ``keys`` says where keys are kept; the environment decides where left out."""

    def __init__(self, db: Database, keys: KeySource | None = None) -> None:
        self.db = db
        self.keys = find_keys() if keys is None else keys
        self._store = SecretStore(db)

    # ---------------------------------------------------------------------------------------------------------- writing

    def init(self) -> str:
        """Make the first key and keep it; returns its id. An existing one is left alone: that is an error.

        Raises:
            VaultError: there is a key, or it cannot be kept there.
        """
        with self.db.publishing():
            fresh = first_key(self.keys)
        if fresh is not None:
            return fresh.primary.id
        hint = "`innkeeper admin vault rotate` makes a new key and seals everything anew"
        raise VaultError("there is a key of the vault already", where=Where(asset=self.keys.location), hint=hint)

    def set(self, name: str, value: Secret | str, *, who: str = "") -> SecretEntry:
        """Set a secret, in place of what it was.

        Raises:
            FieldError: a name that cannot be one, or a value that is empty or too long.
            VaultError: there is no usable key.
        """
        need("name", name, str, "text")
        need("value", value, (str, Secret), "text")
        secret = _checked(name, value if isinstance(value, Secret) else Secret(value))
        key = self.keys.load().primary
        self._put(name, secret, key, who)
        return next(entry for entry in self.list() if entry.name == name)

    def unset(self, name: str, *, who: str = "") -> None:
        """Forget a secret. Raises `NotFoundError`."""
        with self._known(name):
            self._store.remove(name, who=who)

    def rotate(self, *, who: str = "", drop_old: bool = False) -> Rotated:
        """Seal everything with a new key.

        The new key is kept before anything is sealed with it, and old ones are let go (only with ``drop_old``: backups need
        them) after everything is sealed anew, so that no moment leaves a secret without its key. Keys in the environment are
        not made here: there the first of them is what everything is sealed with.

        Raises:
            VaultError: a secret does not open, or the key cannot be kept. Nothing is sealed anew then.
        """
        with self.db.publishing():
            before = self.keys.load()
            for row in self._store.list():
                self._open(row.name, before)  # before a new key is made for nothing
            ring = self._with_fresh(before)
            count = self._seal_all(ring, who)
        dropped = tuple(key.id for key in ring.keys[1:]) if drop_old else ()
        if dropped:
            self.keys.store(KeyRing([ring.primary]))
        old = before.primary.id if ring is not before else (ring.ids[1] if len(ring.ids) > 1 else "")
        return Rotated(ring.primary.id, old, count, dropped)

    def _with_fresh(self, ring: KeyRing) -> KeyRing:
        from innkeeper.library.vault.keys import EnvironmentKeys

        if isinstance(self.keys, EnvironmentKeys):
            return ring
        longer = KeyRing([VaultKey.fresh(), *ring.keys])
        self.keys.store(longer)
        return longer

    def _seal_all(self, ring: KeyRing, who: str) -> int:
        rows = self._store.list()
        for row in rows:
            self._put(row.name, self._open(row.name, ring), ring.primary, who)
        return len(rows)

    def _put(self, name: str, secret: Secret, key: VaultKey, who: str) -> None:
        sealed = seal(name, secret, key)
        self._store.put({"name": name, "ciphertext": sealed, "key_id": key.id, "updated_by": who}, who=who)

    # ------------------------------------------------------------------------------------------------------------ using

    def reveal(self, name: str, *, who: str, why: str) -> Secret:
        """The secret itself, for an adapter that sends it. The use is recorded first; where it cannot be, nothing is revealed.

        Raises:
            NotFoundError: it is not set.
            VaultError: its key is missing or another, or it was tampered with.
        """
        with self._known(name):
            secret = self._open(name, self.keys.load())
        AuditStore(self.db).append("secrets.reveal", actor=who, resource=("secrets", name), details={"why": why})
        return secret

    def _open(self, name: str, ring: KeyRing) -> Secret:
        row, sealed = self._store.get(name), self._store.ciphertext(name)
        key = ring.get(row.key_id)
        if key is None:
            message = f"the secret was sealed with the key {row.key_id}, which is not among those given"
            hint = "give the key it was sealed with beside the present one, or set the secret again"
            raise VaultKeyError(message, where=Where(asset="secrets", path=name), hint=hint)
        recorded = self._store.recorded_digest(name)
        if recorded is not None and recorded != sha256(sealed).hexdigest():
            message = "the stored secret is not the one that was set last under this name"
            raise TamperedSecretError(message, where=Where(asset="secrets", path=name))
        return unseal(name, sealed, key)

    # ---------------------------------------------------------------------------------------------------------- looking

    def list(self) -> tuple[SecretEntry, ...]:
        """All secrets that are set or that a provider names, by name. Needs no key."""
        users: dict[str, list[str]] = {}
        for provider in ProviderStore(self.db).list():
            if provider.secret_name:
                users.setdefault(provider.secret_name, []).append(provider.name)
        rows = {row.name: row for row in self._store.list()}
        entries = []
        for name in sorted({*rows, *users}):
            row, providers = rows.get(name), tuple(users.get(name, ()))
            facts = (
                {}
                if row is None
                else {"key_id": row.key_id, "updated_at": row.updated_at, "updated_by": row.updated_by}
            )
            entries.append(SecretEntry(name, row is not None, providers=providers, **facts))
        return tuple(entries)

    def last_uses(self) -> dict[str, str]:
        """When each secret was revealed last, by the audit events. Needs no key."""
        return AuditStore(self.db).last("secrets.reveal", "secrets")

    def status(self) -> VaultStatus:
        """Where the keys are and how many secrets there are. Raises only for the database."""
        rows, problem, ring = self._store.list(), "", None
        try:
            ring = self.keys.load()
        except VaultError as error:
            problem = error.message
        others = sum(ring is None or ring.get(row.key_id) is None for row in rows)
        ids = () if ring is None else ring.ids
        return VaultStatus(self.keys.location, ids[0] if ids else None, ids, len(rows), others, problem)

    def doctor(self) -> tuple[VaultFinding, ...]:
        """Look whether every secret opens, and whether providers have theirs. Tells no secret, raises only for the database."""
        try:
            ring = self.keys.load()
        except VaultError as error:
            return (VaultFinding(error.kind, "", error.message, hint=error.hint or ""), *self._unset())
        opened = [self._examine(row.name, row.key_id, ring) for row in self._store.list()]
        return (
            VaultFinding("key", "", f"the key {ring.primary.id} from {self.keys.location}", ok=True),
            *opened,
            *self._unset(),
        )

    def _examine(self, name: str, key_id: str, ring: KeyRing) -> VaultFinding:
        try:
            self._open(name, ring)
        except VaultError as error:
            return VaultFinding(error.kind, name, error.message, hint=error.hint or "")
        if key_id != ring.primary.id:
            hint = "`innkeeper admin vault rotate` seals everything with the newest key"
            return VaultFinding("older_key", name, f"opens with the older key {key_id}", ok=True, hint=hint)
        return VaultFinding("opens", name, "opens", ok=True)

    def _unset(self) -> tuple[VaultFinding, ...]:
        return tuple(
            VaultFinding(
                "unset",
                entry.name,
                f"not set; wanted by {', '.join(entry.providers)}",
                hint=f"`innkeeper admin vault set {entry.name}` reads it from the terminal or from its input",
            )
            for entry in self.list()
            if not entry.is_set
        )

    @contextmanager
    def _known(self, name: str) -> Iterator[None]:
        """Turn a missing row into a missing secret, with near names."""
        try:
            yield
        except NotFoundError:
            names = (entry.name for entry in self.list() if entry.is_set)
            hint = "`innkeeper admin vault list` shows what is set"
            missing = NotFoundError(f"there is no secret {name[:128]!r}", hint=hint)
            raise with_near(missing, name, names) from None


def _checked(name: str, secret: Secret) -> Secret:
    if not _NAME.fullmatch(name):
        raise FieldError("a secret's name is 1 to 128 letters, digits, dots, dashes and underscores")
    size = len(secret.reveal().encode("utf-8", "surrogatepass"))
    if not secret or not secret.reveal().strip() or "\0" in secret.reveal():
        raise FieldError(f"the value for {name!r} is empty or no text")
    if size > MOST_BYTES:
        raise FieldError(f"the value for {name!r} is longer than {MOST_BYTES:,} bytes")
    try:
        secret.reveal().encode()
    except UnicodeEncodeError:
        raise FieldError(f"the value for {name!r} is no text") from None
    return secret
