"""Callers: who makes a request, by key or by address, and whether a web page of another origin did.

A page of another origin can send simple requests without permission, and can make its own host name point to this machine (DNS
rebinding). Browsers say where a request comes from in ``Origin``, ``Sec-Fetch-Site`` and ``Host``; programs such as curl send no
``Origin`` and are not asked for one. With a key configured a foreign page cannot do anything, since it does not know the key;
then only the permission headers (CORS) stay closed. A cookie is sent by the browser, so a page of ours must have caused it.

Wrong keys are counted by address (of IPv6 by network, of which everybody has one). An address that has guessed too often must
wait, also with the right key, or it would learn that it is right; only a key that was accepted from there before passes.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Mapping
from math import ceil
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from innkeeper.service.errors import (
    GUESS_SECONDS,
    MAX_ADDRESSES,
    MAX_GUESSES,
    GuessLimitError,
    KeyMissingError,
    OriginRefusedError,
)
from innkeeper.service.guard.grants import Keys, presented_key
from innkeeper.service.settings import Settings, is_loopback


class AuthThrottle:
    """The addresses of one application, the latest `MAX_ADDRESSES`."""

    def __init__(self, keys: Keys, clock: Callable[[], float] = monotonic) -> None:
        self._keys = keys
        self._clock = clock
        self._addresses: OrderedDict[str, _Address] = OrderedDict()

    def caller(self, headers: Mapping[str, str], address: str) -> str:
        """Who makes a request with these headers (lower-case names): a key's name, or the address where none is needed.

        Raises:
            KeyMissingError: it brings no key, or a wrong one.
            GuessLimitError: too many wrong keys came from there.
        """
        if not self._keys:
            return origin_of(address)
        key = presented_key(headers)
        name = self._keys.name(key)
        known = self._address(origin_of(address))
        if name is not None and (name in known.names or known.left(self._clock()) >= 1):
            known.names.add(name)
            return name
        if key and known.left(self._clock()) < 1:
            seconds = ceil((1 - known.left(self._clock())) * GUESS_SECONDS)
            raise GuessLimitError(
                "wrong keys from one address", limit="MAX_GUESSES", allowed=MAX_GUESSES, retry_after=seconds
            )
        known.guesses -= 1 if key else 0
        if key:
            raise KeyMissingError("the key is not one of this service's", code="invalid_api_key")
        raise KeyMissingError("this service needs a key")

    def _address(self, origin: str) -> _Address:
        known = self._addresses.setdefault(origin, _Address(self._clock()))
        self._addresses.move_to_end(origin)
        if len(self._addresses) > MAX_ADDRESSES:
            self._addresses.popitem(last=False)
        return known


class _Address:
    """AuthThrottle that are left to an address, and the names of keys that were accepted from it."""

    def __init__(self, now: float) -> None:
        self.guesses = float(MAX_GUESSES)
        self.names: set[str] = set()
        self._at = now

    def left(self, now: float) -> float:
        """How many guesses it has now."""
        self.guesses = min(self.guesses + (now - self._at) / GUESS_SECONDS, MAX_GUESSES)
        self._at = now
        return self.guesses


def origin_of(address: str) -> str:
    """What stands for everybody behind an address: itself, or its network of 64 bits."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:  # noqa: PLR2004 - of the protocol
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False).network_address)


_METHODS: Final = "GET, POST, DELETE"
_HEADERS: Final = (
    "authorization, content-type, x-api-key, x-request-id, x-innkeeper-now, x-innkeeper-seed, x-innkeeper-explain, "
    "x-innkeeper-mode, x-innkeeper-route, "
    "anthropic-version, anthropic-beta, openai-organization, openai-project"
)
_FOREIGN: Final = frozenset({"cross-site", "same-site"})


def check_origin(headers: Mapping[str, str], settings: Settings) -> None:
    """Let a request pass that no foreign web page made. ``headers`` have lower-case names.

    Raises:
        OriginRefusedError: another origin, or a host name that is not this machine's, and no key guards the service.
    """
    if settings.keys:
        return
    if "host" in headers:
        check_host(headers, settings)
    host, origin = headers.get("host", ""), headers.get("origin")
    if origin is None:
        if headers.get("sec-fetch-site", "").lower() in _FOREIGN:
            raise OriginRefusedError("a web page of another origin made this request")
    elif not (origin in settings.cors_origins or origin.lower() == f"http://{host.lower()}"):
        raise OriginRefusedError("a web page of another origin made this request")


def check_host(headers: Mapping[str, str], settings: Settings) -> None:
    """Let a request pass that calls the service by a name of this machine's. Raises `OriginRefusedError`."""
    if not _own_host(headers.get("host", ""), settings):
        raise OriginRefusedError(
            "the host name of this request is not this service's", hint="call it as 127.0.0.1 or localhost"
        )


def check_own_page(headers: Mapping[str, str], *, changes: bool) -> None:
    """Let a request pass that no page but one of ours made. Raises `OriginRefusedError`.

    ``changes``: it may change something and proves by its cookie alone who makes it, so that it must name its origin.
    """
    origin, host = headers.get("origin"), headers.get("host", "").lower()
    ours = origin is not None and origin.lower() in {f"http://{host}", f"https://{host}"}
    foreign = (origin is not None and not ours) or headers.get("sec-fetch-site", "").lower() in _FOREIGN
    if foreign or (changes and not ours):
        hint = "use the inspector's own page; a program sends Origin with our address"
        raise OriginRefusedError("a page of another origin made this request", hint=hint)


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser asks what a page may do."""
    return method == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers


def permissions(headers: Mapping[str, str], settings: Settings, *, preflight: bool = False) -> dict[str, str]:
    """The permission headers for the page that asks: none unless its origin was allowed when the service started."""
    origin = headers.get("origin")
    if origin is None or origin not in settings.cors_origins:
        return {}
    granted = {"access-control-allow-origin": origin, "access-control-expose-headers": "*", "vary": "Origin"}
    if preflight:
        granted |= {
            "access-control-allow-methods": _METHODS,
            "access-control-allow-headers": _HEADERS,
            "access-control-max-age": "600",
        }
    return granted


def _own_host(host: str, settings: Settings) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return is_loopback(name) or name == settings.host.lower()
