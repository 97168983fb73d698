"""The same bytes in every process: no order comes from hashing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import ROOT

PROGRAM = Path(__file__).with_name("build_digests.py")
SEEDS = ("0", "1", "4242")


@pytest.mark.parametrize("every", [pytest.param(40, id="some"), pytest.param(1, id="all", marks=pytest.mark.endurance)])
def test_hash_seeds(every: int) -> None:
    """Plans, notes, warnings, reports and JSON of the examples and the golden cases are equal under three hash seeds."""
    runs = [_start(seed, every) for seed in SEEDS]
    texts = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0] * len(SEEDS)
    assert texts[0].count("\n") > 3_600 // every
    first, *others = [text.splitlines() for text in texts]
    for other in others:
        assert [pair for pair in zip(first, other, strict=True) if pair[0] != pair[1]] == []


def _start(seed: str, every: int) -> subprocess.Popen[str]:
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(every)], stdout=subprocess.PIPE, text=True, env=environment
    )
