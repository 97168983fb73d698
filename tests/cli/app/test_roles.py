"""``innkeeper doctor --role``: one running process is asked whether it is well."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from innkeeper.cli.app.doctor import PORTS, doctor
from innkeeper.cli.app.roles import ROLES
from tests.cli.running import Run, runner


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs ``innkeeper`` in a home of the test's own."""
    return runner(monkeypatch, capsys, tmp_path)


class _Answer(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        """Answer the path that is asked, and no other."""
        self.send_response(self.status if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """A process that answers over HTTP."""
    with HTTPServer(("127.0.0.1", 0), _Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize("role", ["serve", "worker"])
@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_over_http(run: Run, monkeypatch: pytest.MonkeyPatch, port: int, role: str, status: int, code: int) -> None:
    """What answers is well; what takes no calls is not."""
    monkeypatch.setattr(_Answer, "status", status)
    assert run("doctor", "--role", role, "--port", str(port)).code == code


@pytest.mark.parametrize("role", ["serve", "worker", "grpc"])
def test_nobody_is_there(run: Run, role: str) -> None:
    """A port at which nobody listens is a failure, with what to do."""
    ran = run("doctor", "--role", role, "--port", "9", "--json")
    assert (ran.code, [one["state"] for one in ran.data["findings"]]) == (1, ["failed"])


@pytest.mark.parametrize(("status", "code"), [("SERVING", 0), ("NOT_SERVING", 1)])
def test_over_grpc(run: Run, status: str, code: int) -> None:
    """The health service of gRPC itself is asked."""
    servicer = health.HealthServicer()
    servicer.set("", getattr(health_pb2.HealthCheckResponse, status))
    server = grpc.server(ThreadPoolExecutor(1))
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        assert run("doctor", "--role", "grpc", "--port", str(port)).code == code
    finally:
        server.stop(None)


def test_jobs_need_their_library(run: Run) -> None:
    """A process that runs jobs is well where its database is; one that is not there yet is a failure for it."""
    assert run("doctor", "--role", "jobs").code == 1
    run("admin", "vault", "init")
    assert run("doctor", "--role", "jobs").code == 0
    assert run("doctor", "--role", "jobs", "--port", "8050").code == 2


def test_roles_and_ports() -> None:
    """The option offers each role; a service is asked where it listens by itself."""
    (offered,) = [option.type.choices for option in doctor.params if option.name == "role"]  # type: ignore[attr-defined]
    assert set(offered) == set(ROLES)
    assert {ROLES["serve"].port, ROLES["grpc"].port} == set(PORTS)
