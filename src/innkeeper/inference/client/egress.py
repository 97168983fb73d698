"""Egress: where a request may go whose address somebody else has said: the row of a tool, a caller, a card.

Such an address may name this machine, its network, or the service that tells a cloud's machines their secrets. So its name is
resolved once, every address that it means is looked at, and the connection goes to one of those, whatever the name means a moment
later (DNS rebinding). Redirects are not followed, and proxies, which would resolve the name anew, are not used. What the operator
allows by name is not asked about.

Addresses: https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from innkeeper.inference.errors import AddressRefusedError
from innkeeper.prompt.errors import ConfigError

LOOPBACK: Final = ("localhost", "127.0.0.0/8", "::1")
"""This machine, as `Egress.allowed` names it."""

_SCHEMES: Final = frozenset({"http", "https"})
_PORTS: Final = {"http": 80, "https": 443}
_METADATA: Final = frozenset({ip_address("168.63.129.16")})
"""A public address behind which a cloud's machines find their own secrets."""

_LOCAL: Final = ip_address("127.0.0.1")
_NAT64: Final = ip_network("64:ff9b::/96")
_Address = IPv4Address | IPv6Address


def is_public(address: str) -> bool:
    """Whether an address means a machine of the open internet, also where it wraps one of IPv4 in one of IPv6."""
    parsed = ip_address(address.partition("%")[0])
    return parsed not in _METADATA and all(part.is_global and not part.is_multicast for part in _meant(parsed))


def _meant(address: _Address) -> list[_Address]:
    """An address, or those of IPv4 that it stands for."""
    if isinstance(address, IPv4Address):
        return [address]
    wrapped = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        wrapped.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [part for part in wrapped if part is not None] or [address]


@dataclass(frozen=True, slots=True)
class Egress:
    """Where requests may go: to the open internet, and to ``allowed``: names, addresses and networks, with a port or without.

    ``localhost:11434``, ``ollama.lan``, ``10.1.0.0/16``, ``[::1]:8080``. Raises `ConfigError` for what is none. ``name`` is what
    errors call whose address is refused, where those who read them are not to learn it.
    """

    allowed: tuple[str, ...] = ()
    name: str = ""

    def __post_init__(self) -> None:
        for text in self.allowed:
            host, _ = _split(text)
            if not host or "://" in text or ("/" in text and _network(host) is None):
                hint = "write it like localhost:11434, ollama.lan or 10.1.0.0/16"
                raise ConfigError(f"{text!r:.80} is no host that may be allowed", hint=hint)

    def check(self, url: str) -> None:
        """Let an address pass as far as it can be told without resolving its name. Raises `AddressRefusedError`."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
        except ValueError:
            host, port = "", 0
        if not host or not url.isprintable() or parts.scheme not in _SCHEMES:
            raise AddressRefusedError("the address is none of http or https")
        literal = _LOCAL if _is_local(host) else _literal(host)
        if literal is not None:
            self.choose(host, port, [str(literal)])

    def is_allowed(self, name: str, port: int) -> bool:
        """Whether the operator allows this host, by name or as an address."""
        literal = _literal(name)
        for host, only in map(_split, self.allowed):
            if only not in (None, port):
                continue
            network = _network(host)
            if host == name.lower().rstrip(".") or (network is not None and literal is not None and literal in network):
                return True
        return False

    def choose(self, host: str, port: int, addresses: Iterable[str]) -> list[str]:
        """The addresses of a host, once it is known that a request may go to all of them.

        Raises:
            AddressRefusedError: one of them is of this machine, a private network or the like, and not allowed.
        """
        distinct = list(dict.fromkeys(addresses))
        by_name = self.is_allowed(host, port)
        refused = not by_name and any(not is_public(one) and not self.is_allowed(one, port) for one in distinct)
        if refused:
            shown = f"the address of {self.name!r:.80}" if self.name else f"{host!r:.200}"
            raise AddressRefusedError(f"{shown} is not on the open internet, and not among the hosts that are allowed")
        return distinct


def host_of(url: str) -> tuple[str, ...]:
    """The host and port of an address, as `Egress.allowed` names them; none of what is no address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return ()
    return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}",) if host else ()


def _is_local(host: str) -> bool:
    """Whether a name means this machine wherever it is looked up (RFC 6761)."""
    name = host.lower().rstrip(".")
    return name == "localhost" or name.endswith(".localhost")


def _split(text: str) -> tuple[str, int | None]:
    """A host and its port, where it has one."""
    host, colon, port = text.rpartition(":")
    if colon and port.isdigit() and (":" not in host or host.endswith("]")):
        return host.strip("[]").lower(), int(port)
    return text.strip("[]").lower(), None


def _network(host: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(host)
    except ValueError:
        return None


def _literal(host: str) -> _Address | None:
    """The address that a host is written as, also in the old ways (``127.1``, ``0x7f000001``, ``2130706433``)."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None
