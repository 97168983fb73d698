"""VaultKeys: the keys that seal secrets, and where they are kept: the environment, a file, or the keyring of the system.

A key is 32 bytes, written as base64. Several may be given, one a line or between commas: the first seals, all of them open.
A key's id is derived from it, so that a stored secret says which key it needs without telling anything of it.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Protocol

from innkeeper.content.files.private import one_writer, write_private
from innkeeper.lazy import install_line
from innkeeper.library.errors import VaultKeyError, VaultKeyMissingError
from innkeeper.prompt.errors import UnavailableError, UsageError, Where
from innkeeper.prompt.machine import Secret, home, random_bytes

KEY_VARIABLE: Final = "INNKEEPER_VAULT_KEY"
"""The environment variable with keys."""

FILE_VARIABLE: Final = "INNKEEPER_VAULT_KEY_FILE"
"""The environment variable with the path of a file of keys."""

FILE_NAME: Final = "vault.key"
"""The file of keys in Innkeeper's folder."""

KEY_BYTES: Final = 32
MOST_KEYS: Final = 64
_LEAST_BYTES: Final = 8
"""Different bytes of a key at least: by chance, not one of 10^36 keys has fewer."""

_MAKE: Final = "`innkeeper admin vault init` makes one"
_MOST_BYTES: Final = 16_384
_SERVICE: Final = "innkeeper"
_ACCOUNT: Final = "vault"


class VaultKey:
    """One key. Nothing shows it: neither printing nor pickling."""

    __slots__ = ("_secret", "id")

    def __init__(self, raw: bytes) -> None:
        if len(raw) != KEY_BYTES:
            raise VaultKeyError(f"a key of the vault has {KEY_BYTES} bytes", hint=_MAKE)
        if len(set(raw)) < _LEAST_BYTES:
            raise VaultKeyError("a key of the vault is of random bytes, and these are not", hint=_MAKE)
        self._secret = Secret(base64.b64encode(raw).decode())
        self.id = sha256(b"innkeeper vault key\0" + raw).hexdigest()[:12]

    @classmethod
    def fresh(cls) -> VaultKey:
        """A new key."""
        return cls(random_bytes(KEY_BYTES))

    @classmethod
    def of(cls, text: str) -> VaultKey:
        """A key from base64, of either alphabet. Raises `VaultKeyError`."""
        plain = text.strip().translate({ord("-"): "+", ord("_"): "/"})
        try:
            raw = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise VaultKeyError("a key of the vault is not base64") from None
        return cls(raw)

    def raw(self) -> bytes:
        """The bytes, for the cipher."""
        return base64.b64decode(self._secret.reveal())

    def text(self) -> str:
        """The key as it is kept."""
        return self._secret.reveal()

    def __repr__(self) -> str:
        return f"VaultKey({self.id})"


class KeyRing:
    """The keys at hand: the first seals, all of them open."""

    def __init__(self, keys: Iterable[VaultKey]) -> None:
        self.keys = tuple({key.id: key for key in keys}.values())
        if not self.keys:
            raise VaultKeyMissingError("there is no key of the vault")
        if len(self.keys) > MOST_KEYS:
            raise VaultKeyError(f"more than {MOST_KEYS} keys of the vault")

    @classmethod
    def of(cls, text: str) -> KeyRing:
        """The keys in a text: one a line or between commas; lines that begin with ``#`` are comments."""
        lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
        return cls(VaultKey.of(part) for line in lines for part in line.split(",") if part.strip())

    @property
    def primary(self) -> VaultKey:
        """The key that seals."""
        return self.keys[0]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all keys."""
        return tuple(key.id for key in self.keys)

    def get(self, key_id: str) -> VaultKey | None:
        """The key with this id."""
        return next((key for key in self.keys if key.id == key_id), None)

    def text(self) -> str:
        """All keys as they are kept, one a line."""
        return "".join(f"{key.text()}\n" for key in self.keys)


class KeySource(Protocol):
    """Where keys are kept. ``location`` is how people call it; it never holds a key."""

    location: str

    def load(self) -> KeyRing:
        """The keys. Raises `VaultKeyMissingError`, `VaultKeyError`."""
        ...

    def store(self, ring: KeyRing) -> None:
        """Keep these keys instead. Raises `VaultKeyError` where that cannot be done from here."""
        ...


class EnvironmentKeys:
    """Keys in an environment variable: they are read there and kept by whoever sets it."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.location = f"${KEY_VARIABLE}"
        self._environ = environ

    def load(self) -> KeyRing:
        """The keys of the variable."""
        return KeyRing.of(self._environ.get(KEY_VARIABLE, ""))

    def store(self, _ring: KeyRing) -> None:
        """An environment is not changed from inside."""
        hint = f"put a new key in front of the others in {KEY_VARIABLE} and rotate again"
        raise VaultKeyError(f"keys in {self.location} are kept by whoever sets it", hint=hint)


class FileKeys:
    """Keys in a file that only its owner may read."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).expanduser()
        self.location = str(self.path)

    def load(self) -> KeyRing:
        """The keys of the file. Raises `VaultKeyError` where anybody else may read or write it."""
        where = Where(asset=self.location)
        data = self._read(where)
        if len(data) > _MOST_BYTES:
            raise VaultKeyError(f"larger than {_MOST_BYTES} bytes: no file of keys", where=where)
        try:
            return KeyRing.of(data.decode("ascii", "replace"))
        except (VaultKeyError, VaultKeyMissingError) as error:
            raise error.at(asset=self.location) from None

    def _read(self, where: Where) -> bytes:
        flags = (
            os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
        )  # a pipe is refused, not waited for
        try:
            number = os.open(self.path, flags)
        except FileNotFoundError:
            raise VaultKeyMissingError("there is no file of keys", where=where) from None
        except OSError as error:
            raise VaultKeyError(f"the file of keys cannot be read: {error.strerror}", where=where) from None
        try:
            self._check(os.fstat(number), where)
            return os.read(number, _MOST_BYTES + 1)
        finally:
            os.close(number)

    def _check(self, facts: os.stat_result, where: Where) -> None:
        if not stat.S_ISREG(facts.st_mode):
            raise VaultKeyError("the file of keys is no plain file", where=where)
        if os.name == "posix" and stat.S_IMODE(facts.st_mode) & 0o077:
            mode = f"{stat.S_IMODE(facts.st_mode):04o}"
            hint = f"chmod 600 {self.location}; if others could read it, rotate the key too"
            raise VaultKeyError(f"others may read the file of keys (mode {mode})", where=where, hint=hint)
        if os.name == "posix" and facts.st_uid not in {0, os.geteuid()}:
            raise VaultKeyError("the file of keys belongs to somebody else", where=where)

    def store(self, ring: KeyRing) -> None:
        """Replace the file, whole or not at all, readable for its owner only."""
        try:
            write_private(self.path, ring.text().encode())
        except OSError as error:
            message = f"the file of keys cannot be written: {error.strerror}"
            raise VaultKeyError(message, where=Where(asset=self.location)) from None


class SystemKeys:
    """Keys in the keyring of the operating system, by the library ``keyring`` (extra ``keyring``)."""

    location = "the keyring of the system"

    def __init__(self, backend: Any = None) -> None:
        self._backend = backend

    def load(self) -> KeyRing:
        """The keys of the keyring."""
        return KeyRing.of(self._call("get_password") or "")

    def store(self, ring: KeyRing) -> None:
        """Keep the keys in the keyring."""
        self._call("set_password", ring.text())

    def _call(self, name: str, *words: str) -> Any:
        backend = self._backend if self._backend is not None else _keyring()
        try:
            return getattr(backend, name)(_SERVICE, _ACCOUNT, *words)
        except Exception as error:  # noqa: BLE001 - whatever a backend raises; its text may quote what it was given
            raise VaultKeyError(f"the keyring of the system refuses: {type(error).__name__}") from None


def _keyring() -> Any:
    try:
        import keyring
    except ModuleNotFoundError:
        raise UnavailableError("the library keyring is missing", hint=install_line("'innkeeper[keyring]'")) from None
    return keyring


def first_key(keys: KeySource) -> KeyRing | None:
    """The first key, made and kept; None where there is one. One process at a time makes it: a key that is overwritten is lost.

    Raises `VaultKeyError` where it cannot be kept, or what is there is no key.
    """
    try:
        with one_writer(keys.path.parent if isinstance(keys, FileKeys) else home()):
            try:
                keys.load()
            except VaultKeyMissingError:
                ring = KeyRing([VaultKey.fresh()])
                keys.store(ring)
                return ring
    except OSError as error:
        message = f"the keys cannot be written: {error.strerror}"
        raise VaultKeyError(message, where=Where(asset=keys.location)) from None
    return None


def find_keys(environ: Mapping[str, str] = os.environ, *, kind: str | None = None) -> KeySource:
    """Where keys are kept: the environment's key, the file it names, else `FILE_NAME` in Innkeeper's folder.

    ``kind`` asks for one of them: ``environment``, ``file``, ``keyring``. The keyring is asked without being named only where
    ``INNKEEPER_VAULT_KEY_FILE`` is ``keyring:``.
    """
    named = environ.get(FILE_VARIABLE, "")
    source = kind or ("environment" if environ.get(KEY_VARIABLE) else "keyring" if named == "keyring:" else "file")
    if source == "environment":
        return EnvironmentKeys(environ)
    if source == "keyring":
        return SystemKeys()
    if source != "file":
        raise UsageError(f"keys are not kept in {source!r}", hint="environment, file or keyring")
    return FileKeys(named if named and named != "keyring:" else home(environ) / FILE_NAME)
