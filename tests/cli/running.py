"""Runs of the command line on a library of the test's own."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.app.root import main


@dataclass(frozen=True)
class Ran:
    """What a run printed and its exit code."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What was printed, as JSON."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error, as JSON."""
        found: dict[str, Any] = json.loads(self.err.strip().splitlines()[-1])["error"]
        return found


Run = Callable[..., Ran]


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path) -> Run:
    """A function that runs ``innkeeper`` with these words; ``input`` is its input. The library is in ``home``."""
    monkeypatch.setenv("INNKEEPER_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("INNKEEPER_DATABASE_URL", "INNKEEPER_VAULT_KEY", "INNKEEPER_VAULT_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: object, input: bytes | str = b"") -> Ran:  # noqa: A002 - it reads as what it is
        data = input.encode() if isinstance(input, str) else input
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


_LEFT: dict[tuple[tuple[object, ...], ...], dict[Path, bytes]] = {}


def prepared(run: Run, home: Path, *commands: tuple[object, ...]) -> Run:
    """``run``, on a library in which these commands have run: at first they do, later what they left is copied to ``home``."""
    if commands not in _LEFT:
        for words in commands:
            assert run(*words).code == 0
        _LEFT[commands] = {path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for path, data in _LEFT[commands].items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(data)
    return run
