"""Runner: the threads of one process that carry jobs out, and what is seen to beside them.

Any number of processes may have one on the same database. Beside the jobs a runner renews its leases, gives up those of workers
that went away, ends jobs whose time is over, tells providers of cancelled ones, and sends messages about those that ended.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Self, TypeVar

from innkeeper.jobs.deliveries import Deliveries
from innkeeper.jobs.job import Job, JobChangedError, JobRoute, JobState
from innkeeper.jobs.limits import LEASE_SECONDS, WEBHOOK_SECONDS
from innkeeper.jobs.media_jobs import MediaJobs
from innkeeper.jobs.steps import MARKS, Steps
from innkeeper.library.db.tables.columns import later
from innkeeper.library.errors import DatabaseError
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.machine import random_bytes

LOG: Final = logging.getLogger("innkeeper.jobs")
_T = TypeVar("_T")
_IDLE: Final = 0.2
_GATHER: Final = 0.02
"""Seconds for which threads that are free wait for others, so that several jobs are claimed at once."""
_SWEEP: Final = 1.0
_FORGET: Final = 300.0


class Runner:
    """Carries out jobs. `start` and `stop` it, or have it `drain` in the caller's own thread.

    Args:
        jobs: whose jobs.
        threads: how many at once.
        steps: what is done with each.
        lease: seconds for which a job is held without a word.
    """

    def __init__(
        self, jobs: MediaJobs, *, threads: int = 8, steps: Steps | None = None, lease: float = LEASE_SECONDS
    ) -> None:
        self.jobs = jobs
        self.store = jobs.store
        self.steps = steps or Steps(jobs)
        self.deliveries = Deliveries(jobs)
        self.worker = f"{MARKS}{os.getpid()}-{random_bytes(4).hex()}"
        self._threads = threads
        self._lease = lease
        self._held: dict[str, Job] = {}
        self._seen: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._running: list[threading.Thread] = []
        self._forgotten = 0.0
        self._claimed = 0.0
        self._more = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin."""
        self.jobs.added = self._wake.set
        work: dict[str, Callable[[], object]] = {
            "jobs": self._run,
            "leases": self._renew,
            "lost": lambda: self._every(self._recover),
            "messages": lambda: self._every(self._tell),  # whoever is told may take his time: nothing else waits for it
        }
        self._running = [
            threading.Thread(target=do, name=f"innkeeper-{name}", daemon=True) for name, do in work.items()
        ]
        for thread in self._running:
            thread.start()

    def stop(self, seconds: float = 30.0) -> None:
        """Take no more jobs, and wait for those at hand."""
        self._stopping.set()
        self._wake.set()
        until = time.monotonic() + seconds
        for thread in self._running:
            thread.join(max(0.0, until - time.monotonic()))

    def drain(self, seconds: float = 60.0, *, until: str | None = None) -> None:
        """Carry out what is due in this thread until nothing waits, or the job ``until`` has ended, or the time is over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            claimed = self._claim(1)
            for job in claimed:
                self.steps.run(job)
            self.sweep()
            if until is not None and self.store.get(until).ended:
                return
            if not claimed:
                if until is None:
                    return
                time.sleep(0.05)

    # ----------------------------------------------------------------------------------------------------------------- loop

    def _run(self) -> None:
        with ThreadPoolExecutor(self._threads, thread_name_prefix="innkeeper-job") as pool:
            while not self._stopping.is_set():
                self._wake.clear()
                if not self._safely(lambda: self._take(pool)):
                    self._wake.wait(_GATHER if self._more and len(self._held) < self._threads else _IDLE)

    def _every(self, work: Callable[[], object]) -> None:
        """Do something once a second."""
        while not self._stopping.wait(_SWEEP):
            self._safely(work)

    def _safely(self, work: Callable[[], _T]) -> _T | None:
        """Do something; what fails is tried again a while later."""
        try:
            return work()
        except DatabaseError as error:
            LOG.warning("jobs wait for the database: %s", error.message)
        except Exception as error:  # noqa: BLE001 - a defect must not end a thread that all jobs need
            LOG.error("jobs: internal error: %s", type(error).__name__)  # noqa: TRY400 - may quote a prompt
        self._stopping.wait(_SWEEP)
        return None

    def _take(self, pool: ThreadPoolExecutor) -> int:
        free = self._threads - len(self._held)
        if free <= 0 or not (self._more or self.store.is_anything_due()):
            return 0
        if self._more and free < self._threads / 2 and time.monotonic() - self._claimed < _GATHER:
            return 0  # while there is a backlog, each claim is to bring several jobs
        claimed = self._claim(free)
        self._more, self._claimed = len(claimed) == free, time.monotonic()
        with self._lock:
            self._held |= {job.id: job for job in claimed}
        for job in claimed:
            pool.submit(self._one, job)
        return len(claimed)

    def _claim(self, limit: int) -> tuple[Job, ...]:
        waiting = [backend.name for backend in self.jobs.backends.values() if backend.waits]
        return self.store.claim(self.worker, limit, self._lease, waiting=waiting)

    def _one(self, job: Job) -> None:
        try:
            self.steps.run(job)
        except DatabaseError as error:
            LOG.warning("%s: %s", job.id, error.message)  # its lease runs out, and somebody goes on with it
        except Exception as error:  # noqa: BLE001 - as above
            LOG.error("%s: internal error: %s", job.id, type(error).__name__)  # noqa: TRY400 - may quote a prompt
        finally:
            with self._lock:
                self._held.pop(job.id, None)
            self._wake.set()

    def _renew(self) -> None:
        while not self._stopping.wait(self._lease / 3) or self._held:
            with self._lock:
                held = list(self._held)
            try:
                if held:
                    self.store.renew(self.worker, held, self._lease)
            except InnkeeperError as error:
                LOG.warning("leases are not renewed: %s", error.message)
            if self._stopping.is_set():
                time.sleep(min(1.0, self._lease / 3))

    # ---------------------------------------------------------------------------------------------------------------- sweep

    def sweep(self) -> None:
        """Everything beside the jobs themselves, once."""
        self._recover()
        self._tell()

    def _recover(self) -> None:
        """End jobs whose time is over, and go on with those of workers that went away."""
        for job in self.store.overdue():
            now = self.store.db.now()
            fields: dict[str, Any] = {"route": JobRoute.of(job).stopped(job, "expired", now).columns()}
            fields |= {} if job.reference is None else {"cancel_due": now}
            self._unless_changed(lambda job=job, fields=fields: self.store.move(job, JobState.EXPIRED, **fields))
        for job in self._lost():
            backend = self.jobs.backends.get(job.backend)
            self._unless_changed(lambda job=job, backend=backend: self.steps.recover(job, backend))
        if time.monotonic() - self._forgotten > _FORGET or not self._forgotten:
            self._forgotten = time.monotonic()
            self.store.forget_receipts(later(self.store.db.now(), -2 * WEBHOOK_SECONDS))

    def _tell(self) -> None:
        """Tell providers of jobs that were cancelled, and whoever asked for it of those that ended."""
        for job in self.store.to_cancel(16):
            self._unless_changed(lambda job=job: self.steps.tell_provider(job))
        self.deliveries.send_due()

    def _lost(self) -> list[Job]:
        """Jobs whose lease is over: by the clock, or, where that was set back, once it has stood still for as long."""
        now, moment, leases = self.store.db.now(), time.monotonic(), self.store.leases()
        before, self._seen = self._seen, {}
        lost = []
        for name, until in leases.items():
            mark, since = before.get(name, (None, moment))
            since = since if mark == until else moment
            self._seen[name] = (until, since)
            if until <= now or moment - since > self._lease:
                lost.append(name)
        jobs = [self.store.get(name) for name in lost if name not in self._held]
        return [job for job in jobs if (job.lease_until or "") == leases[job.id]]

    def _unless_changed(self, work: object) -> None:
        try:
            work()  # type: ignore[operator]
        except JobChangedError:
            LOG.debug("changed by somebody else")
        except DatabaseError:
            raise
        except InnkeeperError as error:
            LOG.warning("jobs: %s", error.message)
