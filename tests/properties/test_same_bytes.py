"""The same bytes in every process: no order comes from hashing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import ROOT

PROGRAM = Path(__file__).with_name("build_digests.py")
SEEDS = ("0", "4242", "1")


@pytest.mark.parametrize(
    ("every", "seeds"),
    [pytest.param(40, SEEDS[:2], id="some"), pytest.param(1, SEEDS, id="all", marks=pytest.mark.endurance)],
)
def test_hash_seeds(every: int, seeds: tuple[str, ...]) -> None:
    """Plans, notes, warnings, reports and JSON of the examples and the golden cases are equal under several hash seeds."""
    runs = [_start(seed, every) for seed in seeds]
    texts = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0] * len(seeds)
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
