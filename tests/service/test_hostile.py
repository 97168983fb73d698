"""Hostile callers, against a real server: it answers how it is all the while, its memory has a bound, and each call an end."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Final

import httpx
import pytest

from innkeeper.service.errors import WORKER_MEMORY, WORKERS
from tests.service.programs import CONSTRUCT, DOCUMENT, Service

PROBE: Final = Path(__file__).parent / "probe.py"
HEALTH_SECONDS: Final = 0.1
"""How long health may take on a machine of our own; the short form runs beside other tests and only looks for blocking."""

BLOCKED_SECONDS: Final = 1.0
ENDS_SECONDS: Final = 40.0
MACRO: Final = "/api/modules/smarttavern/macro/process_text"
ENDINGS: Final = {"LIMIT", "TIME_BUDGET", "ALLOWANCE", "BODY_LIMIT"}


def entry(condition: str, number: int = 0) -> dict[str, Any]:
    """A world-book entry."""
    place = {"mode": "conditional", "position": "user", "depth": 0, "order": 1, "enabled": True}
    return {"id": number, "name": "x", "condition": condition, "content": "c", **place}


def rules(pattern: str) -> dict[str, Any]:
    """A call that replaces by one pattern."""
    rule = {"id": "a", "enabled": True, "find_regex": pattern, "replace_regex": "b", "targets": ["user"]}
    rule |= {"placement": "after_macro", "views": ["user_view"]}
    return {"regex_rules": [rule], "placement": "after_macro", "view": "user_view", "text": "aaaa"}


WORDS: Final = ",".join(f"word{number}" for number in range(40_000))
NESTED: Final = "(?:" * 20 + "a" + "+)" * 20
HOSTILE: Final[dict[str, tuple[str, Any]]] = {
    "nested repeats": (MACRO, {"text": "{{python:re.match('" + NESTED + "','a')}}"}),
    "nested repeats of a rule": (
        "/api/modules/smarttavern/regex_replace/apply_text",
        rules("(?:" * 24 + "a" + "+)" * 24),
    ),
    "many keywords": (CONSTRUCT, {**DOCUMENT, "world_books": [entry(f"<<keywords:{WORDS}>>", n) for n in range(8)]}),
    "a large reply": (
        f"{MACRO}_batch",
        {"texts": ["{{getvar:x}}"] * 4_000, "variables": {"x": "y" * 75_000}},
    ),
}


@contextmanager
def probed(service: Service) -> Iterator[list[float]]:
    """Ask for health while the block runs; the answers' seconds are there after it."""
    times: list[float] = []
    with subprocess.Popen(
        [sys.executable, str(PROBE), str(service.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as probe:
        try:
            sleep(0.3)
            yield times
        finally:
            said = probe.communicate(timeout=60)[0]
    times.extend(json.loads(said))


def assert_quick(times: list[float], *, alone: bool) -> None:
    """Health was there all the while: of a machine of our own each answer in time, of a busy one none blocked."""
    assert len(times) >= 3
    assert max(times) <= (HEALTH_SECONDS if alone else BLOCKED_SECONDS)


def memory(pid: int) -> int:
    """Bytes that a process and its descendants have to themselves, or share among them."""
    parents = {int(path.parent.name): _parent(path) for path in Path("/proc").glob("[0-9]*/stat")}
    mine = {pid}
    for _ in range(4):
        mine |= {child for child, parent in parents.items() if parent in mine}
    return sum(map(_share, mine))


def _parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:  # ended meanwhile
        return 0


def _share(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # ended meanwhile
        return 0
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))


@contextmanager
def weighed(service: Service) -> Iterator[list[int]]:
    """Weigh the service while the block runs."""
    sizes, over = [memory(service.process.pid)], threading.Event()

    def weigh() -> None:
        while not over.wait(0.1):
            sizes.append(memory(service.process.pid))

    scale = threading.Thread(target=weigh)
    scale.start()
    try:
        yield sizes
    finally:
        over.set()
        scale.join()


def ending(reply: httpx.Response) -> str:
    """How a call ended: the code of its error, or nothing."""
    said = reply.json()
    return str(said.get("error_code") or said.get("problem", {}).get("kind", "").upper())


def attack(service: Service, *calls: tuple[str, Any]) -> tuple[list[str], float]:
    """How these calls at once end, and the seconds of another caller's meanwhile."""
    with ThreadPoolExecutor(len(calls)) as pool:
        began = perf_counter()
        running = [pool.submit(service.post, path, body) for path, body in calls]
        sleep(0.3)
        ask = perf_counter()
        assert service.post(MACRO, {"text": "{{upper:a}}"}).json()["text"] == "A"
        other = perf_counter() - ask
        ends = [ending(call.result()) for call in running]
        assert perf_counter() - began < ENDS_SECONDS
        return ends, other


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """``innkeeper serve``."""
    with Service.command() as running:
        yield running
        assert running.healthy()


def test_four_hogs(service: Service) -> None:
    """Four calls that would take the process down end by typed errors; meanwhile health and a fifth call are answered."""
    with weighed(service) as sizes, probed(service) as times:
        ends, other = attack(service, *HOSTILE.values())
    assert {*ends} <= {*ENDINGS, ""}
    assert other < 5
    assert max(sizes) < WORKERS * WORKER_MEMORY + 200_000_000
    assert_quick(times, alone=False)


@pytest.mark.endurance
@pytest.mark.parametrize("call", HOSTILE.values(), ids=HOSTILE)
def test_four_of_a_kind(service: Service, call: tuple[str, Any]) -> None:
    """The same with four of each kind, and health within its time."""
    with weighed(service) as sizes, probed(service) as times:
        ends, other = attack(service, *[call] * 4)
    assert {*ends} <= {*ENDINGS, ""}
    assert other < 2
    assert max(sizes) < 4 * WORKER_MEMORY + 200_000_000
    assert_quick(times, alone=True)
