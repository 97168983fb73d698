"""Throttle of authentication: who calls, by key or by address, and how often an address may bring a wrong key.

Wrong keys are counted by address (of IPv6 by network, of which everybody has one). An address that has guessed too often must
wait, also with the right key, or it would learn that it is right; only a key that was accepted from there before passes.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Mapping
from math import ceil
from time import monotonic

from innkeeper.service.errors import GUESS_SECONDS, MAX_ADDRESSES, MAX_GUESSES, GuessLimitError, KeyMissingError
from innkeeper.service.settings import Keys, presented_key


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
