"""Folders with a profile, made of the examples."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
FILES = ("wenna.png", "tobin.json", "ansel.persona.json", "larks.lorebook.json", "skerrow.preset.json")

WENNA = """\
character = "wenna.png"
persona = "ansel.persona.json"
lorebooks = ["larks.lorebook.json"]
preset = "skerrow.preset.json"
model = "some-model"
now = "2026-01-15T12:00:00+00:00"
"""


def profile_folder(folder: Path, text: str = WENNA) -> Path:
    """A folder with the examples' files and this ``profile.toml``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(EXAMPLES / name, folder)
    (folder / "profile.toml").write_text(text, "utf-8")
    return folder
