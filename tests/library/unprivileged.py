"""Code that runs as somebody who may read everything and write nothing, also where the tests run as root."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_UNPRIVILEGED = (
    "import ctypes, struct, sys\n"  # root gives up its right to write everywhere
    "ctypes.CDLL(None).capset(struct.pack('Ii', 0x20080522, 0), struct.pack('6I', *[0] * 6))\n"
)


def run_unprivileged(code: str, *words: str) -> str:
    """What the code printed; its errors fail the test."""
    command = [sys.executable, "-c", _UNPRIVILEGED + code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """The folder and its files, which nobody may write meanwhile."""
    modes = {path: path.stat().st_mode for path in (*folder.iterdir(), folder)}
    for path in modes:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        yield
    finally:
        for path, mode in reversed(modes.items()):
            path.chmod(mode)
