"""Access: who may look at a workspace: whoever opens the address with the one-time token, in that browser from then on.

A page of another origin cannot: `Host` must be a name of this machine's (so no name can be made to point here), `Origin` must be
ours wherever something changes, and the cookie is sent with requests of our own pages alone. Other users of the machine do not
know the token, which is used up by the first who shows it.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Final, NamedTuple
from urllib.parse import parse_qs

from innkeeper.prompt.machine import random_bytes
from innkeeper.service.errors import KeyMissingError, OriginRefusedError, ScopeError
from innkeeper.service.guard.grants import Grant
from innkeeper.service.settings import is_loopback


class Visitor(NamedTuple):
    """Who looks: whoever opened the address with the token (without a name), or a key by its name, with what it may do."""

    name: str = ""
    grant: Grant | None = None

    @property
    def is_admin(self) -> bool:
        """Whether it may change what the service says, and see what others did: a key only where its grant says so."""
        return self.grant is None or self.grant.is_admin

    def require_admin(self, what: str) -> None:
        """Raise `ScopeError` where it may not do what only an administrator may."""
        if not self.is_admin:
            raise ScopeError(f"this key may not {what}", scope="admin")


OWNER: Final = Visitor()
"""Whoever opened the address that was printed where the service was started."""

_TOKEN_BYTES: Final = 32
_SAME: Final = frozenset({"", "same-origin", "none"})
_LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")


class Access:
    """The token, the cookie, and the names under which the service is called.

    Args:
        hosts: names with which it may be called beside those of this machine, without ports; None: any, where keys are asked for.
        key: the visitor whose key headers from an address bring; None: they bring none. Raises for one that may not look.
    """

    def __init__(
        self, hosts: tuple[str, ...] | None = (), key: Callable[[Mapping[str, str], str], Visitor | None] | None = None
    ) -> None:
        self._hosts = None if hosts is None else frozenset(host.lower() for host in (*_LOCAL, *hosts))
        self._key = key
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

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Let a request pass that calls us by a name of ours. Raises `OriginRefusedError`."""
        host = headers.get("host", "").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and not host.endswith("]") else host
        if self._hosts is not None and name not in self._hosts and not (name and is_loopback(name.strip("[]"))):
            raise OriginRefusedError("the host name of this request is not ours", hint="call it as 127.0.0.1")

    def check(self, headers: Mapping[str, str], *, changes: bool, address: str = "") -> Visitor:
        """Let a request from an address pass, and say whose it is; ``changes``: whether it may change something, as a socket may.

        Raises:
            OriginRefusedError: another page made it.
            KeyMissingError: it has neither the cookie nor a key.
        """
        self.check_host(headers)
        keyed = None if self._key is None else self._key(headers, address)
        self._check_origin(headers, changes=changes and keyed is None)
        if keyed is None and not self._knows(headers.get("cookie", "")):
            hint = "open the address that `innkeeper inspect` prints; each works once"
            raise KeyMissingError("this browser has not opened the inspector", hint=hint)
        return keyed or OWNER

    def _check_origin(self, headers: Mapping[str, str], *, changes: bool) -> None:
        origin, host = headers.get("origin"), headers.get("host", "").lower()
        ours = origin is not None and origin.lower() in {f"http://{host}", f"https://{host}"}
        if (origin is not None and not ours) or (changes and not ours):
            raise OriginRefusedError("a page of another origin made this request", hint=_OWN_PAGE)
        if headers.get("sec-fetch-site", "").lower() not in _SAME:
            raise OriginRefusedError("a page of another origin made this request", hint=_OWN_PAGE)

    def _knows(self, cookies: str) -> bool:
        try:
            morsel = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return morsel is not None and hmac.compare_digest(_digest(morsel.value), _digest(self._session))


_OWN_PAGE: Final = "use the inspector's own page; a program sends Origin with our address"


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()
