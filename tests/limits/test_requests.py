"""Any request of up to 5 MB ends within two calm seconds of the processor and 300 MiB, or by a typed error."""

from __future__ import annotations

import sys
from typing import Final

import pytest

from tests.limits.hostile import LARGEST, hostile_requests
from tests.limits.isolated import DOORS, MEBIBYTES, SECONDS, Outcome, run_apart, warm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits on a process's memory are read from /proc here")

REQUESTS: Final = hostile_requests()
SOME: Final = 60
"""In the usual run, one in so many; every one of them in `make endurance`."""


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    warm()


def _check(name: str, door: str) -> None:
    outcome: Outcome = run_apart(REQUESTS[name], door)
    assert outcome.typed, outcome
    assert outcome.seconds <= SECONDS, outcome
    assert outcome.mebibytes <= MEBIBYTES, outcome


def _door(name: str) -> str:
    return "operation" if REQUESTS[name].path else "library"


@pytest.mark.parametrize("name", list(REQUESTS)[::SOME])
def test_some_hostile_requests(name: str) -> None:
    """A sample of all families, in the library and the service's operations."""
    _check(name, _door(name))


@pytest.mark.endurance
@pytest.mark.parametrize("name", REQUESTS)
def test_every_hostile_request(name: str) -> None:
    """About 500 of them, each in a fresh process with a limit on its addresses."""
    _check(name, _door(name))


@pytest.mark.endurance
@pytest.mark.parametrize("name", [name for name in list(REQUESTS)[::5] if not REQUESTS[name].path])
def test_hostile_requests_on_the_command_line(name: str) -> None:
    """The command line adds nothing that takes longer."""
    _check(name, "command line")


def test_the_requests_are_what_they_say() -> None:
    """About 500, none above the size, each a different one."""
    assert len(REQUESTS) >= 500
    assert set(DOORS) == {"library", "command line", "operation"}
    names = list(REQUESTS)[::60]
    assert max(len(REQUESTS[name].body()) for name in names) <= LARGEST
