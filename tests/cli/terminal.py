"""A program on a pseudo-terminal of its own, used as a person would use it."""

import contextlib
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, Self

from tests.shared import ROOT

__all__ = ["Terminal"]

_PRESSES: Final = 10


class Terminal:
    """Runs a Python file on a terminal: type, and wait for what it writes. The end of a ``with`` block ends it."""

    def __init__(self, program: Path, *words: str) -> None:
        self._screen, inside = pty.openpty()
        environ = {**os.environ, "TERM": "dumb", "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
        command = [sys.executable, str(program), *words]
        self._process = subprocess.Popen(
            command, stdin=inside, stdout=inside, stderr=inside, env=environ, cwd=ROOT, start_new_session=True
        )
        os.close(inside)
        self.seen = ""
        self._read = 0

    def wait_for(self, text: str, seconds: float = 60.0) -> None:
        """Read until ``text`` is there, behind what was waited for before."""
        end = time.monotonic() + seconds
        while text not in self.seen[self._read :]:
            ready, _, _ = select.select([self._screen], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} never came; seen: {self.seen!r}"
            self.seen += os.read(self._screen, 4096).decode("utf-8", "replace")
        self._read = self.seen.index(text, self._read) + len(text)

    def type(self, text: str) -> None:
        """Type it."""
        os.write(self._screen, text.encode())

    def interrupt(self, text: str) -> None:
        """Press Ctrl-C until ``text`` is there: Python's line editor may sleep through one that comes as it falls asleep."""
        for _ in range(_PRESSES):
            self.type("\x03")
            with contextlib.suppress(AssertionError):
                return self.wait_for(text, 2.0)
        return self.wait_for(text)

    def end(self) -> int:
        """Wait for the program, and return its exit code."""
        return self._process.wait(timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(timeout=60)
        os.close(self._screen)
