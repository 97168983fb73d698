"""kill -9 of service, workers and the database server under load: no acknowledged job lost, none handed over twice."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from innkeeper.library.db.engine import Database
from tests.faults import job_killing
from tests.postgres import Server, start_server
from tests.shared import ROOT

SEED = 7
MOMENTS = 200


def check(url: str, folder: Path, kills: int, seed: int, server: Server | None = None) -> None:
    """Kill at that many moments, and look at what is left."""
    words = [url, str(folder), str(kills), str(seed), *([] if server is None else [server.to_json()])]
    command = [sys.executable, "-m", job_killing.__name__, *words]
    done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    jobs, asked = told["jobs"], Counter(told["asked"])
    ends = Counter(tuple(one) for one in jobs.values())
    sys.stdout.write(f"seed {seed}: killed {told['killed']}; acknowledged {len(told['said'])}; ended {dict(ends)}\n")
    assert sum(told["killed"].values()) == kills
    assert len(told["said"]) == len(set(told["said"])) >= kills
    assert set(told["said"]) <= jobs.keys()
    assert ends.keys() <= {("succeeded", None), ("failed", "outcome_unknown")}
    assert max(asked.values()) == 1
    assert {name for name, (state, _) in jobs.items() if state == "succeeded"} <= asked.keys()
    assert ends["succeeded", None]
    if (
        kills == MOMENTS
    ):  # as many as were in hands; of few moments a busy machine may make more, which loses leases, too
        assert ends["failed", "outcome_unknown"] <= job_killing.THREADS * kills


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A PostgreSQL that may be killed."""
    server = start_server(durable=True)
    try:
        yield server
    finally:
        server.end()


def test_killed(url: str, tmp_path: Path) -> None:
    """A few moments, in every run: of service and workers."""
    check(url, tmp_path, 3, SEED)


@pytest.mark.endurance
def test_killed_often(url: str, dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Two hundred moments; on PostgreSQL the server is killed as well."""
    if dialect == "sqlite":
        check(url, tmp_path, MOMENTS, SEED)
        return
    server = request.getfixturevalue("own_server")
    Database.open(server.url()).close()
    folder = tmp_path / "killing"
    folder.mkdir()
    check(server.url(), folder, MOMENTS, SEED, server)
    shutil.rmtree(folder)
