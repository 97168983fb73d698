"""Stored keys: a provider's key is set once, used by every command that sends, and never shown.

A key is stored in the keyring of the operating system if the library ``keyring`` reaches one; else in a file of Innkeeper's
folder that only its owner may read, encrypted with the key of the vault. It is named by a provider (`PROVIDERS` and those of the
configuration) or by a host, and is sent to that address only.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from innkeeper.lazy import install_line, require
from innkeeper.prompt.errors import FormatError, UnavailableError, UnknownNameError, UsageError, Where
from innkeeper.prompt.machine import Secret, home
from innkeeper.prompt.typed.once import decode

if TYPE_CHECKING:
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.library.vault.keys import KeyRing


MAX_KEYS_BYTES: Final = 1_000_000
"""The longest file of stored keys, in bytes (`FormatError`)."""

_FILE: Final = "keys.json"
_SERVICE: Final = "innkeeper"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_LONGEST: Final = 4_096


class StoredKey(NamedTuple):
    """The public part of a key: its name, and where it is stored."""

    name: str
    place: str


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One key in the file: encrypted, or, without ``sealed``, in the system keyring."""

    sealed: str = ""
    key_id: str = ""


class _Keys(msgspec.Struct, frozen=True):
    """The file."""

    keys: dict[str, _Entry]
    innkeeper_keys: int = 1


class KeyStore:
    """The stored keys of one user. ``keyring`` is the library of that name by default, or a stand-in."""

    def __init__(self, path: Path | None = None, environ: Mapping[str, str] = os.environ, keyring: Any = None) -> None:
        self.path = path or home(environ) / _FILE
        self.environ = environ
        self._keyring = keyring

    def set(self, name: str, secret: Secret) -> StoredKey:
        """Store a key, replacing an earlier one.

        Raises:
            UsageError: an invalid name or value; the value is not quoted.
            VaultError: the vault's key cannot be used.
            UnavailableError: the file cannot be written.
        """
        text = secret.reveal().strip()
        if not _NAME.fullmatch(name):
            raise UsageError("a key is named by a provider or a host", hint="innkeeper keys set openrouter")
        if not text or not (text.isascii() and text.isprintable()) or " " in text or len(text) > _LONGEST:
            raise UsageError("this is no key: it is empty, or has spaces or other characters that no key has")
        entry = _Entry() if self._in_keyring(name, text) else self._sealed(name, Secret(text))
        with self._changing():
            self._write({**self._entries(), name: entry})
        return StoredKey(name, self._location(entry))

    def require(self) -> None:
        """Raise `UnavailableError` where no key could be stored: there is neither a keyring nor the library that seals keys."""
        if not self._has_keyring():
            require("cryptography")

    def get(self, name: str) -> Secret | None:
        """Return a key; None if there is none of this name. Raises `UnavailableError` or a vault error if it cannot be opened."""
        entry = self._entries().get(name)
        if entry is None:
            return None
        return self._opened(name, entry) if entry.sealed else self._from_keyring(name)

    def remove(self, name: str) -> None:
        """Delete a key. Raises `UnknownNameError`."""
        entries = self._entries()
        if name not in entries:
            raise UnknownNameError("key", name, entries)
        if not entries[name].sealed:
            keyring = self._library()
            try:
                keyring.delete_password(_SERVICE, f"key:{name}")
            except Exception as error:  # noqa: BLE001 - whatever a backend raises
                raise _refuses(error) from None
        with self._changing():
            self._write({other: entry for other, entry in self._entries().items() if other != name})

    def list(self) -> tuple[StoredKey, ...]:
        """Return all keys by name, without opening them."""
        return tuple(StoredKey(name, self._location(entry)) for name, entry in sorted(self._entries().items()))

    # ---------------------------------------------------------------------------------------------------------- keyring

    def _library(self) -> Any:
        if self._keyring is None:
            try:
                import keyring
            except ModuleNotFoundError:
                hint = install_line("'innkeeper[keyring]'")
                raise UnavailableError("the keyring of the system cannot be asked: no library", hint=hint) from None
            self._keyring = keyring
        return self._keyring

    def _has_keyring(self) -> bool:
        try:
            return bool(self._library().get_keyring().priority >= 1)
        except Exception:  # noqa: BLE001 - a backend may raise anything; the file is there for that
            return False

    def _in_keyring(self, name: str, text: str) -> bool:
        """Store the key in the system keyring; False if there is none."""
        if not self._has_keyring():
            return False
        try:
            self._library().set_password(_SERVICE, f"key:{name}", text)
        except Exception:  # noqa: BLE001 - a backend may raise anything; the file is there for that
            return False
        return True

    def _from_keyring(self, name: str) -> Secret:
        try:
            text = self._library().get_password(_SERVICE, f"key:{name}")
        except UnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - its text may quote what it was given
            raise _refuses(error) from None
        if not text:
            hint = f"innkeeper keys set {name}"
            raise UnavailableError(f"the key {name!r} is no more in the keyring of the system", hint=hint)
        return Secret(text)

    # ------------------------------------------------------------------------------------------------------------- file

    def _sealed(self, name: str, secret: Secret) -> _Entry:
        from innkeeper.library.vault.sealing import seal

        key = self._ring().primary
        return _Entry(base64.b64encode(seal(f"key:{name}", secret, key)).decode(), key.id)

    def _ring(self) -> KeyRing:
        """Return the keys of the vault, creating the first if there is none yet."""
        from innkeeper.library.errors import VaultKeyMissingError
        from innkeeper.library.vault.keys import find_keys, first_key

        source = find_keys(self.environ)
        try:
            return source.load()
        except VaultKeyMissingError:
            return first_key(source) or source.load()

    def _opened(self, name: str, entry: _Entry) -> Secret:
        from innkeeper.library.errors import VaultKeyError
        from innkeeper.library.vault.keys import find_keys
        from innkeeper.library.vault.sealing import unseal

        source = find_keys(self.environ)
        key = source.load().get(entry.key_id)
        if key is None:
            hint = f"innkeeper keys set {name}"
            raise VaultKeyError(f"the key {name!r} was sealed by another key than {source.location} has", hint=hint)
        try:
            sealed = base64.b64decode(entry.sealed, validate=True)
        except (binascii.Error, ValueError):
            raise FormatError("the stored key has not the form of one", where=Where(str(self.path), name)) from None
        return unseal(f"key:{name}", sealed, key)

    def _location(self, entry: _Entry) -> str:
        return str(self.path) if entry.sealed else "the keyring of the system"

    def _entries(self) -> dict[str, _Entry]:
        where = Where(asset=str(self.path))
        try:
            with self.path.open("rb") as file:
                data = file.read(MAX_KEYS_BYTES + 1)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise UnavailableError(f"the stored keys cannot be read: {error.strerror}", where=where) from None
        try:
            if len(data) > MAX_KEYS_BYTES:
                raise FormatError(f"longer than {MAX_KEYS_BYTES:,} bytes: no file of keys", where=where)
            return decode(data, _Keys).keys
        except (msgspec.DecodeError, RecursionError):
            hint = "take the file away, and set the keys again"
            raise FormatError("not a file of stored keys", where=where, hint=hint) from None

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock on the file, so that a read and a write lose no concurrent change."""
        from innkeeper.content.files.private import one_writer

        try:
            with one_writer(self.path.parent):
                yield
        except OSError as error:
            where = Where(asset=str(self.path))
            raise UnavailableError(f"the keys cannot be stored: {error.strerror}", where=where) from None

    def _write(self, entries: dict[str, _Entry]) -> None:
        from innkeeper.content.files.private import write_private

        write_private(self.path, msgspec.json.format(msgspec.json.encode(_Keys(entries)), indent=2) + b"\n")


def _refuses(error: Exception) -> UnavailableError:
    return UnavailableError(f"the keyring of the system refuses: {type(error).__name__}")


def key_for(address: str, settings: UserSettings, store: KeyStore | None = None) -> Secret | None:
    """Return the stored key for an address, by its provider or else its host; None if there is none.

    ``INNKEEPER_API_KEY`` overrides stored keys; the sender reads it itself.
    """
    return None if settings.environ.get("INNKEEPER_API_KEY") else stored_key(address, settings, store)


def stored_key(address: str, settings: UserSettings, store: KeyStore | None = None) -> Secret | None:
    """Return the stored key for an address, regardless of the environment; None if there is none."""
    keys = store or KeyStore(environ=settings.environ)
    stored = {key.name for key in keys.list()}
    name = next((name for name in key_names(address, settings) if name in stored), None)
    return None if name is None else keys.get(name)


def key_names(address: str, settings: UserSettings) -> list[str]:
    """Return the names under which a key for an address may be stored. A bare host means its default port over TLS."""
    from innkeeper.inference.adapters.providers import PROVIDERS

    origin = _origin(address)
    named = {**{name: one.base_url for name, one in PROVIDERS.items()}, **settings.table("providers")}
    hosts = [] if origin is None else [f"{origin[1]}:{origin[2]}"]
    hosts += [origin[1]] if origin is not None and (origin[0], origin[2]) == ("https", _usual_port("https")) else []
    return [*(name for name, known in named.items() if origin is not None and _origin(known) == origin), *hosts]


def _origin(address: str) -> tuple[str, str, int] | None:
    try:
        parts = urlsplit(address)
        port = parts.port or _usual_port(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname or "", port) if parts.hostname else None


def _usual_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80
