"""``innkeeper doctor``: what is broken is told with how to mend it, and is the exit code."""

import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import MappingProxyType

import pytest

from innkeeper.cli.app import doctor
from innkeeper.cli.app.doctor import CheckFinding, examine
from innkeeper.prompt.errors import UsageError
from tests.cli.running import Run, runner


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs ``innkeeper`` in a home and with settings of the test's own."""
    monkeypatch.setenv("INNKEEPER_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setattr(doctor, "PORTS", MappingProxyType({}))
    return runner(monkeypatch, capsys, tmp_path)


def states(run: Run, check: str) -> list[str]:
    """The states of the findings of one check."""
    return [one["state"] for one in run("doctor", "--json").data["findings"] if one["check"] == check]


def test_an_empty_home_is_well(run: Run) -> None:
    """Where nothing is kept yet, nothing is broken."""
    ran = run("doctor")
    assert ran.code == 0
    assert "ok  log       nothing has been said yet" in ran.out


def test_what_is_there_is_well(run: Run) -> None:
    """A library, a vault with a secret, a key and a log are opened and read."""
    run("admin", "vault", "init")
    run("admin", "vault", "set", "fal", input="lantern")
    run("keys", "set", "openrouter", input="sk-lantern")
    assert states(run, "library") == ["ok", "ok", "ok"]
    assert states(run, "keys") == ["ok"]
    assert "lantern" not in run("doctor").out


@pytest.mark.parametrize(
    ("name", "content", "check"),
    [
        ("config.toml", b'tavern = "smat"', "config"),
        ("config.toml", b'persona = "/nowhere.json"', "config"),
        ("keys.json", b"{", "keys"),
        ("log.db", b"no database", "log"),
        ("innkeeper.db", b"no database at all, but some text", "library"),
        ("models/smollm2.gguf", b"not the weights", "models"),
    ],
)
def test_what_is_broken(run: Run, tmp_path: Path, name: str, content: bytes, check: str) -> None:
    """What cannot be read fails its check, with the exit code 1; the other checks are made all the same."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    ran = run("doctor", "--json")
    failed = {one["check"] for one in ran.data["findings"] if one["state"] == "failed"}
    assert (ran.code, ran.data["ok"], failed) == (1, False, {check})
    assert "!!  " in run("doctor").out


def test_a_lost_vault_key(run: Run, tmp_path: Path) -> None:
    """Secrets that no key opens are broken."""
    run("admin", "vault", "init")
    run("admin", "vault", "set", "fal", input="lantern")
    (tmp_path / "vault.key").unlink()
    assert "failed" in states(run, "library")


def test_a_log_with_a_broken_page(run: Run, tmp_path: Path) -> None:
    """A log of another version is told."""
    with closing(sqlite3.connect(tmp_path / "log.db")) as db:
        db.execute("PRAGMA user_version = 99")
    assert states(run, "log") == ["failed"]


def test_ports(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port in use is told, and is no failure: it may be a service of one's own."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        monkeypatch.setattr(doctor, "PORTS", MappingProxyType({listener.getsockname()[1]: "HTTP"}))
        assert states(run, "ports") == ["warning"]
    assert states(run, "ports") == ["ok"]


def test_errors_are_findings() -> None:
    """An error ends its check alone; a library that is missing is a warning."""

    def fails() -> Iterator[CheckFinding]:
        yield CheckFinding("ok", "first")
        raise UsageError("odd", hint="mend")

    def missing() -> Iterator[CheckFinding]:
        raise ModuleNotFoundError("no", name="sqlalchemy")
        yield

    findings = list(examine({"a": fails, "b": missing}))
    assert findings[:2] == [("a", CheckFinding("ok", "first")), ("a", CheckFinding("failed", "odd", "mend"))]
    assert (findings[2][0], findings[2][1].state) == ("b", "warning")
