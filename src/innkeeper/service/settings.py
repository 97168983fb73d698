"""Settings: what the service is started with, checked as a whole."""

from __future__ import annotations

import ipaddress
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

import msgspec

from innkeeper.inference.client.egress import LOOPBACK, Egress
from innkeeper.prompt.allowance import BuildLimits
from innkeeper.prompt.errors import ConfigError
from innkeeper.prompt.machine import random_bytes
from innkeeper.service.errors import (
    BODY_SECONDS,
    HEADER_SECONDS,
    MAX_ANSWERS,
    MAX_BODIES,
    MAX_BODY,
    MAX_CALLS,
    MAX_CPU_BUDGET,
    MAX_DEPTH,
    MAX_REPLY,
    MAX_WORKER_MEMORY,
    MAX_WORKERS,
    STOP_SECONDS,
    TIME_BUDGET,
)
from innkeeper.service.guard.accounts import read_prices
from innkeeper.service.guard.grants import KEY_VARIABLE, Keys

DEFAULT_PORT: Final = 8050
"""Where SmartTavern's gateway listens, and so do we."""

SECRETS: Final = frozenset({KEY_VARIABLE, "INNKEEPER_API_KEY"})
"""Environment variables that processes which compute calls do not get."""

START_METHODS: Final = ("fork", "spawn")
"""How workers are started: as copies of one process that has imported everything, or each from nothing."""


def default_start_method() -> str:
    """``fork``, except where a system has none (Windows) or its libraries do not stand it (macOS)."""
    return "fork" if hasattr(os, "fork") and sys.platform != "darwin" else "spawn"


PROFILES: Final = ("fixed", "smarttavern")
"""``fixed``: the values that macros produce are not scanned again. ``smarttavern``: as the original, defects included."""

_PORTS: Final = 65_535
_POSITIVE: Final = (
    "max_body", "max_bodies", "max_depth", "max_reply", "max_calls", "max_answers", "workers", "worker_memory",
    "cpu_budget", "time_budget", "body_seconds", "header_seconds", "stop_seconds",
)  # fmt: skip


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All that the service can be told. Sizes are in bytes, times in seconds.

    ``keys`` are the accepted keys; without any, a service on this machine's loopback is open and one on any other address
    does not start. ``data`` is the folder below which assets are read and conversations written; without it those
    operations refuse. ``profiles`` are folders of profiles, which clients call as models, with ``stored_profiles``
    those of the library's database, too, which are kept as folders in ``profile_folder`` while the service runs; ``states`` is
    where their conversations are kept between turns. ``python`` allows the
    ``{{python:...}}`` macro. ``gate`` says what becomes of texts in which the gate is in doubt: ``on`` refuses them, ``observe``
    only tells of them; what it blocks is refused always. ``second_reader`` is a route and how it is asked, as in
    ``guard:llama-guard``: the moderation model for what is in doubt, with ``reads_always`` for every text. ``limits`` are what
    the work of one call may take at most, whatever the call asks for.
    ``cors_origins`` are the web origins that may call. ``allow_hosts`` are hosts that may be asked although they are not on the
    open internet (`Egress`), where an address is not the operator's own.
    ``prices`` are what routes cost (`read_prices`), ``catalogue`` is laid over what is known of models (`use_catalogue`).
    ``stop_seconds`` is what calls under way get when the service is told to stop.
    ``job_threads`` is how many jobs are carried out here at once (0: other processes do), ``job_budget`` what one key may spend
    on them in a day, in US dollars, ``public_url`` where providers reach this service to tell of jobs; else they are asked.
    ``start_method`` is one of `START_METHODS`; empty: what suits this system. ``database`` is the library's, its own place where
    left out. ``grpc_port`` is where gRPC is answered on the same host, 0 for any free port; without it there is no gRPC.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    data: Path | None = None
    profiles: tuple[Path, ...] = ()
    stored_profiles: bool = False
    profile_folder: Path | None = None
    states: Literal["memory", "database"] = "memory"
    database: str | None = None
    grpc_port: int | None = None
    job_threads: int = 0
    job_budget: float | None = None
    public_url: str = ""
    profile: str = "fixed"
    python: bool = True
    gate: Literal["on", "observe"] = "on"
    second_reader: str = ""
    reads_always: bool = False
    keys: Keys = Keys()
    limits: BuildLimits = BuildLimits()
    cors_origins: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    prices: tuple[str, ...] = ()
    catalogue: Path | None = None
    max_body: int = MAX_BODY
    max_bodies: int = MAX_BODIES
    max_depth: int = MAX_DEPTH
    max_reply: int = MAX_REPLY
    max_calls: int = MAX_CALLS
    max_answers: int = MAX_ANSWERS
    workers: int = MAX_WORKERS
    start_method: str = ""
    worker_memory: int = MAX_WORKER_MEMORY
    cpu_budget: float = MAX_CPU_BUDGET
    time_budget: float = TIME_BUDGET
    body_seconds: float = BODY_SECONDS
    header_seconds: float = HEADER_SECONDS
    stop_seconds: int = STOP_SECONDS

    def checked(self) -> Settings:
        """These settings, once they are known to go together.

        Raises:
            ConfigError: an unknown profile or start method, a limit of nothing, a port out of range, a data folder that is not
                there, an origin that is not one, or an address others can reach and no key.
        """
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} must be more than 0", hint="leave it out for the default")
        if self.profile not in PROFILES:
            raise ConfigError(f"unknown profile {self.profile!r}", hint=f"profiles: {', '.join(PROFILES)}")
        if self.start_method not in {"", *START_METHODS} or (self.start_method == "fork" and not hasattr(os, "fork")):
            message = f"workers cannot be started by {self.start_method!r} here"
            raise ConfigError(message, hint=f"leave it out for {default_start_method()!r}")
        for port in (self.port, self.grpc_port or 0):
            if not 0 <= port <= _PORTS:
                raise ConfigError(f"port {port} is out of range", hint=f"0 (any free one) to {_PORTS}")
        if self.data is not None and not self.data.is_dir():
            raise ConfigError(f"the data folder {str(self.data)!r} is not there", hint="make it, or leave --data out")
        self._check_doors()
        Egress(self.allow_hosts)
        read_prices(self.prices)
        return self

    @property
    def egress(self) -> Egress:
        """Where requests may go whose address a row of a tool, or a caller, has said.

        Who calls a service that is open on loopback is at this machine already, and may have it ask this machine.
        """
        return Egress((*self.allow_hosts, *(() if self.keys or not is_loopback(self.host) else LOOPBACK)))

    def without_keys(self) -> Settings:
        """The same for a process that computes what callers send: it sees that there are keys, and none of them."""
        return msgspec.structs.replace(self, keys=Keys(random_bytes(16).hex()) if self.keys else Keys())

    def _check_doors(self) -> None:
        for origin in self.cors_origins:
            if "://" not in origin or origin.endswith("/"):
                raise ConfigError(f"{origin!r} is not an origin", hint="write it like https://example.org:8443")
        if not self.keys and not is_loopback(self.host):
            raise ConfigError(
                f"{self.host} can be reached from outside, and no key is set",
                hint=f"set {KEY_VARIABLE} or --key-file, or listen on 127.0.0.1",
            )


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``. Names other than ``localhost`` may point anywhere."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
