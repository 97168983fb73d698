"""Everything about jobs is killed at random moments under load: the service, workers, and the database server.

Run as ``python -m tests.faults.job_killing URL FOLDER KILLS SEED [SERVER]``; ``SERVER`` is `Server.to_json` of a PostgreSQL that
may be killed, too. The service writes down which jobs were acknowledged, after the library has said so. The provider is a paid
one without idempotency keys: it writes down each time that it is asked, before it answers. In the end one more worker carries out
what is left, and all of it is printed as one line of JSON.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from innkeeper.gate.detector import Named
from innkeeper.gate.tier import ScanFindings
from innkeeper.jobs import steps
from innkeeper.jobs.backend import BackendCall, Submitted
from innkeeper.jobs.media import MediaRequest
from innkeeper.jobs.runner import Runner
from innkeeper.prompt.errors import InnkeeperError
from tests.jobs.fakes import FakeProvider, House, house
from tests.postgres import Server

LONGEST = 0.25
"""Seconds between two kills, at most, once what was killed before works again."""

LEASE = 0.4
BACKLOG = 12
"""Jobs that wait at most: as many as workers carry out in a moment."""

THREADS = 3
WANTED = MediaRequest(prompt="a red barn", model="fake/one")


class Ledger:
    """A file of lines that several processes add to, each line in one write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())

    def lines(self) -> list[str]:
        return self._path.read_text().split()

    def size(self) -> int:
        return os.fstat(self._file).st_size


class Paid(FakeProvider):
    """A provider that writes down what it is asked."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def submit(self, call: BackendCall) -> Submitted:
        self._ledger.add(call.job_id)
        return Submitted(reference={"id": f"ref-{call.job_id}"})

    def cancel(self, call: BackendCall, reference: Mapping[str, Any]) -> None:
        raise AssertionError("nothing is cancelled here")


class Calm:
    """Finds nothing in any text, and so needs no lists, which take longer to read than all of this."""

    lexicon_version = version = "calm"

    def scan(self, text: str) -> ScanFindings:
        return ScanFindings(detector_version=self.version, lexicon_version=self.version, length=len(text))

    def seam(self, *_: str) -> None:
        return None

    def scan_request(self, named: Named, make: Callable[[Named], ScanFindings]) -> ScanFindings:
        return make(named)


class Killing:
    """What runs, and what it has written down."""

    def __init__(self, url: str, folder: Path, server: Server | None) -> None:
        self.url, self.folder, self.server = url, folder, server
        self.said, self.asked = Ledger(folder / "said"), Ledger(folder / "asked")
        self.alive: dict[str, int] = {}

    def open(self) -> Any:
        """A house; its provider writes down what it is asked."""
        return house(self.url, self.folder, Paid(self.asked), detector=Calm())

    def start(self, name: str) -> None:
        """Start the service or a worker as a copy of this process, which has imported everything, and none of its threads."""
        child = os.fork()
        if child:
            self.alive[name] = child
            return
        try:
            self._patiently(self._serve if name == "service" else self._work)
        finally:
            os._exit(1)

    def kill(self, name: str) -> None:
        """Kill one, and start it again."""
        if name == "server" and self.server is not None:
            self.server.kill()
            self._start_server(self.server)
            return
        os.kill(self.alive[name], signal.SIGKILL)
        os.waitpid(self.alive.pop(name), 0)
        self.start(name)

    def works(self) -> None:
        """Wait until jobs are accepted and carried out again."""
        before, until = (self.said.size(), self.asked.size()), time.monotonic() + 120
        while self.said.size() == before[0] or self.asked.size() == before[1]:
            assert time.monotonic() < until, "nothing works any more"
            time.sleep(0.005)

    def end(self) -> None:
        """Kill all."""
        for child in self.alive.values():
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def _patiently(self, live: Callable[[House], None]) -> None:
        """Live, and where there is no database begin again."""
        while True:
            with suppress(InnkeeperError), self.open() as at:
                live(at)
            time.sleep(0.02)

    def _serve(self, at: House) -> None:
        """Submit from several threads."""
        threads = [threading.Thread(target=self._submit, args=[at]) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _submit(self, at: House) -> None:
        while True:
            try:
                if len(at.jobs.store.list(state="queued", limit=BACKLOG)) == BACKLOG:
                    time.sleep(0.01)
                    continue
                job = at.jobs.submit(WANTED)
            except InnkeeperError:
                time.sleep(0.02)
            else:
                self.said.add(job.id)

    def _work(self, at: House) -> None:
        Runner(at.jobs, threads=THREADS, lease=LEASE, steps=steps.Steps(at.jobs, first=0.01)).start()
        while True:
            time.sleep(60)

    @staticmethod
    def _start_server(server: Server) -> None:
        """Start it: not before the processes of the one that was killed have gone."""
        until = time.monotonic() + 60
        while True:
            try:
                server.start()
            except AssertionError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
            else:
                return


def drain(killing: Killing) -> dict[str, list[str | None]]:
    """Carry out what is left; how each job has ended."""
    with killing.open() as at:
        with Runner(at.jobs, threads=4, lease=LEASE, steps=steps.Steps(at.jobs, first=0.01)):
            until = time.monotonic() + 300
            while time.monotonic() < until and any(
                at.jobs.store.list(state=state, limit=1) for state in ("queued", "dispatched", "running", "storing")
            ):
                time.sleep(0.05)
        return {job.id: [job.state.value, job.error_kind] for job in at.jobs.store.list(limit=10**6)}


def main(url: str, folder: Path, kills: int, seed: int, server: Server | None) -> None:
    """Kill that often, carry out the rest, and tell."""
    steps.POLL_SECONDS = (0.01, 0.05)  # type: ignore[attr-defined]
    chance = random.Random(seed)  # noqa: S311 - only moments are drawn
    killing = Killing(url, folder, server)
    with killing.open() as at:  # what processes that begin now would each have to load is loaded before
        killing.said.add(at.jobs.submit(WANTED).id)
    names = ["service", "worker 1", "worker 2"]
    for name in names:
        killing.start(name)
    killed: Counter[str] = Counter()
    try:
        for _ in range(kills):
            killing.works()
            time.sleep(chance.uniform(0, LONGEST))
            name = chance.choice(names + ["server"] * (server is not None))
            killed[name.partition(" ")[0]] += 1
            killing.kill(name)
        killing.works()
    finally:
        killing.end()
    found = drain(killing)
    told = {"seed": seed, "killed": killed, "said": killing.said.lines(), "jobs": found, "asked": killing.asked.lines()}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(
        sys.argv[1],
        Path(sys.argv[2]),
        int(sys.argv[3]),
        int(sys.argv[4]),
        Server.from_json(sys.argv[5]) if sys.argv[5:] else None,
    )
