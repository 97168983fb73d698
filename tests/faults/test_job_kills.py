"""kill -9 of workers under load: no acknowledged job is lost, and none is handed to a paid provider twice."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("job_killing.py")
ROOT = Path(__file__).parents[2]


def check(url: str, folder: Path, kills: int, seed: int) -> None:
    """Kill that many workers and look at what is left."""
    command = [sys.executable, str(PROGRAM), url, str(folder), str(kills), str(seed)]
    done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT, env={"PYTHONPATH": str(ROOT), **_env()})
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert len(told["said"]) >= kills
    assert set(told["said"]) <= told["jobs"].keys()
    outcomes = {tuple(one) for one in told["jobs"].values()}
    assert outcomes <= {("succeeded", None), ("failed", "outcome_unknown")}
    assert max(Counter(told["asked"]).values()) == 1
    succeeded = [name for name, (state, _) in told["jobs"].items() if state == "succeeded"]
    assert set(succeeded) <= set(told["asked"])
    assert len(succeeded) >= len(told["jobs"]) - 4 * kills  # as many as were in hands when those were killed


def _env() -> dict[str, str]:
    import os

    return dict(os.environ)


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))


def test_killed(url: str, tmp_path: Path) -> None:
    """A few moments, in every run."""
    check(url, tmp_path, 4, 1)


@pytest.mark.endurance
def test_killed_often(url: str, tmp_path: Path) -> None:
    """Two hundred moments."""
    check(url, tmp_path, 200, 2)
