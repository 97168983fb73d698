"""The same bytes in every process: no order comes from hashing, and no part depends on how busy the machine is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import ROOT

PROGRAM = Path(__file__).with_name("build_digests.py")
SEEDS = ("0", "4242", "1")


@pytest.mark.endurance
def test_hash_seeds() -> None:
    """Plans, notes, warnings, reports and JSON of the examples and the golden cases are equal under several hash seeds."""
    texts = _digests([_start(seed, 1) for seed in SEEDS])
    assert texts[0].count("\n") > 3_600
    first, *others = [text.splitlines() for text in texts]
    for other in others:
        assert [pair for pair in zip(first, other, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.parametrize(
    ("every", "busy", "threads"),
    [
        pytest.param(200, 1, 16, id="some"),
        pytest.param(1, 30, 1, id="all", marks=pytest.mark.endurance),
        pytest.param(1, 30, 16, id="all, in threads", marks=pytest.mark.endurance),
    ],
)
def test_a_busy_machine(every: int, busy: int, threads: int) -> None:
    """All is equal beside many processes that leave the processor no rest, in many threads, under another hash seed."""
    idle = _digests([_start("0", every)])
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        loaded = _digests([_start("4242", every, threads)])
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert "costly" in idle[0]
    assert idle[0].count("\n") > 3_600 // every
    assert loaded[0].splitlines() == idle[0].splitlines()


def _digests(runs: list[subprocess.Popen[str]]) -> list[str]:
    texts = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0] * len(runs)
    return texts


def _start(seed: str, every: int, threads: int = 1) -> subprocess.Popen[str]:
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(every), str(threads)], stdout=subprocess.PIPE, text=True, env=environment
    )
