"""Home: the folder where Innkeeper keeps its files on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = ["HOME_VARIABLE", "home"]

HOME_VARIABLE: Final = "INNKEEPER_HOME"
"""The environment variable that says where Innkeeper keeps its files."""


def home(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Where Innkeeper keeps its files: ``$INNKEEPER_HOME``, else the platform's place for data of programs."""
    if environ.get(HOME_VARIABLE):
        return Path(environ[HOME_VARIABLE]).expanduser()
    if platform == "win32" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "innkeeper"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "innkeeper"
    given = Path(environ.get("XDG_DATA_HOME") or "")
    return (given if given.is_absolute() else Path.home() / ".local" / "share") / "innkeeper"
