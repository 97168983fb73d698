"""The walk of a message through the house stays short."""

import subprocess
import sys

import pytest

from tests.shared import ROOT

MOST_MODULES = 60
MOST_SHAPES = 6
MOST_SERVICE_MODULES = 60
"""36 of them without the gate, which judges what is asked and answered."""


@pytest.mark.parametrize("tavern", ["silly", "smart", "vibe"])
def test_short(tavern: str) -> None:
    """From the command line to the body, a message of the history passes few modules, in few shapes."""
    words = [sys.executable, str(ROOT / "scripts" / "walk.py"), tavern]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    passed, shapes = (int(lines[index].split()[0]) for index in (-3, -1))
    assert 0 < passed <= MOST_MODULES
    assert 0 < shapes <= MOST_SHAPES


def test_service() -> None:
    """A streamed chat completion runs through few modules of the service."""
    words = [sys.executable, str(ROOT / "scripts" / "walk.py"), "service"]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    assert 0 < int(lines[-2].split()[0]) <= MOST_SERVICE_MODULES
