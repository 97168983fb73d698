"""The machine: its time and chance, where Innkeeper keeps its files, and secrets that are used but never shown.

Time and chance are asked here and nowhere else, by doors, which record them in the request.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from innkeeper.prompt.errors import UsageError


def utc_now() -> datetime:
    """The machine's time, aware, in UTC."""
    return datetime.now(UTC)


def fresh_seed() -> int:
    """A new 32-bit seed for a door that wants chance."""
    return int.from_bytes(random_bytes(4))


def random_bytes(count: int) -> bytes:
    """Return bytes that cannot be predicted: for identifiers, and for keys and nonces, which are never derived."""
    return os.urandom(count)


_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH: Final = 26
_CHANCE_BITS: Final = 80


def fresh_id() -> str:
    """Return an identifier that nothing has: a ULID of this moment."""
    return ulid(int(utc_now().timestamp() * 1000), int.from_bytes(random_bytes(_CHANCE_BITS // 8)))


def ulid(epoch_ms: int, chance: int) -> str:
    """A ULID (26 letters and digits) of a time in milliseconds and 80 bits of chance."""
    number, digits = (max(epoch_ms, 0) << _CHANCE_BITS) | chance, ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits


HOME_VARIABLE: Final = "INNKEEPER_HOME"
"""The environment variable with the folder of Innkeeper's files."""


def home(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the folder of Innkeeper's files: ``$INNKEEPER_HOME``, else the platform's folder for program data."""
    if environ.get(HOME_VARIABLE):
        return Path(environ[HOME_VARIABLE]).expanduser()
    if platform == "win32" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "innkeeper"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "innkeeper"
    data = Path(environ.get("XDG_DATA_HOME") or "")
    return (data if data.is_absolute() else Path.home() / ".local" / "share") / "innkeeper"


CONFIG_VARIABLE: Final = "INNKEEPER_CONFIG"
"""The environment variable that names the configuration file."""


def config_file(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """The path of the settings: ``$INNKEEPER_CONFIG``, or ``config.toml`` in ``$INNKEEPER_HOME`` or the platform's folder."""
    if environ.get(CONFIG_VARIABLE):
        return Path(environ[CONFIG_VARIABLE]).expanduser()
    if environ.get(HOME_VARIABLE) or platform == "darwin":
        folder = home(environ, platform)
    elif platform == "win32" and environ.get("APPDATA"):
        folder = Path(environ["APPDATA"]) / "innkeeper"
    else:
        config = Path(environ.get("XDG_CONFIG_HOME") or "")
        folder = (config if config.is_absolute() else Path.home() / ".config") / "innkeeper"
    return folder / "config.toml"


REDACTED: Final = "[secret]"
"""The text shown in place of a secret."""

_SHORTEST: Final = 4


class Secret:
    """A key or password. Printing, formatting, pickling and comparing it show nothing; `reveal` is the one way in."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the wire."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        raise UsageError("a Secret cannot be stored")


def redact_secrets(text: str, secrets: Iterable[Secret]) -> str:
    """``text`` without any of the secrets in it. Secrets under four characters are left: they would blank out prose."""
    for secret in sorted(secrets, key=lambda item: -len(item.reveal())):
        if len(secret.reveal()) >= _SHORTEST:
            text = text.replace(secret.reveal(), REDACTED)
    return text
