"""Starts never die: processes whose first uses come from eight threads at once, on each database."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.shared import ROOT

PROGRAM = ROOT / "tests" / "library" / "starting.py"


SHORT = {"postgresql": (0,), "sqlite": (1,)}
"""The starts of the short form: in that on PostgreSQL two threads use the library."""


@pytest.mark.parametrize("starts", [1, pytest.param(500, marks=pytest.mark.endurance)])
def test_none_fails(url: str, dialect: str, starts: int) -> None:
    """Whatever eight threads use first, beside each other and on one library, each of them gets what it asked for.

    The short form is one start on each database, each another.
    """

    def start(number: int) -> str:
        words = [sys.executable, str(PROGRAM), url, str(number)]
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=600)
        return f"start {number} ended with {done.returncode}: {done.stderr}" if done.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [told for told in pool.map(start, SHORT[dialect] if starts == 1 else range(starts)) if told]
    assert not failed, f"{len(failed)} of {starts} failed; the first: {failed[0]}"
