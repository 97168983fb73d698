"""Access: the token of the address that opens a workspace once, and the cookie that a browser has from then on.

Other users of the machine do not know the token, which is used up by the first who shows it. The guard asks for this cookie, or
for a key, and lets no page of another origin pass.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from getpass import getuser
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Final, NamedTuple
from urllib.parse import parse_qs

from starlette.requests import Request

from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.machine import random_bytes
from innkeeper.prompt.tier import Tier
from innkeeper.service.errors import MIB, BodyLimitError, KeyMissingError, ScopeError
from innkeeper.service.exchange import JSON
from innkeeper.service.guard.grants import Grant


class Visitor(NamedTuple):
    """Who looks: whoever opened the address with the token (without a name), or a key by its name, with what it may do."""

    name: str = ""
    grant: Grant | None = None

    @property
    def is_admin(self) -> bool:
        """Whether it may change what the service says, and see what others did: a key only where its grant says so."""
        return self.grant is None or self.grant.is_admin

    def require_admin(self, action: str) -> None:
        """Raise `ScopeError` where it may not do what only an administrator may."""
        if not self.is_admin:
            raise ScopeError(f"this key may not {action}", scope="admin")

    @property
    def ceiling(self) -> Tier:
        """The highest tier that it may see: that of its key; whoever started the service sees all."""
        return Tier.NSFW if self.grant is None else Tier.of(self.grant.tier)

    def may_see(self, tier: Tier) -> bool:
        """Whether it may see what is of a tier."""
        return tier.rank <= self.ceiling.rank

    @property
    def actor(self) -> str:
        """The name in the history of changes."""
        if self.name:
            return f"key {self.name}"
        try:
            return getuser()
        except (KeyError, OSError):  # a number without a name, as in a container
            return "somebody"


OWNER: Final = Visitor()
"""Whoever opened the address that was printed where the service was started."""

_TOKEN_BYTES: Final = 32
_JSON_BYTES: Final = 8 * MIB


class Access:
    """The token and the cookie of one inspector."""

    def __init__(self) -> None:
        self._token: bytes | None = None
        self._session = random_bytes(_TOKEN_BYTES).hex()
        self.cookie = f"innkeeper-inspector-{random_bytes(4).hex()}"

    def new_token(self) -> str:
        """A token that opens the inspector once; one that was not used is forgotten."""
        token = random_bytes(_TOKEN_BYTES).hex()
        self._token = _digest(token)
        return token

    def spend(self, token: str) -> str | None:
        """The ``Set-Cookie`` for whoever shows the token; None where it is not the one, or was used."""
        if self._token is None or not hmac.compare_digest(self._token, _digest(token)):
            return None
        self._token = None
        return f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"

    def is_entrance(self, path: str, query: bytes) -> bool:
        """Whether a request is for the page that takes the token, or for the address that leads there."""
        return path == "/inspector" or (
            path == "/inspector/" and "token" in parse_qs(query.decode("latin-1"), keep_blank_values=True)
        )

    def check_cookie(self, headers: Mapping[str, str]) -> None:
        """Let a request pass that brings the cookie. Raises `KeyMissingError`."""
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            morsel = None
        if morsel is None or not hmac.compare_digest(_digest(morsel.value), _digest(self._session)):
            hint = "open the address that `innkeeper inspect` prints; each works once"
            raise KeyMissingError("this browser has not opened the inspector", hint=hint)


async def json_bytes_of(web: Request, allowed: int = _JSON_BYTES) -> bytes:
    """Return a body that says to be JSON, which forms of other pages cannot say. Raises `FormatError`, `BodyLimitError`."""
    if web.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise FormatError("the body is not JSON", hint=f"send it with content-type: {JSON}")
    body = await web.body()
    if len(body) > allowed:
        raise BodyLimitError("the body", limit="MAX_UPLOAD", allowed=allowed, found=len(body))
    return body


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()
