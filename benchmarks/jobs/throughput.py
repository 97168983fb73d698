"""Jobs: how many a second are accepted while four workers carry them out, and how soon a thousand start after a restart.

Run as ``python benchmarks/jobs/throughput.py [URL] [--callers 16]``; without a URL on a SQLite file in a folder of its own.
Callers are threads of one process, as a service has them: each submits a job, waits until it is accepted, and submits the next.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sqlalchemy import func, select

from innkeeper.jobs.media import MediaRequest
from innkeeper.jobs.media_jobs import MediaJobs
from innkeeper.library.db.tables.jobs import jobs as table
from innkeeper.library.library import Library

WORKERS = 4
QUEUED = 1_000
SECONDS = 8.0
WORKER = [sys.executable, "-m", "innkeeper", "admin", "job", "run", "--threads", "8", "--json", "--database"]


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
    """A small picture, of a prompt that was not seen before."""
    return MediaRequest(prompt=f"a red barn, number {number}", seed=number, width=64, height=64)


def waiting(jobs: MediaJobs, *states: str) -> int:
    """How many jobs are in one of these states."""
    with jobs.store.db.reading() as connection:
        query = select(func.count()).select_from(table).where(table.c.state.in_(states))
        return int(connection.execute(query).scalar_one())


def done(jobs: MediaJobs) -> int:
    """How many jobs have been carried out."""
    return waiting(jobs, "succeeded")


def accepted(jobs: MediaJobs, url: str, callers: int) -> None:
    """Accept jobs while workers carry them out: those count that were accepted while all of them ran."""
    running = workers(url, WORKERS)
    for number in range(WORKERS * 2):
        jobs.submit(wanted(-number))
    while done(jobs) < WORKERS * 2:
        time.sleep(0.1)
    time.sleep(2)
    before, began = done(jobs), time.perf_counter()

    def call(caller: int) -> int:
        number = 0
        while time.perf_counter() - began < SECONDS:
            jobs.submit(wanted(1_000_000 * (caller + 1) + number))
            number += 1
        return number

    with ThreadPoolExecutor(callers) as pool:
        count = sum(pool.map(call, range(callers)))
    took = time.perf_counter() - began
    drained = done(jobs) - before
    print(f"accepted from {callers} callers, with {WORKERS} workers draining: {count / took:6.0f} a second")
    print(f"carried out by {WORKERS} workers meanwhile:               {drained / took:6.0f} a second")
    began = time.perf_counter()
    left = max(0, count - drained)
    while waiting(jobs, "queued", "dispatched", "running", "storing"):
        time.sleep(0.1)
    print(
        f"carried out by {WORKERS} workers afterwards:              {left / (time.perf_counter() - began):6.0f} a second"
    )
    stop(running)


def restarted(jobs: MediaJobs, url: str) -> None:
    """Queue a thousand with nobody there, then start one worker, and see when they start."""
    for number in range(QUEUED):
        jobs.submit(wanted(number))
    began = time.perf_counter()
    running = workers(url, 1)
    while waiting(jobs, "queued") == QUEUED:
        time.sleep(0.02)
    print(
        f"the first of {QUEUED:,} starts after            {time.perf_counter() - began:8.2f} s, start of a process included"
    )
    while waiting(jobs, "queued", "dispatched", "running", "storing"):
        time.sleep(0.1)
    print(f"all of {QUEUED:,} are done after                {time.perf_counter() - began:8.2f} s")
    stop(running)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url", nargs="?")
    parser.add_argument("--callers", type=int, default=16)
    said = parser.parse_args()
    url = said.url or str(Path(tempfile.mkdtemp()) / "jobs.db")
    with Library.open(url, watch=False) as library:
        jobs = MediaJobs(library)
        accepted(jobs, url, said.callers)
        restarted(jobs, url)


if __name__ == "__main__":
    main()
