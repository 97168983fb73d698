"""How the tests run side by side, in little time: loaded by the `conftest.py` beside the Makefile.

Most of the tests, more than twenty thousand, take a millisecond or less. What pytest-xdist and the collector of garbage do for
each took as long as they do themselves, so less of that is done. The modules that take longest run first: no core is idle at the
end.
"""

import gc
import sys
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.assertion.rewrite import (
    PYC_TAIL,
    _rewrite_test,
    _write_pyc,
    assertstate_key,
    get_cache_dir,
    try_makedirs,
)
from _pytest.runner import runtestprotocol
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# ---------------------------------------------------------------------------------------------------------- randomness


def pytest_configure(config: pytest.Config) -> None:
    """Set the seed of `random` once a process, not three times a test: no test takes from it what it does not seed itself."""
    if hasattr(config.option, "randomly_reset_seed"):
        config.option.randomly_reset_seed = False


# ------------------------------------------------------------------------------------------------------------- garbage

ALLOCATIONS: Final = 20_000
"""Objects made and not yet dropped after which garbage is looked for; with Python's 700 a tenth of the time went there."""

MODULES_BETWEEN: Final = 20
"""Modules of tests after which what they have left behind (caches, reports) is looked through for the last time."""

_modules = count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Collect the tests without looking for garbage: what is made then stays, some hundred megabytes."""
    gc.disable()
    if hasattr(session.config, "workerinput"):
        rewrite_share(session.config, session.config.workerinput)


def rewrite_share(config: pytest.Config, worker: Mapping[str, Any]) -> None:
    """Rewrite the asserts of this process's share of the modules, where pytest has not kept them rewritten.

    In a fresh copy of the project that takes ten seconds, which each process would spend on every module.
    """
    folders = (Path(argument.partition("::")[0]) for argument in config.args)
    modules = sorted(path for folder in folders if folder.is_dir() for path in folder.rglob("test_*.py"))
    first = int(worker["workerid"].removeprefix("gw"))
    for path in () if sys.dont_write_bytecode else modules[first :: worker["workercount"]]:
        kept = get_cache_dir(path) / f"{path.stem}{PYC_TAIL}"
        if not kept.exists() and try_makedirs(kept.parent):
            source_hash, code = _rewrite_test(path, config)
            _write_pyc(config.stash[assertstate_key], code, source_hash, kept)


def pytest_collection_finish() -> None:
    """Keep what has been collected out of the way of each later search for garbage."""
    gc.freeze()
    gc.set_threshold(ALLOCATIONS, 10, 10)
    gc.enable()
    if "sqlalchemy.engine" in sys.modules:
        share_statements()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Keep what modules of tests have left behind out of later searches: each full one took up to a second."""
    if (nextitem is None or nextitem.path != item.path) and next(_modules) % MODULES_BETWEEN == 0:
        gc.collect()
        gc.freeze()


# ---------------------------------------------------------------------------------------------------------- statements

STATEMENTS: Final = 4_000
"""Compiled statements that a process keeps."""


def share_statements() -> None:
    """Let all engines of a process share what they compile: tests open a database each, and compiling took a sixth of their time.

    An engine keeps statements under its own dialect; here they are kept under the dialect's class, one a kind of database.
    """
    from sqlalchemy.engine import Engine
    from sqlalchemy.util import LRUCache

    class Statements(LRUCache[Any, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            return super().get((type(key[0]), *key[1:]), default)

        def __setitem__(self, key: Any, value: Any) -> None:
            super().__setitem__((type(key[0]), *key[1:]), value)

    shared = Statements(STATEMENTS)
    Engine._compiled_cache = property(lambda _engine: shared, lambda _engine, _own: None)  # type: ignore[assignment]


# ------------------------------------------------------------------------------------------------------------- reports

SHOWN: Final = 0.05
"""Seconds from which on what is done before or after a test is reported, for `--durations`."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Send of a test that passes one report to the process that counts them, not three between a start and an end.

    That a test is done the process that counts is told once more, by pytest-xdist.
    """
    if not hasattr(item.config, "workerinput"):
        return None  # this process counts them itself
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration >= SHOWN:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


# --------------------------------------------------------------------------------------------------------------- order

TOGETHER: Final = ("tests/inspector", "tests/journeys")
"""Folders whose modules one process runs: they share a browser, or an installed wheel."""

LONGEST: Final = (
    "tests/inspector",
    "tests/journeys",
    "tests/service/processes/test_pool.py",
    "tests/faults/test_jobs.py",
    "tests/service/test_profiles.py",
    "tests/library/log/test_queue.py",
    "tests/library/catalogue/test_database_source.py",
    "tests/library/test_concurrency.py",
    "tests/conversation/test_doors.py",
    "tests/service/test_app.py",
    "tests/service/processes/test_spawner.py",
    "tests/library/db/test_schema.py",
    "tests/library/db/test_damage.py",
    "tests/cli/prompt/test_tokens.py",
    "tests/service/test_hostile.py",
    "tests/service/test_doors.py",
    "tests/taverns/silly/test_vectors.py",
    "tests/fuzz/test_targets.py",
    "tests/tokens/engines/test_loading.py",
    "tests/faults/test_storage.py",
    "tests/library/test_acceptance.py",
    "tests/library/test_library.py",
    "tests/data/test_run.py",
    "tests/limits/test_own_patterns.py",
    "tests/library/transfer/test_importing.py",
    "tests/properties/test_bodies_fit.py",
    "tests/service/test_door_gate.py",
    "tests/test_walk.py",
    "tests/library/log/test_conversations.py",
    "tests/test_every_door.py",
    "tests/properties/test_same_bytes.py",
    "tests/cli/run/test_worker.py",
    "tests/taverns/test_input_matrix.py",
    "tests/library/db/test_engine.py",
    "tests/service/test_error_words.py",
    "tests/macros/smart/sandbox/test_escapes.py",
    "tests/parity/test_smart.py",
    "tests/inference/local/test_model.py",
    "tests/operations/scenes/test_scenes.py",
    "tests/limits/test_commands.py",
    "tests/service/test_quality.py",
    "tests/prompt/typed/test_once.py",
    "tests/library/test_starts.py",
    "tests/cli/prompt/test_cache.py",
    "tests/library/models/test_stores.py",
    "tests/faults/test_adapters.py",
    "tests/service/jobs/test_jobs.py",
    "tests/limits/test_requests.py",
    "tests/jobs/test_routing.py",
    "tests/cli/app/test_service.py",
    "tests/macros/smart/test_expansion.py",
    "tests/dialects/test_properties.py",
    "tests/limits/test_gate.py",
    "tests/service/guard/test_guard.py",
    "tests/faults/test_job_kills.py",
    "tests/cli/talk/test_demo.py",
    "tests/cli/prompt/test_build.py",
    "tests/gate/test_measured.py",
)
"""The modules and folders that take more than four seconds, those that wait for a browser first, then the longest. Others follow
by how many tests they have.
"""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> "LongestFirst | None":
    """Take our own order where each process gets whole modules."""
    return LongestFirst(config, log) if config.getvalue("dist") == "loadfile" else None


class _Positions(list[str]):
    """Names of tests, of which each is looked up by its position once."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self._positions = {name: position for position, name in enumerate(names)}

    def index(self, name: str, *_: object) -> int:
        return self._positions[name]


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]
    """Whole modules to each process, those of `LONGEST` first; what is done is forgotten.

    That of pytest-xdist counts, after each test, what is open among all the tests that a process has ever had.
    """

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Take the names of the tests that a process has collected."""
        super().add_node_collection(node, collection)
        self.registered_collections[node] = _Positions(collection)

    def _split_scope(self, nodeid: str) -> str:
        module = super()._split_scope(nodeid)
        folder = module.rpartition("/")[0]
        return folder if folder in TOGETHER else str(module)

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget a test that is done, and its module with its last; more work to its process where little is left."""
        name = self.registered_collections[node][item_index]
        module = self._split_scope(name)
        del self.assigned_work[node][module][name]
        if not self.assigned_work[node][module]:
            del self.assigned_work[node][module]
        self._reschedule(node)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        return sum(map(len, workload.values()))  # what is done is not in it any more

    def _assign_work_unit(self, node: WorkerController) -> None:
        longest = next((module for module in LONGEST if module in self.workqueue), None)
        if longest is not None:
            self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)
