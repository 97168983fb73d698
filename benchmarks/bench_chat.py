"""How long a chat takes to show what a provider has said: from its first byte to the first character on a terminal."""

import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from benchmarks.case import Case
from benchmarks.provider import FIRST, Provider

ROOT: Final = Path(__file__).resolve().parents[1]
SECONDS: Final = 60.0


def cases() -> Iterator[Case]:
    """One chat, asked again and again."""
    with closing(Provider()) as provider, _terminal(provider.port) as screen:

        def shown() -> float:
            os.write(screen, b"Hello\n")
            _wait(screen, FIRST)
            seen = time.perf_counter()
            _wait(screen, "> ")
            return seen - provider.sent

        _wait(screen, "> ")
        yield Case("first character of a reply", shown, note="from the provider's first byte to a terminal", timed=True)


@contextmanager
def _terminal(port: int) -> Iterator[int]:
    """A chat on a terminal of its own, which waits for the first message."""
    screen, inside = pty.openpty()
    words = ("chat", "examples/wenna.png", "--model", "m", "--base-url", f"http://127.0.0.1:{port}", "--no-log")
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "TERM": "xterm", "INNKEEPER_HOME": home, "INNKEEPER_CONFIG": os.devnull}
        process = subprocess.Popen(
            [sys.executable, "-m", "innkeeper", *words],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            env=environ,
            cwd=ROOT,
            start_new_session=True,
        )
        os.close(inside)
        try:
            yield screen
        finally:
            process.kill()
            process.wait()
            os.close(screen)


def _wait(screen: int, text: str) -> None:
    """Read the screen until the text is there."""
    seen = ""
    while text not in seen:
        ready, _, _ = select.select([screen], [], [], SECONDS)
        assert ready, f"{text!r} never came; seen: {seen!r}"
        seen += os.read(screen, 65_536).decode("utf-8", "replace")
