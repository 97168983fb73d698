"""A service under load keeps what it acknowledged and comes back at once, whatever is killed, slow, full or off."""

import sys

import pytest

from tests.faults.chaos import run

pytestmark = [
    pytest.mark.endurance,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are weighed in /proc, and a disk is mounted"),
]

SECONDS = 150.0
"""Each fault has its turn; ``python -m tests.faults.chaos`` takes half an hour."""


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_chaos(database: str) -> None:
    """Nothing acknowledged is lost, nothing but a kill ends the process, and calls are answered 5 s after each fault."""
    outcome = run(database, SECONDS, seed=1)
    assert outcome["lost"] == []
    assert outcome["deaths"] == []
    assert outcome["late"] == []
    assert outcome["exit code"] == 0
    assert outcome["faults"] >= 6
    assert max(outcome["grown"], default=1.0) < 1.3
    assert max(outcome["p99 after"].values()) < 4 * outcome["p99 calm"] + 0.5
