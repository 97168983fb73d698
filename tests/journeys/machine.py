"""A bare machine: Innkeeper as a wheel in an environment of its own, an empty home, and none of this machine's settings.

What the extras bring is taken from the environment of the tests, so that nothing is fetched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tests.cli.running import Ran
from tests.shared import ROOT

PATIENCE: Final = 300
"""Seconds after which a command hangs, also on a busy machine."""


@dataclass(frozen=True)
class Machine:
    """An environment with Innkeeper in it, and a user's home."""

    environment: Path
    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def python(self) -> str:
        """Its Python."""
        return str(self.environment / "bin" / "python")

    def at(self, home: Path, **variables: str) -> Machine:
        """The machine with another home, and with variables of the environment."""
        home.mkdir(parents=True, exist_ok=True)
        return replace(self, home=home, variables=variables)

    @property
    def environ(self) -> dict[str, str]:
        """All that a process gets to know."""
        return {
            "HOME": str(self.home),
            "PATH": f"{self.environment / 'bin'}{os.pathsep}/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "COLUMNS": "200",
            **self.variables,
        }

    def run(self, *words: object, input: str = "") -> Ran:  # noqa: A002 - it reads as what it is
        """Run ``innkeeper`` with these words, as a person types them."""
        done = subprocess.run(
            [self.environment / "bin" / "innkeeper", *map(str, words)],
            input=input,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.home,
            env=self.environ,
            timeout=PATIENCE,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def answering(self, *words: object) -> Iterator[dict[str, Any]]:
        """Run a command that answers until it is stopped; return the first line that it says."""
        command = [str(self.environment / "bin" / "innkeeper"), *map(str, words), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=self.home, env=self.environ) as process:
            try:
                assert process.stdout is not None
                yield json.loads(process.stdout.readline())
            finally:
                process.terminate()


def install(folder: Path) -> Machine:
    """Build the wheel, and install it with no index to ask."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True, timeout=PATIENCE)
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(environment / "bin" / "python"), "install"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--no-compile", wheel], check=True, timeout=PATIENCE)
    packages = next((environment / "lib").glob("python3*")) / "site-packages"
    (packages / "extras.pth").write_text(sysconfig.get_path("purelib"))
    return Machine(environment, folder)
