"""A service under mixed load while everything around it fails: ``python -m tests.faults.chaos sqlite --minutes 30``.

Chats with a profile count their turns in a variable, so that each answer shows whether the state of the one before was kept.
Stored responses are read back. Meanwhile the service, its workers and the database server are killed, the provider is slow,
or gone, the disk is full, and the clock steps. In the end a line of JSON says what was acknowledged and lost, how large the
processes grew, and how long calls took 5 s after each fault. Linux only; a full disk wants the right to mount.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import httpx

from tests import postgres
from tests.taverns.profiles.folders import profile_folder

FIRST_BYTE: Final = 0.03
CHATTERS: Final = 4
WRITERS: Final = 2
TURNS: Final = 8
"""Turns of a chat before the next begins."""

CALM_SECONDS: Final = 15.0
FAULT_SECONDS: Final = 4.0
BACK_SECONDS: Final = 5.0
"""After a fault calls take no longer than before it, from so many seconds on."""

DISK: Final = 300 * 2**20
KEPT_TO_READ: Final = 400
"""Responses of a run that are read back in its end."""

PROFILE: Final = 'character = "wenna.png"\nroute = "house"\ngreeting = false\n[variables.local]\nn = 0\n'


class Provider(BaseHTTPRequestHandler):
    """A model that repeats what it hears, as slowly as it is told to."""

    protocol_version = "HTTP/1.1"
    delay = FIRST_BYTE
    gone = False

    def do_POST(self) -> None:
        """Answer a chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        time.sleep(type(self).delay)
        if type(self).gone:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        users = [message["content"] for message in body["messages"] if message["role"] == "user"]
        message = {"role": "assistant", "content": f"You said '{users[-1]}'"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        data = json.dumps(answer).encode()
        with suppress(OSError):
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def handle(self) -> None:
        """Answer requests until the service goes, however it does."""
        with suppress(OSError):
            super().handle()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Call(NamedTuple):
    """A call: when it began, how long it took, and why it was not answered, if it was not."""

    began: float
    seconds: float
    trouble: str | None = None

    @property
    def answered(self) -> bool:
        """Whether it was."""
        return self.trouble is None


class Fault(NamedTuple):
    """What was done to the service, from when to when."""

    name: str
    began: float
    ended: float


class Running:
    """The service as an operator runs it: started again whenever it is killed."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self._words, self._folder = words, folder
        self._step = folder / "step"
        self.step(0)
        self.lives: list[list[int]] = []
        self._shown: list[IO[str]] = []
        self.deaths: list[int] = []
        self._ending = self._killed = False
        self._start()
        self._watch = threading.Thread(target=self._keep, daemon=True)
        self._watch.start()

    def _start(self) -> None:
        program = Path(__file__).with_name("chaos_service.py")
        with (self._folder / "said").open("a") as said:
            self.process = subprocess.Popen(
                [sys.executable, str(program), str(self._step), *self._words],
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                start_new_session=True,
                env={**os.environ, "INNKEEPER_HOME": str(self._folder), "INNKEEPER_CONFIG": os.devnull},
            )
        assert self.process.stdout
        self._shown.append(self.process.stdout)  # open until the end: a service that cannot write to it ends
        self.process.stdout.readline()
        self.lives.append([])

    def _keep(self) -> None:
        while not self._ending:
            time.sleep(0.2)
            if self.process.poll() is None:
                with suppress(OSError, ValueError):
                    self.lives[-1].append(sum(map(_resident, [self.process.pid, *_children(self.process.pid)])))
            elif not self._ending:
                if not self._killed and self.lives[-1]:
                    self.deaths.append(self.process.returncode)
                self._killed = False
                self._start()

    def step(self, seconds: float) -> None:
        """Let its clock be so many seconds off."""
        written = self._folder / "step.new"
        written.write_text(str(seconds))
        written.replace(self._step)

    def said(self) -> str:
        """What it wrote to standard error."""
        return (self._folder / "said").read_text()

    def kill(self) -> None:
        """Kill it, as the system does."""
        self._killed = True
        os.killpg(self.process.pid, signal.SIGKILL)

    def kill_worker(self) -> None:
        """Kill one of its children."""
        if workers := _children(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(random.choice(workers), signal.SIGKILL)  # noqa: S311 - any of them

    def end(self) -> int:
        """Stop it as an operator does; its exit code."""
        self._ending = True
        self._watch.join()
        self.process.terminate()
        code = self.process.wait(60)
        for shown in self._shown:
            shown.close()
        return code


def _children(pid: int) -> list[int]:
    said = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout  # noqa: S607
    own = [int(line) for line in said.split()]
    return [*own, *(inner for one in own for inner in _children(one))]


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Load:
    """Those who call, what was acknowledged to them, and what of it was not there later."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.calls: list[Call] = []
        self.lost: list[str] = []
        self.turns = 0
        self.responses: dict[str, str] = {}
        self.over = threading.Event()

    def _post(self, client: httpx.Client, path: str, body: object) -> dict[str, Any] | None:
        """The answer; None where there was none."""
        began, trouble = time.monotonic(), None
        try:
            reply = client.post(f"{self._url}{path}", json=body)
            if reply.status_code != 200:
                trouble = f"{reply.status_code} {reply.text[:160]}"
        except httpx.HTTPError as error:
            trouble = type(error).__name__
        self.calls.append(Call(began, time.monotonic() - began, trouble))
        if trouble is not None:
            self.over.wait(0.2)
            return None
        answer: dict[str, Any] = reply.json()
        return answer

    def chat(self) -> None:
        """Chats whose every turn counts one further; a turn that fails is asked again."""
        with httpx.Client(timeout=20) as client:
            chat: list[Any] = []
            while not self.over.is_set():
                if not chat:
                    name = f"{random.random():.9f}"  # noqa: S311 - any name
                count = {"role": "user", "content": f"{name}: {{{{incvar::n}}}}"}
                made = self._post(client, "/v1/chat/completions", {"model": "wenna", "messages": [*chat, count]})
                if made is None:
                    continue
                answer = made["choices"][0]["message"]
                self.turns += 1
                number = len(chat) // 2 + 1
                if answer["content"] != f"You said '{name}: {number}'":
                    self.lost.append(f"turn {number}: {answer['content']!r}")
                    chat = []
                    continue
                chat = [*chat, count, answer] if number < TURNS else []

    def write(self) -> None:
        """Responses that are stored, and one of them read again."""
        with httpx.Client(timeout=20) as client:
            while not self.over.is_set():
                text = f"note {random.random()}"  # noqa: S311 - any text
                made = self._post(client, "/v1/responses", {"model": "house", "input": text})
                if made is not None:
                    self.responses[made["id"]] = text
                self.over.wait(0.1)

    def check(self) -> int:
        """Read responses back: all that were acknowledged last, and some of the others."""
        with httpx.Client(timeout=30, transport=httpx.HTTPTransport(retries=8)) as client:
            names = list(self.responses)
            chosen = {*names[-KEPT_TO_READ:], *random.sample(names, min(KEPT_TO_READ, len(names)))}
            for name in chosen:
                reply = client.get(f"{self._url}/v1/responses/{name}")
                if reply.status_code != 200 or self.responses[name] not in reply.text:
                    self.lost.append(f"response {name}: {reply.status_code}")
        return len(chosen)


def faults(running: Running, server: postgres.Server | None, disk: Path | None) -> dict[str, Callable[[], None]]:
    """What can go wrong, by name; each has passed when its function returns."""

    def slow(delay: float, *, gone: bool = False) -> None:
        Provider.delay, Provider.gone = delay, gone
        time.sleep(FAULT_SECONDS)
        Provider.delay, Provider.gone = FIRST_BYTE, False

    def clock(seconds: float) -> None:
        running.step(seconds)
        time.sleep(FAULT_SECONDS)
        running.step(0)

    def full(folder: Path) -> None:
        with (folder / "filling").open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        time.sleep(FAULT_SECONDS)
        (folder / "filling").unlink()
        if server is not None:
            _revive(server)

    def database(killed: postgres.Server) -> None:
        killed.kill()
        _revive(killed)

    return {
        "service killed": running.kill,
        "worker killed": running.kill_worker,
        "provider slow": lambda: slow(2.0),
        "provider gone": lambda: slow(0.0, gone=True),
        "clock an hour ahead": lambda: clock(3600),
        "clock an hour behind": lambda: clock(-3600),
        **({} if disk is None else {"disk full": lambda: full(disk)}),
        **({} if server is None else {"database killed": lambda: database(server)}),
    }


def _revive(server: postgres.Server) -> None:
    """Start the database server where it does not answer: not before the processes of the one before have gone."""
    for _ in range(600):
        time.sleep(0.1)
        with suppress(AssertionError):
            server.run("pg_isready", "-h", str(server.sockets), "-p", str(postgres.PORT))
            return
        with suppress(AssertionError):
            server.start()
    raise TimeoutError((server.data / "log").read_text()[-2000:])


@contextmanager
def mounted(folder: Path) -> Iterator[Path | None]:
    """A small disk of its own; None where it cannot be had."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(folder)],  # noqa: S607 - the system's own
        check=False,
        capture_output=True,
    )
    try:
        yield folder if made.returncode == 0 else None
    finally:
        if made.returncode == 0:
            subprocess.run(["umount", "-l", str(folder)], check=False)  # noqa: S607


def p99(calls: list[Call]) -> float:
    """Of the answered ones, in seconds."""
    times = sorted(call.seconds for call in calls if call.answered)
    return times[int(len(times) * 0.99)] if times else float("inf")


def run(database: str, seconds: float, seed: int) -> dict[str, Any]:
    """All of it; what came out."""
    chance = random.Random(seed)  # noqa: S311 - not a secret
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "disk").mkdir(mode=0o755)
        folder.chmod(0o755)
        disk = stack.enter_context(mounted(folder / "disk"))
        server, url = None, str(folder / "disk" / "library.db")
        if database == "postgresql":
            if disk is not None:
                postgres.MEMORY, postgres.ROOM = disk, 0
            server = postgres.start_server(durable=True)
            stack.callback(server.end)
            url = server.url()
        provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        stack.callback(provider.server_close)
        stack.callback(provider.shutdown)
        port = _free_port()
        words = ["serve", "--port", str(port), "--no-grpc", "--workers", "2", "--states", "database", "--database", url]
        words += ["--profile", str(profile_folder(folder / "inn" / "wenna", PROFILE).parent / "wenna")]
        words += ["--route", f"house=http://127.0.0.1:{provider.server_port}:m"]
        running = Running(words, folder)
        load = Load(f"http://127.0.0.1:{port}")
        threads = [threading.Thread(target=load.chat) for _ in range(CHATTERS)]
        threads += [threading.Thread(target=load.write) for _ in range(WRITERS)]
        for thread in threads:
            thread.start()
        try:
            done = _torment(faults(running, server, disk), seconds, chance)
        finally:
            load.over.set()
            for thread in threads:
                thread.join()
        checked = load.check()
        code = running.end()
        return _summary(load, running, done, checked, code)


def _torment(kinds: dict[str, Callable[[], None]], seconds: float, chance: random.Random) -> list[Fault]:
    done: list[Fault] = []
    end = time.monotonic() + seconds
    names: list[str] = []
    time.sleep(CALM_SECONDS)
    while time.monotonic() < end:
        names = names or chance.sample(list(kinds), len(kinds))
        name, began = names.pop(), time.monotonic()
        kinds[name]()
        done.append(Fault(name, began, time.monotonic()))
        time.sleep(CALM_SECONDS)
    return done


def _summary(load: Load, running: Running, done: list[Fault], checked: int, code: int) -> dict[str, Any]:
    first = done[0].began
    calm = p99([call for call in load.calls if call.began < first and call.began > load.calls[0].began + BACK_SECONDS])
    after: dict[str, list[float]] = {}
    late: list[str] = []
    for fault in done:
        from_, to = fault.ended + BACK_SECONDS, fault.ended + CALM_SECONDS - 1
        back = [call for call in load.calls if from_ <= call.began < to]
        failed = [call.trouble for call in back if not call.answered]
        late.extend(f"{fault.name}: {trouble}" for trouble in failed)
        after.setdefault(fault.name, []).append(float("inf") if failed else round(p99(back), 3))
    sizes = [max(life) // 2**20 for life in running.lives if life]
    grown = [
        round(sum(life[-20:]) / 20 / (sum(life[len(life) // 4 :][:20]) / 20), 2)
        for life in running.lives
        if len(life) > 200
    ]
    return {
        "calls": len(load.calls),
        "unanswered": sum(not call.answered for call in load.calls),
        "turns": load.turns,
        "responses": len(load.responses),
        "read back": checked,
        "lost": load.lost[:20],
        "deaths": running.deaths,
        "lives": len(running.lives),
        "most MiB": max(sizes),
        "grown": grown,
        "late": late[:20],
        "said": running.said()[-3000:],
        "p99 calm": round(calm, 3),
        "p99 after": {name: max(times) for name, times in after.items()},
        "faults": len(done),
        "exit code": code,
    }


def _free_port() -> int:
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        return server.server_port


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", choices=["sqlite", "postgresql"])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    print(json.dumps(run(chosen.database, chosen.minutes * 60, chosen.seed)))  # noqa: T201 - its purpose
