"""Workers that are killed: each submits jobs and carries them out until it is killed at a moment of its own.

Run as ``job_killing.py URL FOLDER KILLS SEED``. A worker says over a pipe which jobs were acknowledged, after the library has
said so. The provider is a paid one without idempotency keys: it writes down each time that it is asked, before it answers. In the
end one more worker carries out what is left, and all of it is printed as one line of JSON.
"""

import json
import os
import random
import select
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from innkeeper.inference.jobs import steps
from innkeeper.inference.jobs.backend import Call, Submitted
from innkeeper.inference.jobs.media import MediaRequest
from innkeeper.inference.jobs.runner import Runner
from tests.inference.jobs.fakes import FakeProvider, House, house

LONGEST = 0.25
"""Seconds that a worker lives after its first acknowledged job, at most."""

LEASE = 0.4
WANTED = MediaRequest(prompt="a red barn", model="fake/one")


class Paid(FakeProvider):
    """A provider that writes down what it is asked: one line each, in one write."""

    def __init__(self, ledger: Path) -> None:
        super().__init__()
        self._ledger = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def submit(self, call: Call) -> Submitted:
        os.write(self._ledger, f"{call.job_id}\n".encode())
        return Submitted(reference={"id": f"ref-{call.job_id}"})

    def cancel(self, call: Call, reference: Mapping[str, Any]) -> None:
        raise AssertionError("nothing is cancelled here")


def live(at: House, pipe: int) -> None:
    """Submit and carry out, until killed."""
    Runner(at.jobs, threads=3, lease=LEASE, steps=steps.Steps(at.jobs, first=0.01)).start()
    while True:
        job = at.jobs.submit(WANTED)
        os.write(pipe, f"{job.id}\n".encode())
        time.sleep(0.01)


def kill_one(url: str, folder: Path, moment: float) -> list[str]:
    """Start a worker, kill it so long after its first acknowledged job, and return what it acknowledged."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        try:
            with house(url, folder, Paid(folder / "ledger")) as at:
                live(at, told)
        finally:
            os._exit(1)
    os.close(told)
    select.select([heard], [], [], 60)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(heard, "rb") as file:
        return file.read().decode().split("\n")[:-1]


def main(url: str, folder: Path, kills: int, seed: int) -> None:
    """Kill that many, carry out the rest, and tell."""
    steps.POLL_SECONDS = (0.01, 0.05)  # type: ignore[attr-defined]
    chance = random.Random(seed)  # noqa: S311 - only moments are drawn
    with house(
        url, folder, Paid(folder / "ledger")
    ) as at:  # workers are copies of a process that has imported everything
        said = [at.jobs.submit(WANTED).id]
    for _ in range(kills):
        said += kill_one(url, folder, chance.uniform(0, LONGEST))
    with house(url, folder, Paid(folder / "ledger")) as at:
        with Runner(at.jobs, threads=4, lease=LEASE, steps=steps.Steps(at.jobs, first=0.01)):
            until = time.monotonic() + 60
            while time.monotonic() < until and any(not job.ended for job in at.jobs.store.list(limit=100_000)):
                time.sleep(0.1)
        found = {job.id: [job.state.value, job.error_kind] for job in at.jobs.store.list(limit=100_000)}
    asked = (folder / "ledger").read_text().split()
    sys.stdout.write(json.dumps({"said": said, "jobs": found, "asked": asked}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
