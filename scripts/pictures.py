"""Draw the pictures of the terminal in docs/pictures: run each command on the examples and save what it prints as SVG."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT: Final = Path(__file__).parents[1]
PICTURES: Final = ROOT / "docs" / "pictures"

_SAME: Final = ("--now", "2026-01-15T18:00:00Z", "--seed", "7", "--model", "gpt-4o", "--context-window", "8192")

COMMANDS: Final = {
    "build": ("build", "wenna.png", "ansel.persona.json", "wenna.chat.jsonl", "--message", "Is the reef safe?", *_SAME),
    "lore": ("lore", "test", "wenna.json", "--message", "Is the reef safe?"),
    "help": ("--help",),
}
"""The pictures by name, and the command that each shows."""

WIDTH: Final = 100
"""Characters in a line of a picture."""

_FONTS: Final = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)
"""What would be fetched from the network when a picture is looked at."""


def picture(name: str) -> str:
    """What a command prints, as SVG; the same for the same output."""
    words = COMMANDS[name]
    program = [sys.executable, "-m", "innkeeper", *words]
    environment = {"COLUMNS": str(WIDTH), "HOME": "/nowhere", "INNKEEPER_HOME": "/nowhere", "PYTHONUTF8": "1"}
    environment["FORCE_COLOR"] = "1"
    done = subprocess.run(program, cwd=ROOT / "examples", env=environment, capture_output=True, text=True, check=True)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), legacy_windows=False)
    shown = [word for word in words if word not in _SAME]
    console.print(
        Text(f"$ innkeeper {' '.join(repr(word) if ' ' in word else word for word in shown)}\n", style="bold")
    )
    console.print(Text.from_ansi(done.stdout.rstrip()))
    return _FONTS.sub("", console.export_svg(title="innkeeper", theme=MONOKAI, unique_id=name))


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name in COMMANDS:
        (PICTURES / f"{name}.svg").write_text(picture(name) + "\n", encoding="utf-8")
