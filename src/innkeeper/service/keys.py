"""Keys: what callers must know. They are kept as digests, compared in constant time, and shown nowhere."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from innkeeper.service.errors import KeyMissingError

__all__ = ["Keys", "presented_key"]


class Keys:
    """The accepted keys; false where there are none."""

    __slots__ = ("_digests",)

    def __init__(self, *keys: str) -> None:
        self._digests = tuple(_digest(key.encode("utf-8", "surrogateescape")) for key in keys)

    def __bool__(self) -> bool:
        return bool(self._digests)

    def __repr__(self) -> str:
        return f"Keys({len(self._digests)} set)"

    def accept(self, key: bytes) -> bool:
        """Whether ``key`` is one of them; takes the same time for all wrong ones."""
        digest, found = _digest(key), False
        for known in self._digests:
            found |= hmac.compare_digest(digest, known)
        return found

    def check(self, headers: Mapping[str, str]) -> None:
        """Let a call pass that brings a key, or any where there are no keys.

        Raises:
            KeyMissingError: it brings none, or a wrong one.
        """
        if self and not self.accept(presented_key(headers)):
            raise KeyMissingError("this service needs a key")


def presented_key(headers: Mapping[str, str]) -> bytes:
    """The key that a request's headers (lower-case names, Latin-1 texts) bring: a bearer token or ``x-api-key``; else empty."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    key = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "").strip()
    return key.encode("latin-1", "replace")


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
