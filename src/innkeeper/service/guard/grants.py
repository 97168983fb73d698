"""Grants: the keys of the service, and what the calls of one may do and how much of it, as its line in the key file says.

::

    KEY scope=chat,tasks route=local,openai/* profile=mira rate=60 tokens=100000 calls=4 spend=2.50 seconds=0.5

A word that is left out leaves open what it would bound. Names may be patterns with ``*``. Keys are kept as
digests, compared in constant time, and shown nowhere.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec

from innkeeper.prompt.allowance import BuildLimits
from innkeeper.prompt.errors import ConfigError
from innkeeper.prompt.typed.once import convert
from innkeeper.service.errors import MAX_KEY_FILE, ScopeError

if TYPE_CHECKING:
    from innkeeper.gate.tier import Ceilings


SURFACES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "chat": ("/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/messages"),
        "embeddings": ("/v1/embeddings",),
        "prompts": ("/v1/prompts", "/v1/plans"),
        "run": ("/prompt.v1.PromptService",),
        "jobs": ("/v1/jobs", *(f"/functions/v1/{name}" for name in ("queue-job", "fal-image", "replicate-image"))),
        "tasks": (
            *(f"/functions/v1/{name}" for name in ("enhance-prompt", "playground-chat", "roleplay-chat")),
            *(f"/functions/v1/{name}" for name in ("character-suggestions", "generate-scene")),
            *(
                f"/v1/{name}"
                for name in ("enhance", "chat", "roleplay", "prompts:enhance", "conversations", "memories")
            ),
            *(
                f"/v1/{name}"
                for name in ("scenes", "characters", "tier:evaluate", "templates:resolve", "templates:render")
            ),
        ),
        "admin": (),  # no pages: it lets calls of other surfaces replace what templates say
        "inspector": ("/inspector", "/v1/inspector"),
        "gateway": ("/api/modules", "/api/workflow", "/api/plugins", "/ws"),
        "metrics": ("/metrics", "/v1/routes"),
        "workers": (
            "/v1/workers",
            "/functions/v1/get-active-worker-url",
            "/functions/v1/register-chat-worker",
            "/functions/v1/update-worker-url",
        ),
    }
)
"""By name, what their paths begin with; where two fit, the longer counts."""

_BEGINNINGS: Final = tuple(
    sorted(((start, name) for name, starts in SURFACES.items() for start in starts), key=lambda each: -len(each[0]))
)

INSPECTOR: Final = "inspector"

ANSWERING: Final = frozenset({INSPECTOR, "chat", "embeddings", "run", "jobs", "tasks"})
"""Surfaces whose calls mostly wait for a model: more of them are let in at once than of those that compute."""

PROBES: Final = frozenset({"/", "/health", "/ready"})
"""Pages that programs which watch over the service ask, without a key. They tell no more than that it is there."""


SIGNED: Final = "/v1/jobs/webhooks/"
"""What the paths begin with that programs call which have no key, and sign what they send instead."""


def surface_of(path: str) -> str | None:
    """The surface that a path belongs to."""
    for start, name in _BEGINNINGS:
        if path.startswith(start) and path[len(start) : len(start) + 1] in ("", "/", ":"):
            return name
    return None


_MOST: Final = 10**12
_LISTS: Final = ("scope", "route", "profile", "operation")


class Grant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a key may do. ``None`` is whatever there is.

    ``scope`` names surfaces; ``route``, ``profile`` and ``operation`` (of the gateway) are patterns of names. A key that names
    one of ``route`` and ``profile`` may use nothing of the other. ``rate`` is
    requests and ``tokens`` tokens of models a minute, ``calls`` requests at once, ``spend`` money a day, by the prices
    of the service; keys of one ``tenant`` share it, and no other tenant sees what they store.
    ``limits`` are what the work of one call may take. ``tier`` is the highest content tier of its tasks and jobs: ``nsfw`` is the
    operator's word that whoever holds the key was verified to be an adult. ``gate`` is the service's word for this key alone.
    """

    scope: tuple[str, ...] | None = None
    route: tuple[str, ...] | None = None
    profile: tuple[str, ...] | None = None
    operation: tuple[str, ...] | None = None
    rate: Annotated[float, msgspec.Meta(gt=0, le=_MOST)] | None = None
    tokens: Annotated[float, msgspec.Meta(gt=0, le=_MOST)] | None = None
    calls: Annotated[int, msgspec.Meta(gt=0, le=_MOST)] | None = None
    spend: Annotated[float, msgspec.Meta(gt=0, le=_MOST)] | None = None
    tenant: Annotated[str, msgspec.Meta(max_length=64)] = ""
    tier: Literal["sfw", "nsfw"] = "sfw"
    gate: Literal["", "on", "observe"] = ""
    limits: BuildLimits = BuildLimits()

    @property
    def ceilings(self) -> Ceilings:
        """What lies above the tier that a call asks for: the word of the operator alone, the general tier without one."""
        from innkeeper.gate.tier import Ceilings, Tier

        return Ceilings(account=Tier.of(self.tier))

    @classmethod
    def read(cls, words: Sequence[str]) -> Grant:
        """A grant from the words behind a key. Raises `ConfigError`, `UsageError`; neither quotes a word, which may be a key."""
        named = {name: value for name, _, value in (word.partition("=") for word in words)}
        bounds = [word for word in words if word.partition("=")[0] in BuildLimits.__struct_fields__]
        fields: dict[str, Any] = {
            name: named.pop(name) for name in [*named] if name not in BuildLimits.__struct_fields__
        }
        fields |= {name: tuple(part for part in fields[name].split(",") if part) for name in _LISTS if name in fields}
        hint = f"words: {', '.join(name for name in cls.__struct_fields__ if name != 'limits')}, seconds, steps, output"
        try:
            grant = convert({**fields, "limits": BuildLimits.read(bounds)}, cls, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError("the words behind a key are not what it may do", hint=hint) from error
        empty = next((name for name in _LISTS if getattr(grant, name) == ()), None)
        if empty or not set(grant.scope or ()) <= {*SURFACES}:
            raise ConfigError(f"{empty or 'scope'}= behind a key names nothing that there is", hint=_SCOPES)
        return grant

    @classmethod
    def knows(cls, word: str) -> bool:
        """Whether a word behind a key is one of a grant."""
        return word.partition("=")[0] in _WORDS

    @property
    def is_admin(self) -> bool:
        """Whether a call may replace what templates say: only where its key names the scope ``admin``."""
        return "admin" in (self.scope or ())

    def check_surface(self, surface: str | None) -> None:
        """Let a call pass to a surface; None: a page that every key may read. Raises `ScopeError`."""
        if surface is not None and self.scope is not None and surface not in self.scope:
            raise ScopeError(f"this key may not use {surface!r}", scope=surface)

    def check(self, kind: str, name: str) -> None:
        """Let a call use what goes by this name; ``kind`` is ``route``, ``profile`` or ``operation``. Raises `ScopeError`."""
        if not self.allows(kind, name):
            raise ScopeError(f"this key may not use the {kind} {name!r}", scope=kind)

    def allows(self, kind: str, name: str) -> bool:
        """Whether a call may use, and see in a list, what goes by this name."""
        patterns = self.patterns(kind)
        return patterns is None or any(fnmatchcase(name, pattern) for pattern in patterns)

    def patterns(self, kind: str) -> tuple[str, ...] | None:
        """Return the patterns of the names that a call may use; None for all, an empty tuple for none."""
        patterns: tuple[str, ...] | None = getattr(self, kind)
        other = _CONFINES.get(kind)
        return () if patterns is None and other is not None and getattr(self, other) is not None else patterns


_CONFINES: Final = {"route": "profile", "profile": "route"}
"""Naming one of these closes the other, where a key does not name both."""

_WORDS: Final = {*Grant.__struct_fields__, *BuildLimits.__struct_fields__} - {"limits"}
_SCOPES: Final = f"scopes: {', '.join(SURFACES)}; names with commas between them, without blanks"

OPEN: Final = Grant()
"""What a caller may do of whom nothing was said."""


KEY_VARIABLE: Final = "INNKEEPER_SERVICE_KEY"
"""The environment variable that holds a key."""


class Keys:
    """The accepted keys; false where there are none. ``grants`` say what a key may do; any other may do everything."""

    __slots__ = ("_digests", "_grants")

    def __init__(self, *keys: str, grants: Mapping[str, Grant] | None = None) -> None:
        self._digests = tuple(_digest(key.encode("utf-8", "surrogateescape")) for key in keys)
        self._grants = {
            _name(_digest(key.encode("utf-8", "surrogateescape"))): grant for key, grant in (grants or {}).items()
        }

    def __bool__(self) -> bool:
        return bool(self._digests)

    def __repr__(self) -> str:
        return f"Keys({len(self._digests)} set)"

    @property
    def is_metered(self) -> bool:
        """Whether some key's money is counted."""
        return any(grant.spend is not None for grant in self._grants.values())

    def name(self, key: bytes) -> str | None:
        """What an accepted key is called where it must not be shown; None for others. Wrong ones all take the same time."""
        digest, accepted = _digest(key), None
        for known in self._digests:
            if hmac.compare_digest(digest, known):
                accepted = _name(known)
        return accepted

    def grant(self, name: str) -> Grant:
        """What the key with this `name` may do."""
        return self._grants.get(name, OPEN)


def presented_key(headers: Mapping[str, str]) -> bytes:
    """The key that a request's headers (lower-case names, Latin-1 texts) bring: a bearer token or ``x-api-key``; else empty."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    key = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "").strip()
    return key.encode("latin-1", "replace")


def _name(digest: bytes) -> str:
    return digest.hex()[:16]


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def read_keys(file: str | os.PathLike[str] | None, environment: Mapping[str, str]) -> Keys:
    """The keys of a file, one a line (blank lines and ``#`` comments do not count), and of the environment.

    Behind a key may stand what it may do: ``KEY scope=chat rate=60 seconds=0.5`` (`Grant`).

    Raises:
        ConfigError: the file cannot be read, is too large, has no key in it, or says of one what cannot be.
        UsageError: limits of the work of a call that are none.
    """
    keys = [environment[KEY_VARIABLE].strip()] if environment.get(KEY_VARIABLE, "").strip() else []
    granted = {} if file is None else _file_keys(Path(file))
    return Keys(*keys, *granted, grants=granted)


def _file_keys(path: Path) -> dict[str, Grant]:
    try:
        with path.open("rb") as file:
            lines = file.read(MAX_KEY_FILE).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the key file {str(path)!r} cannot be read", hint="UTF-8 text, one key a line") from error
    keys = dict(_granted(line.strip()) for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if not keys:
        raise ConfigError(f"the key file {str(path)!r} has no key in it", hint="one key a line")
    return keys


def _granted(line: str) -> tuple[str, Grant]:
    """A key and what it may do; a line without a word of a grant is a key as a whole. Raises `ConfigError`, `UsageError`."""
    key, *words = line.split()
    return (key, Grant.read(words)) if any(Grant.knows(word) for word in words) else (line, OPEN)
