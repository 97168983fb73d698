"""The one kind of child process: frames, hello, deadline, limits, and how it ended."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys

import msgspec
import pytest

from innkeeper.processes import child
from innkeeper.processes.child import AsyncChild, Child, frame, receive


class Head(msgspec.Struct, array_like=True):
    text: str
    number: int = 0


def echo() -> None:
    """A child: answers each call with what was asked; it holds the processor, prints, grows or dies where it is told so."""
    print("a site's own start", end="")  # noqa: T201 - comes before the hello
    source, target = child.take_pipes()

    def answer(head: bytes, body: bytes) -> child.Answer:
        asked = msgspec.msgpack.decode(head, type=Head)
        print("never in a frame")  # noqa: T201
        if asked.text == "hold":
            while True:
                pass
        if asked.text == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if asked.text == "grow":
            child.confine(1024 * 1024)
            try:
                body = bytes(1 << 30)
            except MemoryError:
                body = b"no memory"
        return asked, body, asked.text == "last"

    def send(part: bytes) -> None:
        target.write(part)
        target.flush()

    def work() -> None:
        child.say_hello(target)
        child.answer_frames(source, send, answer, seconds=0.3)

    child.leave_after(work)


COMMAND = child.python_command(f"{__name__}:echo")


@pytest.fixture
def blocking() -> Child:
    """A child that echoes, for a blocking caller."""
    started = Child(child.start(COMMAND))
    started.hello()
    return started


@pytest.mark.parametrize("size", [0, 10, 200_000])
def test_frames(size: int) -> None:
    """A frame comes out as it went in; one that ends early is the end."""
    data = b"".join(frame(Head("a", 7), b"x" * size))
    assert receive(io.BytesIO(data)) == (msgspec.msgpack.encode(Head("a", 7)), b"x" * size)
    for cut in {0, 3, 8, len(data) - 1}:
        assert receive(io.BytesIO(data[:cut])) is None


def test_a_blocking_caller(blocking: Child) -> None:
    """Calls are answered in their order; what the child prints is in none; the end is its exit code."""
    assert blocking.ask(Head("a"), b"b" * 100_000)[1] == b"b" * 100_000
    assert blocking.ask(Head("last"))[0] == msgspec.msgpack.encode(Head("last"))
    with pytest.raises((EOFError, OSError)):
        blocking.ask(Head("a"))
    assert blocking.process.wait(120) == 0
    assert blocking.close() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such limits")
@pytest.mark.parametrize(("text", "code"), [("hold", child.OUT_OF_TIME), ("die", -9)])
def test_a_lost_child_says_why(blocking: Child, text: str, code: int) -> None:
    """One that keeps the processor, or is killed, answers no more, and its exit code names the cause."""
    with pytest.raises(EOFError):
        blocking.ask(Head(text))
    assert blocking.process.wait(120) == code
    blocking.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the address limit is Linux's")
def test_memory(blocking: Child) -> None:
    """A confined child gets no more memory, and lives on."""
    assert blocking.ask(Head("grow"))[1] == b"no memory"
    assert blocking.ask(Head("a"), b"b")[1] == b"b"
    assert blocking.close() < 0


def test_an_asynchronous_caller() -> None:
    """The same child, for a caller in a loop: answers, an end in the middle of a call, and its reason."""

    async def test() -> int:
        started = await AsyncChild.start(COMMAND)
        head, body = await started.ask(Head("a", 3), b"b")
        assert (msgspec.msgpack.decode(head, type=Head), body) == (Head("a", 3), b"b")
        assert not started.has_ended
        with pytest.raises(EOFError):
            await started.ask(Head("die"))
        return await started.close()

    assert asyncio.run(test()) == -signal.SIGKILL


def test_a_child_that_never_says_hello() -> None:
    """One that ends before it is ready is an end, for both kinds of callers."""
    command = [sys.executable, "-c", "print('no')"]
    lost = Child(child.start(command))
    with pytest.raises(EOFError):
        lost.hello()
    lost.close()
    with pytest.raises(EOFError):
        asyncio.run(AsyncChild.start(command))


def test_once() -> None:
    """A child that reads, writes and ends; one that takes too long is killed."""
    command = [sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.exit(3)"]
    assert child.run_once(command, b"a", 60.0) == (3, b"A")
    assert child.run_once([sys.executable, "-c", "import time; time.sleep(600)"], b"", 0.2) is None


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child gets the environment, but not what is secret."""
    monkeypatch.setenv("INNKEEPER_SECRET", "s")
    monkeypatch.setenv("INNKEEPER_OPEN", "o")
    command = [sys.executable, "-c", "import os; print(*(n for n in os.environ if n.startswith('INNKEEPER_')))"]
    with child.start(command, without={"INNKEEPER_SECRET"}) as process:
        output, _ = process.communicate(timeout=60)
    assert b"INNKEEPER_OPEN" in output
    assert b"SECRET" not in output


def test_limits_of_a_system_without_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system enforces nothing, nothing is asked of it."""
    monkeypatch.setattr(child, "resource", None)
    child.confine(1)
    assert child.peak_memory() == 0
