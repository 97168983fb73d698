"""Jobs: how many a second are accepted while four workers carry them out, and how soon a thousand start after a restart.

Run as ``python benchmarks/jobs/throughput.py [URL]``; without a URL on a SQLite file in a folder of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from innkeeper.inference.jobs.media import MediaRequest
from innkeeper.inference.jobs.media_jobs import MediaJobs
from innkeeper.library.library import Library

WORKERS = 4
JOBS = 400
QUEUED = 1_000
WORKER = [sys.executable, "-m", "innkeeper", "job", "work", "--threads", "8", "--json", "--database"]


def workers(url: str, count: int) -> list[subprocess.Popen[bytes]]:
    """Start that many processes that carry jobs out."""
    return [subprocess.Popen([*WORKER, url]) for _ in range(count)]


def stop(running: list[subprocess.Popen[bytes]]) -> None:
    """End them."""
    for process in running:
        process.terminate()
    for process in running:
        process.wait()


def wanted(number: int) -> MediaRequest:
    """A small picture."""
    return MediaRequest(prompt=f"a red barn, number {number}", seed=number, width=64, height=64)


def waiting(jobs: MediaJobs, *states: str) -> int:
    """How many jobs are in one of these states."""
    return sum(len(jobs.store.list(state=state, limit=2_000)) for state in states)


def accepted(jobs: MediaJobs, url: str) -> None:
    """Accept jobs while workers carry them out."""
    running = workers(url, WORKERS)
    time.sleep(4)
    began = time.perf_counter()
    for number in range(JOBS):
        jobs.submit(wanted(number))
    print(f"accepted, with {WORKERS} workers draining: {JOBS / (time.perf_counter() - began):8.0f} a second")
    while waiting(jobs, "queued", "dispatched", "running", "storing"):
        time.sleep(0.1)
    print(f"carried out by {WORKERS} workers:           {JOBS / (time.perf_counter() - began):8.0f} a second")
    stop(running)


def restarted(jobs: MediaJobs, url: str) -> None:
    """Queue a thousand with nobody there, then start one worker, and see when they start."""
    for number in range(QUEUED):
        jobs.submit(wanted(number))
    began = time.perf_counter()
    running = workers(url, 1)
    while waiting(jobs, "queued") == QUEUED:
        time.sleep(0.01)
    print(
        f"the first of {QUEUED:,} starts after             {time.perf_counter() - began:8.2f} s, start of a process included"
    )
    while waiting(jobs, "queued", "dispatched", "running", "storing"):
        time.sleep(0.1)
    print(f"all of {QUEUED:,} are done after                 {time.perf_counter() - began:8.2f} s")
    stop(running)


def main() -> None:
    """Print the figures."""
    url = sys.argv[1] if len(sys.argv) > 1 else str(Path(tempfile.mkdtemp()) / "jobs.db")
    with Library.open(url, watch=False) as library:
        jobs = MediaJobs(library)
        accepted(jobs, url)
        restarted(jobs, url)


if __name__ == "__main__":
    main()
