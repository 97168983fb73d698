"""The service under load, beside a fake provider of 50 ms to its first byte: ``python -m benchmarks.service.load``.

Three processes: the provider, one service, and this one, which asks. What is *added* is what a call takes through the service
beyond what it takes at the provider itself, asked in the same way in the same minute. With ``--peer PROGRAM`` LiteLLM's proxy is
asked in the same run. Times are those of a machine that this process shares; the processor's time of a call is that of the
service alone, its workers included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

FIRST_BYTE: Final = 0.05
SOAK_RATE: Final = 50
RATE: Final = 100
STREAMS: Final = 500
MESSAGES: Final = 9
EXAMPLES: Final = Path(__file__).parents[2] / "examples"
ASSETS: Final = ("wenna.png", "ansel.persona.json", "larks.lorebook.json", "skerrow.preset.json")
COMMAND: Final = (sys.executable, "-c", "from innkeeper.cli import main; raise SystemExit(main())")
WHOLE: Final = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Good evening. " * 20}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 50, "completion_tokens": 60, "total_tokens": 110},
}


class Provider(asyncio.Protocol):
    """One connection of the fake provider: every request is answered after 50 ms, a stream by a piece each half second."""

    def __init__(self) -> None:
        self._data = b""
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each whole request."""
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            mark = head.find(b"content-length:")
            size = int(head[mark + 15 :].split(b"\r\n", 1)[0]) if mark >= 0 else 0
            if len(self._data) < end + 4 + size:
                return
            body, self._data = self._data[end + 4 : end + 4 + size], self._data[end + 4 + size :]
            loop = asyncio.get_running_loop()
            if b'"stream":true' in body.replace(b": ", b":"):
                loop.call_later(FIRST_BYTE, self._piece, 0)
            else:
                loop.call_later(FIRST_BYTE, self._send, _reply(json.dumps(WHOLE).encode()))

    def _send(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def _piece(self, number: int) -> None:
        head = (
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            if not number
            else b""
        )
        last = number == 10
        delta = {} if last else {"role": "assistant", "content": f"word{number} "}
        choice = {"index": 0, "delta": delta, "finish_reason": "stop" if last else None}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        event = b"data: " + json.dumps(chunk).encode() + b"\n\n" + (b"data: [DONE]\n\n" if last else b"")
        self._send(head + b"%x\r\n%s\r\n" % (len(event), event) + (b"0\r\n\r\n" if last else b""))
        if not last:
            asyncio.get_running_loop().call_later(0.5, self._piece, number + 1)


def _reply(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


async def provide(port: int) -> None:
    """The fake provider, until it is ended."""
    server = await asyncio.get_running_loop().create_server(Provider, "127.0.0.1", port, backlog=2_000)
    await server.serve_forever()


class Target(NamedTuple):
    """Whom to ask: a port, and the model to name there."""

    port: int
    model: str

    def request(self, *, stream: bool = False, messages: int = MESSAGES) -> bytes:
        """One request as bytes, with the first so many messages of a chat."""
        said = [
            {"role": ("user", "assistant")[n % 2], "content": f"Message {n} about the ferry."} for n in range(messages)
        ]
        body = json.dumps({"model": self.model, "messages": said, "stream": stream}).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\ncontent-type: application/json\r\n"
        )
        return f"{head}authorization: Bearer sk-x\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


class Answered(NamedTuple):
    """How a call went: its status, seconds to the first byte of its body, seconds, and whether it says when to come back."""

    status: int
    first: float
    seconds: float
    retry_after: bool


class Connections:
    """Connections to one target that are used again."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, request: bytes) -> Answered:
        """One call, on a connection that is free or new."""
        began = time.perf_counter()
        try:
            while self._idle and self._idle[-1][0].at_eof():
                self._idle.pop()[1].close()  # the server has closed it while nobody asked
            reader, writer = self._idle.pop() if self._idle else await self._open()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            lower = head.lower()
            if b"chunked" in lower:
                first = await _chunks(reader)
            else:
                first = time.perf_counter()
                await reader.readexactly(int(lower.split(b"content-length:")[1].split(b"\r\n")[0]))
        except (OSError, asyncio.IncompleteReadError):
            return Answered(0, 0.0, time.perf_counter() - began, retry_after=False)
        if b"connection: close" in lower:
            writer.close()
        else:
            self._idle.append((reader, writer))
        now = time.perf_counter()
        return Answered(int(head.split(b" ", 2)[1]), first - began, now - began, retry_after=b"retry-after" in lower)

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._target.port)

    def close(self) -> None:
        """Close those that are free."""
        for _, writer in self._idle:
            writer.close()


async def _chunks(reader: asyncio.StreamReader) -> float:
    """Read a chunked body; when its first piece was there."""
    first = 0.0
    while size := int(await reader.readuntil(b"\r\n"), 16):
        first = first or time.perf_counter()
        await reader.readexactly(size + 2)
    await reader.readexactly(2)
    return first


@asynccontextmanager
async def connected(target: Target) -> AsyncIterator[Connections]:
    """Connections that are closed in the end."""
    connections = Connections(target)
    try:
        yield connections
    finally:
        connections.close()


async def begun(target: Target) -> None:
    """The turn before the one that is measured: a conversation goes on far more often than it begins."""
    async with connected(target) as connections:
        await connections.ask(target.request(messages=MESSAGES - 2))


async def at_rate(target: Target, rate: int, seconds: float) -> list[Answered]:
    """So many calls a second, each begun when it is due, whatever became of the ones before."""
    async with connected(target) as connections:
        request, calls = target.request(), []
        start = time.perf_counter() + 0.05
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, start + number / rate - time.perf_counter()))
            calls.append(asyncio.create_task(connections.ask(request)))
        return list(await asyncio.gather(*calls))


async def saturated(target: Target, at_once: int, seconds: float) -> list[Answered]:
    """So many callers, each of whom calls again as soon as it is answered."""
    end, told = time.perf_counter() + seconds, list[Answered]()
    async with connected(target) as connections:
        request = target.request()

        async def call() -> None:
            while time.perf_counter() < end:
                answered = await connections.ask(request)
                told.append(answered)
                if answered.status != 200:
                    await asyncio.sleep(0.05)

        await asyncio.gather(*(call() for _ in range(at_once)))
    return told


async def streams(target: Target, count: int) -> list[Answered]:
    """So many streams, opened within two seconds, all open at once."""
    async with connected(target) as connections:
        calls = []
        for _ in range(count):
            calls.append(asyncio.create_task(connections.ask(target.request(stream=True))))
            await asyncio.sleep(2 / count)
        return list(await asyncio.gather(*calls))


def quantile(values: list[float], part: float) -> float:
    """The value below which this part of them lies, in milliseconds."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000 if ordered else float("nan")


def free_port() -> int:
    """A port that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def running(
    words: list[str], port: int, path: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """A process, and the seconds until it answered at a path."""
    began = time.perf_counter()
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
    )
    try:
        while not _answers(port, path):
            assert process.poll() is None, f"{words[0]} ended"
            assert time.perf_counter() - began < 120, f"{words[0]} does not answer"
            time.sleep(0.02)
        yield process, time.perf_counter() - began
    finally:
        process.terminate()
        process.wait()


def _answers(port: int, path: str) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.settimeout(1)
            connection.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
            return connection.recv(12).endswith((b"200", b"404"))
    except OSError:
        return False


def resident(pid: int) -> float:
    """MiB that a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def busy(pid: int) -> float:
    """Seconds of a processor that a process and those it started have taken."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ticks = sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK") + sum(busy(int(child)) for child in children)


def added(name: str, through: list[Answered], direct: list[Answered], taken: float = 0.0) -> None:
    """Print what a way adds to a call; ``taken`` is the processor's time of all of them."""
    failed = Counter(one.status for one in through if one.status != 200)
    middle, late = (_between(through, direct, part) for part in (0.5, 0.99))
    spent = f"   processor {taken / len(through) * 1000:.2f} ms" if taken else ""
    print(f"{name:<38} added p50 {middle:7.1f} ms   p99 {late:7.1f} ms{spent}   failed {dict(failed)}", flush=True)


def _between(through: list[Answered], direct: list[Answered], part: float) -> float:
    return quantile([one.seconds for one in through], part) - quantile([one.seconds for one in direct], part)


def throughput(told: list[Answered], seconds: float) -> float:
    """Good answers a second."""
    return sum(one.status == 200 for one in told) / seconds


def measure(service: Target, profile: Target, direct: Target, pid: int, seconds: float) -> float:
    """All figures of the service; gives its throughput."""
    run = asyncio.run
    run(begun(profile))
    for target in (service, profile):
        run(at_rate(target, 10, 3))  # warm
    base = run(at_rate(direct, RATE, seconds))
    for name, target in (("plain", service), ("through a profile", profile)):
        before = busy(pid)
        told = run(at_rate(target, RATE, seconds))
        added(f"{RATE} a second, {name}", told, base, busy(pid) - before)
    known = [one.first for one in run(streams(direct, STREAMS))]
    first = [one.first for one in run(streams(service, STREAMS)) if one.status == 200]
    late = quantile(first, 0.95) - quantile(known, 0.95)
    print(f"{STREAMS} open streams: {len(first)} whole; first byte added p95 {late:.1f} ms")
    most, built = (throughput(run(saturated(target, 64, seconds)), seconds) for target in (service, profile))
    print(f"at its own saturation (64 at once): {most:.0f} a second; through a profile {built:.0f}")
    overload(service, seconds)
    time.sleep(2)
    added("  two seconds later", run(at_rate(service, RATE, 3)), base)
    held = resident(pid)
    for _ in range(3):
        run(saturated(service, 32, seconds))
        print(f"  memory: {held:.0f} MiB before, {resident(pid):.0f} MiB after", flush=True)
    return most


def soak(service: Target, profile: Target, pid: int, minutes: float) -> None:
    """Print the memory of the service and its processes, tenth by tenth of a time under calls, plain and through a profile."""

    async def both(seconds: float) -> list[Answered]:
        return [
            one
            for part in await asyncio.gather(*(at_rate(way, SOAK_RATE, seconds) for way in (service, profile)))
            for one in part
        ]

    for tenth in range(11):
        told = asyncio.run(both(minutes * 6 if tenth else 10))
        failed = Counter(one.status for one in told if one.status != 200)
        print(
            f"  minute {tenth * minutes / 10:5.1f}: {held(pid):.0f} MiB, {len(told)} calls, failed {dict(failed)}",
            flush=True,
        )


def held(pid: int) -> float:
    """MiB that a process and those it started hold."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return resident(pid) + sum(held(int(child)) for child in children)


def overload(service: Target, seconds: float) -> None:
    """Print what becomes of calls when there are twenty times as many at once."""
    told = asyncio.run(saturated(service, 64 * 20, seconds))
    shed = [one for one in told if one.status in {429, 503}]
    accepted = [one.seconds for one in told if one.status == 200]
    print(
        f"overload (1,280 at once): {throughput(told, seconds):.0f} good a second, p99 {quantile(accepted, 0.99):.0f} ms"
    )
    print(f"  {len(shed)} shed, all with Retry-After: {all(one.retry_after for one in shed)}", end=", ")
    print(f"others: {dict(Counter(one.status for one in told if one.status not in {200, 429, 503}))}", flush=True)


def beside(program: str, folder: Path, direct: Target, seconds: float) -> float:
    """Print the same of LiteLLM's proxy; gives its throughput."""
    config, port = folder / "peer.yaml", free_port()
    entry = {"model": "openai/m", "api_base": f"http://127.0.0.1:{direct.port}/v1", "api_key": "sk-x"}
    config.write_text(json.dumps({"model_list": [{"model_name": "fake", "litellm_params": entry}]}))
    words = [program, "--config", str(config), "--port", str(port), "--num_workers", "1"]
    with running(words, port, "/health/liveliness", LITELLM_MASTER_KEY="sk-x") as (process, ready):
        target = Target(port, "fake")
        asyncio.run(at_rate(target, 10, 3))
        base, before = asyncio.run(at_rate(direct, RATE, seconds)), busy(process.pid)
        told = asyncio.run(at_rate(target, RATE, seconds))
        added(f"LiteLLM's proxy, {RATE} a second", told, base, busy(process.pid) - before)
        most = throughput(asyncio.run(saturated(target, 64, seconds)), seconds)
        print(f"  at its own saturation: {most:.0f} a second; ready after {ready:.1f} s", flush=True)
        return most


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--provide", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--peer", help="the program of LiteLLM's proxy, to be asked beside us")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="instead: watch the memory for so long")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each part takes")
    options = parser.parse_args()
    if options.provide:
        asyncio.run(provide(options.provide))
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider, port = free_port(), free_port()
        stack.enter_context(running([sys.executable, __file__, "--provide", str(provider)], provider, "/"))
        began = time.perf_counter()
        subprocess.run([*COMMAND, "--help"], check=True, stdout=subprocess.DEVNULL)
        print(f"innkeeper --help: {(time.perf_counter() - began) * 1000:.0f} ms")
        route = ("--route", f"fake=http://127.0.0.1:{provider}:m")
        profile = ("--profile", str(_profile(folder / "wenna")))
        words = [*COMMAND, "serve", "--port", str(port), "--no-grpc", *route, *profile]
        process, ready = stack.enter_context(running(words, port, "/ready"))
        print(f"ready after {ready:.2f} s", flush=True)
        direct = Target(provider, "m")
        if options.soak:
            soak(Target(port, "fake"), Target(port, "wenna"), process.pid, options.soak)
            return
        most = measure(Target(port, "fake"), Target(port, "wenna"), direct, process.pid, options.seconds)
        if options.peer:
            theirs = beside(options.peer, folder, direct, options.seconds)
            print(f"throughput beside LiteLLM's proxy: {most / max(theirs, 1):.1f} times as much")


def _profile(folder: Path) -> Path:
    """A profile of the examples, whose model is the fake one."""
    files = [str(EXAMPLES / name) for name in ASSETS]
    words = [*COMMAND, "profile", "new", str(folder), *files, "--model", "fake"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


if __name__ == "__main__":
    main()
