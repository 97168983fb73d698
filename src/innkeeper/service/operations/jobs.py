"""JobSurface: the jobs of one application, opened when they are first needed, and the threads that carry them out.

A library costs a database; a service that nobody asks for jobs opens none. Where there is one already, jobs may wait in it, so it
is opened beside the start of the service.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from starlette.routing import BaseRoute

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.operations.http import routes
from innkeeper.service.operations.library import SharedLibrary
from innkeeper.service.operations.paths import JOBS
from innkeeper.service.operations.scope import Resources
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.jobs.media_jobs import MediaJobs
    from innkeeper.jobs.runner import Runner


LOG: Final = logging.getLogger("innkeeper.jobs")


class JobSurface:
    """The jobs behind the service's paths, in ``library``. `close` it with the application, before the library."""

    def __init__(self, settings: Settings, library: SharedLibrary) -> None:
        self._settings = settings
        self._library = library
        self._lock = threading.Lock()
        self._jobs: MediaJobs | None = None
        self._runner: Runner | None = None
        self._closed = False

    def jobs(self) -> MediaJobs:
        """The jobs. Raises `UnavailableError`: the extra ``library`` is missing, or the database is."""
        with self._lock:
            if self._jobs is None:
                self._jobs = self._open()
                if self._settings.job_threads and not self._closed:
                    from innkeeper.jobs.runner import Runner

                    self._runner = Runner(self._jobs, threads=self._settings.job_threads)
                    self._runner.start()
            return self._jobs

    def routes(self) -> list[BaseRoute]:
        """The routes."""
        return routes(JOBS, Resources(jobs=self.jobs))

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        """Carry out jobs meanwhile."""
        self.start()
        try:
            yield
        finally:
            await asyncio.to_thread(self.close)

    def start(self) -> None:
        """Carry out what waits, if there is a library already; returns at once."""
        if self._settings.job_threads:
            threading.Thread(target=self._start, name="innkeeper-jobs-start", daemon=True).start()

    def close(self) -> None:
        """Take no more jobs, and finish those at hand."""
        with self._lock:
            self._closed = True
            jobs, runner, self._jobs, self._runner = self._jobs, self._runner, None, None
        if runner is not None:
            runner.stop(self._settings.stop_seconds)
        if jobs is not None:
            jobs.wire.close()

    def _start(self) -> None:
        try:
            if self._library.is_there():
                self.jobs()
        except InnkeeperError as error:
            LOG.warning("jobs are not carried out: %s", error.message)

    def _open(self) -> MediaJobs:
        library = self._library.get()
        from innkeeper.jobs.backends.wire import MediaWire
        from innkeeper.jobs.media_jobs import MediaJobs

        wire = MediaWire(self._settings.egress)
        return MediaJobs(
            library, wire=wire, public_url=self._settings.public_url, daily_budget=self._settings.job_budget
        )
