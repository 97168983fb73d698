"""Child: another process of ours beside this one. How it starts, what it says, what it may take, and how it ends.

A child is started from nothing (`python_command`, `start`) or is a copy of this process (`fork`). One that works for longer says
`HELLO` when it is ready, and then answers calls. They travel as frames: two lengths, a head in MessagePack, and a body as raw
bytes that is never looked into on the way. `Child` and `AsyncChild` talk to one over its standard input and output, for blocking
and for asynchronous callers; `answer_frames` is the other side, over pipes or a socket.

The system enforces what a child may take, so it holds also while a library keeps the interpreter's lock: an address limit turns
memory into a `MemoryError` or the end of the process (`confine`); a timer of the processor's time ends it (`limit_processor`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, NoReturn, Protocol

import msgspec

try:
    import resource
except ImportError:  # Windows: the system enforces neither limit, and a call ends with its time on the wall
    resource = None  # type: ignore[assignment]

LENGTHS: Final = struct.Struct("<II")
"""How a frame begins: the bytes of its head and of its body."""

HELLO: Final = b"\0innkeeper child\n"
"""What a child writes when it is ready. Whatever was printed before it, by a site's own start, is not ours."""

OUT_OF_TIME: Final = -getattr(signal, "SIGPROF", 0) or None
"""The exit code of a child that `limit_processor` has ended, where the system has such a timer."""

_LARGE: Final = 64 * 1024
_GARBAGE: Final = 50_000
"""Allocations before Python's garbage collector runs in a child, unless it says another number."""
_BUFFER: Final = 1024 * 1024
_LAST_SECONDS: Final = 1.0
"""How long a child whose output has ended may take to end itself."""

Answer = tuple[msgspec.Struct, bytes, bool]
"""Head and body of an answer, and whether it is the last one that this child gives."""


class Source(Protocol):
    """Where frames come from: a pipe, or `socket.makefile`."""

    def read(self, size: int, /) -> bytes:
        """So many bytes, fewer at the end."""
        ...


# ------------------------------------------------------------------------------------------------------------------- frames


def frame(head: msgspec.Struct, body: bytes = b"") -> tuple[bytes, ...]:
    """A frame as it travels: in one piece, or two where the body is too large to copy for nothing."""
    packed = msgspec.msgpack.encode(head)
    start = LENGTHS.pack(len(packed), len(body)) + packed
    return (start + body,) if len(body) < _LARGE else (start, body)


def receive(source: Source) -> tuple[bytes, bytes] | None:
    """Head and body of the next frame; None where the other side is gone, also in the middle of a frame."""
    lengths = source.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    head_size, body_size = LENGTHS.unpack(lengths)
    head, body = source.read(head_size), source.read(body_size)
    return (head, body) if len(head) == head_size and len(body) == body_size else None


# -------------------------------------------------------------------------------------------------- starting, talking, ending


def python_command(target: str, *arguments: str) -> list[str]:
    """The command that runs the function ``module:name`` in a Python of its own, which finds modules where this one does."""
    module, _, function = target.partition(":")
    quick = f"import gc; gc.set_threshold({_GARBAGE})"  # a start makes much and throws little away
    code = f"import sys; sys.path[:] = {sys.path!r}; {quick}; from {module} import {function}; {function}()"
    return [sys.executable, "-c", code, *arguments]


def start(
    command: Sequence[str],
    *,
    without: Collection[str] = (),
    stdin: int = subprocess.PIPE,
    stdout: int = subprocess.PIPE,
    stderr: int | None = None,
    descriptors: Iterable[int] = (),
    session: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a child. It gets the environment but the variables ``without``, and the open ``descriptors``.

    ``session``: one of its own, so that a terminal's Ctrl-C is for us, and we say what becomes of the child.
    """
    return subprocess.Popen(  # noqa: S603 - a command of ours
        command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=_environment(without),
        pass_fds=tuple(descriptors),
        start_new_session=session,
    )


def _environment(without: Collection[str]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in without}


def run_once(command: Sequence[str], data: bytes, seconds: float) -> tuple[int, bytes] | None:
    """The exit code and the output of a child that reads ``data`` and ends; None where it was killed after ``seconds``."""
    process = start(command, stderr=subprocess.DEVNULL)
    try:
        output, _ = process.communicate(data, seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        end(process)
    return process.returncode, output


def fork(work: Callable[[], None]) -> int:
    """The number of a child that is a copy of this process and does ``work``. Raises `OSError`: there are too many processes."""
    pid = os.fork()
    if pid == 0:
        leave_after(work)
    return pid


def end(process: subprocess.Popen[Any], seconds: float = 0.0) -> int:
    """The exit code of a child, which is killed unless it ends within ``seconds``; its pipes are closed."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    return process.returncode


class Child:
    """A child that is talked to over its pipes, by a blocking caller. `close` ends it, whatever it does."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def hello(self) -> None:
        """Wait until it is ready. Raises `EOFError` where it ends before."""
        output = _opened(self.process.stdout)
        while not (line := output.readline()).endswith(HELLO):
            if not line:
                raise EOFError

    def ask(self, head: msgspec.Struct, body: bytes = b"") -> tuple[bytes, bytes]:
        """Head and body of its answer. Raises `EOFError` or `OSError` where it has ended."""
        into = _opened(self.process.stdin)
        into.writelines(frame(head, body))
        into.flush()
        answer = receive(_opened(self.process.stdout))
        if answer is None:
            raise EOFError
        return answer

    def close(self) -> int:
        """End it; its exit code."""
        return end(self.process)


def _opened(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise EOFError
    return pipe


class AsyncChild:
    """A child that is talked to over its pipes, by an asynchronous caller, one call at a time.

    Whoever gives up a call in its middle has to `close` the child: the next answer would be another call's.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, command: Sequence[str], *, without: Collection[str] = ()) -> AsyncChild:
        """Start one, and wait until it is ready. Raises `EOFError` where it ends before, `OSError`."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=_environment(without),
            limit=_BUFFER,
        )
        child = cls(process)
        try:
            await child._streams()[1].readuntil(HELLO)
        except BaseException:
            await child.close()
            raise
        return child

    def _streams(self) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
        if self.process.stdin is None or self.process.stdout is None:
            raise EOFError
        return self.process.stdin, self.process.stdout

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.process.returncode is not None

    async def ask(self, head: msgspec.Struct, body: bytes = b"") -> tuple[bytes, bytes]:
        """Head and body of its answer. Raises `EOFError` or `OSError` where it has ended."""
        into, output = self._streams()
        into.writelines(frame(head, body))
        await into.drain()
        head_size, body_size = LENGTHS.unpack(await output.readexactly(LENGTHS.size))
        return await output.readexactly(head_size), await output.readexactly(body_size)

    async def close(self) -> int:
        """End it, whatever it does; its exit code. One that ended by itself has said how, or does so in a moment."""
        process = self.process
        with suppress(ProcessLookupError):
            if process.returncode is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LAST_SECONDS if process.stdout and process.stdout.at_eof() else 0):
                        await process.wait()
            if process.returncode is None:
                process.kill()
        return await process.wait()


# --------------------------------------------------------------------------------------------------------- the child itself


def ignore_stops() -> None:
    """Leave a terminal's Ctrl-C and a service manager's SIGTERM, which go to all processes, to the parent."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output for frames. From now on whatever prints does not print into them."""
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
    return sys.stdin.buffer, target


def say_hello(target: IO[bytes]) -> None:
    """Tell the parent that this child is ready."""
    target.write(HELLO)
    target.flush()


def answer_frames(
    source: Source, send: Callable[[bytes], object], answer: Callable[[bytes, bytes], Answer], *, seconds: float = 0.0
) -> None:
    """Answer calls until the other side is gone, or an answer is the last; each within ``seconds`` of the processor's time."""
    while (parts := receive(source)) is not None:
        limit_processor(seconds)
        head, body, last = answer(*parts)
        limit_processor(0)
        for part in frame(head, body):
            send(part)
        if last:
            return


def confine(memory: int) -> None:
    """Let this process have ``memory`` bytes more than it has, and leave no core of its prompts."""
    if resource is None:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    except OSError:  # not Linux: the address limit would have to be guessed
        return
    limit = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def limit_processor(seconds: float) -> None:
    """Have the system end this process once it has kept the processor busy for so long; 0 takes that back."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def peak_memory() -> int:
    """The most memory that this process has had, in bytes."""
    if resource is None:
        return 0
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def leave_after(work: Callable[[], None]) -> NoReturn:
    """Do ``work`` and end this process at once: without a traceback, which could quote a prompt, and without tidying up."""
    code = 1
    try:
        with suppress(ConnectionError):  # the parent is gone, and nobody waits
            work()
        code = 0
    finally:
        os._exit(code)
