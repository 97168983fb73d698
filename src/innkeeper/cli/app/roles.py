"""Roles of processes that run on: the check of each, for whoever restarts what is not well (a container's health check)."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from innkeeper.cli.app.doctor import CheckFinding, library_findings

CHECK_SECONDS: Final = 3.0
"""Seconds that a process may take to say that it is well."""


def _http(port: int) -> Iterator[CheckFinding]:
    """Ask ``/health``, which needs no key; a worker that takes nothing answers 503."""
    address = f"http://127.0.0.1:{port}/health"
    try:
        with urllib.request.urlopen(address, timeout=CHECK_SECONDS) as answer:
            yield CheckFinding("ok", f"{address} answers {answer.status}")
    except urllib.error.HTTPError as error:
        yield CheckFinding("failed", f"{address} answers {error.code}", "look at its log")
    except OSError as error:
        yield CheckFinding("failed", f"{address} does not answer: {getattr(error, 'reason', error)}", "start it")


def _grpc(port: int) -> Iterator[CheckFinding]:
    """Ask gRPC's own health service (``grpc.health.v1``)."""
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        check = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined]  # it is made with the stub
        try:
            answer = check(health_pb2.HealthCheckRequest(), timeout=CHECK_SECONDS)
        except grpc.RpcError as error:
            yield CheckFinding("failed", f"port {port} does not answer: {error.code().name}", "start it")
            return
    is_serving = answer.status == health_pb2.HealthCheckResponse.SERVING
    yield CheckFinding("ok" if is_serving else "failed", f"port {port} {'serves' if is_serving else 'takes no calls'}")


class ProcessRole(NamedTuple):
    """How a role is checked, and at which port, where it has one and nothing else is said."""

    check: Callable[[int], Iterator[CheckFinding]]
    port: int = 0


ROLES: Final[Mapping[str, ProcessRole]] = MappingProxyType(
    {
        "serve": ProcessRole(_http, 8050),
        "grpc": ProcessRole(_grpc, 8051),
        "worker": ProcessRole(_http, 7861),
        "jobs": ProcessRole(lambda _: library_findings(needed=True)),
    }
)
"""All roles by name: `innkeeper serve`, its gRPC port, `admin worker run`; `admin job run` has no port, and needs its library."""
