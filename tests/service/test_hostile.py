"""Hostile callers, against a real server: it answers how it is all the while, its memory has a bound, and each call an end."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Final

import httpx
import pytest
from starlette.testclient import TestClient
from websockets.sync.client import connect

from innkeeper.service import Keys, Settings, create_app
from innkeeper.service.errors import MAX_WORKER_MEMORY, MAX_WORKERS
from tests.service.programs import CONSTRUCT, DOCUMENT, SLOW, Service

PROBE: Final = Path(__file__).parent / "probe.py"
TIMED: Final = Path(__file__).parent / "timed_service.py"
HEALTH_SECONDS: Final = 0.1
"""How long health may take on a machine of our own; the short form runs beside other tests and only looks for blocking."""
OTHER_SECONDS: Final = 2.0
"""How long another caller may wait meanwhile, on a machine of our own."""

ENDS_SECONDS: Final = 240.0
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
    """Health was there all the while: on a machine of our own each answer in time, on a busy one more than once."""
    assert len(times) > 1
    assert not alone or max(times) <= HEALTH_SECONDS


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
        running = [pool.submit(service.post, path, body) for path, body in calls]
        sleep(0.3)
        ask = perf_counter()
        assert service.post(MACRO, {"text": "{{upper:a}}"}).json()["text"] == "A"
        other = perf_counter() - ask
        ends = [ending(call.result()) for call in running]
        return ends, other


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service, none of whose steps keeps the event loop for as long as health may take."""
    note = tmp_path_factory.mktemp("service") / "longest"
    with Service(str(note), program=TIMED) as running:
        yield running
        assert running.healthy()
        assert running.stop() == 0
    assert float(note.read_text()) < HEALTH_SECONDS


def test_four_hogs(service: Service) -> None:
    """Four calls that would take the process down end by typed errors; meanwhile health and a fifth call are answered."""
    with weighed(service) as sizes, probed(service) as times:
        ends, _ = attack(service, *HOSTILE.values())
    assert {*ends} <= {*ENDINGS, ""}
    assert max(sizes) < MAX_WORKERS * MAX_WORKER_MEMORY + 200_000_000
    assert_quick(times, alone=False)


def large_message(service: Service) -> str:
    """What a WebSocket answers to a message of 7.8 MB with very many values."""
    values = '"k":[' + ",".join(["[1]"] * 1_900_000) + "]"
    call = '{"type": "function_call", "function": "smarttavern/macro/process_text", "params": {"text": "a", "variables": {%s}}}'
    with connect(f"ws://127.0.0.1:{service.port}/ws", max_size=None, proxy=None, compression=None) as door:
        door.send(call % values)
        said = json.loads(door.recv(timeout=ENDS_SECONDS))
        return str(said.get("error", {}).get("error_code", said.get("error_code", "")))


def test_large_messages(service: Service) -> None:
    """Messages as large as they may be are read beside the event loop, and each is answered."""
    with weighed(service) as sizes, probed(service) as times, ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(lambda _: large_message(service), range(4)))
    assert {*ends} <= {*ENDINGS, "", "INVALID_JSON"}
    assert max(sizes) < MAX_WORKERS * MAX_WORKER_MEMORY + 300_000_000
    assert_quick(times, alone=False)


HEAD: Final = f"POST {MACRO} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{{".encode()


@pytest.mark.parametrize(("count", "sent"), [(140, HEAD), (600, b"")], ids=["unfinished bodies", "idle connections"])
def test_many_connections(service: Service, count: int, sent: bytes) -> None:
    """Clients that connect and then owe us what they announced keep nobody else from being served."""
    with ExitStack() as doors, probed(service) as times:
        for _ in range(count):
            door = doors.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=120))
            door.sendall(sent)
        sleep(0.5)
        assert service.post(MACRO, {"text": "{{upper:a}}"}).json()["text"] == "A"
    assert_quick(times, alone=False)


def test_slow_readers() -> None:
    """Clients that take nothing of large replies hold only so much, and only for so long."""
    body = b'{"what": "large"}'
    head = b"POST /api/plugins/test/odd HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: %d\r\n\r\n"
    settings = {"body_seconds": 1.5, "max_bodies": 60_000_000, "header_seconds": 2}
    with Service(json.dumps(settings), program=SLOW) as running, weighed(running) as sizes:
        with ExitStack() as doors:
            for _ in range(12):
                door = doors.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=120))
                door.sendall(head % len(body) + body)
            with probed(running) as times:
                sleep(2.5)
        replies = (running.post("/api/plugins/test/odd", {"what": "large"}).status_code for _ in range(30))
        assert 200 in replies
    assert_quick(times, alone=False)
    # while a reply of 20 MB is made it is there three times: as text, as JSON, and as what the socket takes
    assert max(sizes) < 12 * 3 * 20_000_000 + 100_000_000
    assert sizes[-1] < 450_000_000


def test_guesses() -> None:
    """Wrong keys are refused slower and slower, and the right one, once known, is not."""
    client = TestClient(create_app(Settings(keys=Keys("right"))), base_url="http://127.0.0.1")
    right = {"x-api-key": "right"}
    assert client.get("/api/health", headers=right).status_code == 200
    replies = [client.get("/api/health", headers={"x-api-key": str(number)}) for number in range(14)]
    assert [reply.status_code for reply in replies][:10] == [401] * 10
    assert replies[-1].status_code == 429
    assert 1 <= int(replies[-1].headers["retry-after"]) <= 6
    assert client.get("/api/health", headers=right).status_code == 200


def test_killed_worker() -> None:
    """A worker that is killed in the middle of a call costs this call; the next is answered, and the stop is clean."""
    with Service("{}", program=SLOW) as running:
        killed = running.post("/api/plugins/test/die", {"number": int(signal.SIGKILL)})
        assert (killed.status_code, killed.json()["error_code"]) == (503, "WORKER_LOST")
        process = running.post("/api/plugins/test/process", {}).json()["pid"]
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(running.post, "/api/plugins/test/spin", {"rounds": -1})
            sleep(0.3)
            os.kill(process, signal.SIGKILL)
            assert call.result().status_code in {503, 504}
        assert running.post(MACRO, {"text": "{{upper:a}}"}).json()["text"] == "A"
        assert running.stop() == 0


@pytest.mark.endurance
@pytest.mark.parametrize("call", HOSTILE.values(), ids=HOSTILE)
def test_four_of_a_kind(service: Service, call: tuple[str, Any]) -> None:
    """The same with four of each kind, and health within its time."""
    with weighed(service) as sizes, probed(service) as times:
        ends, other = attack(service, *[call] * 4)
    assert {*ends} <= {*ENDINGS, ""}
    assert other < OTHER_SECONDS
    assert max(sizes) < 4 * MAX_WORKER_MEMORY + 200_000_000
    assert_quick(times, alone=True)
