"""A program on a pseudo-terminal of its own, used as a person would use it."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

from tests.shared import ROOT

__all__ = ["Terminal"]


class Terminal:
    """Runs a Python file on a terminal: type, and wait for what it writes."""

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

    def end(self) -> int:
        """Wait for the program, and return its exit code."""
        code = self._process.wait(timeout=60)
        os.close(self._screen)
        return code
