"""The first fifteen minutes, played in a real terminal: ``python scripts/first_minutes.py [COLUMNS ...]``.

Plays `STEPS` in a folder of its own, in terminals of so many columns (40, 80 and 160 where left out), with a provider on this
machine that answers one sentence. Without arguments it writes what the terminal of 80 columns showed to
``docs/first-minutes.md``. What differs from machine to machine (folders, ports, times) is written as a name.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "first-minutes.md"
COLUMNS: Final = (40, 80, 160)
ANSWER: Final = "Not while the bell is silent. Wait for the ebb, and keep the light on your left hand."
SECONDS: Final = 60.0
PROMPT: Final = re.compile(rb"\n?[^\n]{1,40}> $")


@dataclass(frozen=True)
class Step:
    """A command: its words after ``innkeeper``, what is typed at each prompt, the exit code it must have, and why it is shown."""

    about: str
    words: tuple[str, ...]
    typed: tuple[str, ...] = ()
    code: int = 0


STEPS: Final = (
    Step("See a whole prompt, from the files of the demo", ("demo", "--no-model")),
    Step("Look into a card", ("card", "show", "wenna.png")),
    Step("Say once who answers, and where", ("config", "set", "model", "tide-1")),
    Step("", ("config", "set", "base_url", "URL")),
    Step("", ("config", "set", "persona", "FOLDER/ansel.persona.json")),
    Step("Ask", ("ask", "wenna.png", "Is the reef safe tonight?")),
    Step("Go on", ("ask", "-c", "And at low water?")),
    Step("Ask why the prompt was as it was", ("why",)),
    Step("", ("why", "2", "The Bell Reef")),
    Step(
        "Chat with a second card, look, and leave",
        ("chat", "tobin.json"),
        ("Good evening.", "/why", "/help", "/quit"),
    ),
    Step("Find what was said", ("log", "search", "reef")),
    Step("Ask another provider", ("ask", "wenna.png", "Who keeps the bell?", "--model", "ebb-2", "--base-url", "URL")),
    Step("Each kind of error: a file that is not there", ("build", "nobody.png"), code=69),
    Step("A file that is no card", ("card", "show", "broken.json"), code=65),
    Step("A word that is none", ("build", "wenna.png", "--tavern", "sily"), code=2),
    Step("Nobody who answers", ("ask", "wenna.png", "Hello?", "--base-url", "http://127.0.0.1:9"), code=69),
)


class _Provider(BaseHTTPRequestHandler):
    """Answers each chat with `ANSWER`, word by word."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for word in re.findall(r"\S+\s*", ANSWER):
            self._event({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, chunk: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def provider() -> Iterator[str]:
    """The address of a provider on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def run(
    command: list[str], typed: tuple[str, ...], columns: int, where: Path, environment: dict[str, str]
) -> tuple[int, str]:
    """Run a command in a terminal of so many columns, and type a line at each prompt. Its exit code, and what was shown."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=where, env=environment, start_new_session=True
    )
    os.close(theirs)
    shown, lines, until = b"", list(typed), time.monotonic() + SECONDS
    try:
        while time.monotonic() < until:
            if not select.select([ours], [], [], 0.2)[0]:
                if lines and PROMPT.search(shown):
                    os.write(ours, lines.pop(0).encode() + b"\n")
                continue
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            shown += piece
        return process.wait(5), shown.decode("utf-8", "replace").replace("\r\n", "\n")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def play(columns: int, steps: tuple[Step, ...] = STEPS) -> list[tuple[Step, int, str]]:
    """Each step with its exit code and what the terminal showed, with names for what differs from run to run."""
    with tempfile.TemporaryDirectory() as name, provider() as url:
        where = Path(name).resolve()
        shutil.copytree(ROOT / "examples", where / "cards")
        (where / "cards" / "broken.json").write_text('{"name": "Wenna",\n "description" "no colon"}\n')
        environment = {
            "HOME": str(where),
            "INNKEEPER_HOME": str(where / "home"),
            "INNKEEPER_CONFIG": str(where / "config.toml"),
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PAGER": "cat",
        }
        names = {str(where / "cards"): "FOLDER", str(where): "HOME", url: "URL"}
        results = []
        for step in steps:
            words = [_real(word, names) for word in step.words]
            command = [sys.executable, "-m", "innkeeper", *words]
            code, shown = run(command, step.typed, columns, where / "cards", environment)
            for real, shown_as in names.items():
                shown = shown.replace(real, shown_as)
            results.append((step, code, shown))
        return results


def _real(word: str, names: dict[str, str]) -> str:
    for real, shown_as in names.items():
        word = word.replace(shown_as, real)
    return word


TAKEN_AWAY: Final = re.compile(r"[^\n]*\r\x1b\[K")
"""A line that is there while one waits."""
ESCAPE: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|[\x07\x08]")


def plain(text: str) -> str:
    """The text without what drives a terminal."""
    return ESCAPE.sub("", TAKEN_AWAY.sub("", text))


def page() -> str:
    """The page: each step and what it shows."""
    parts = [
        "# The first minutes\n",
        "What the commands below show in a terminal of 80 columns, in a folder with the examples. `URL` is a provider that",
        "answers one sentence. `python scripts/first_minutes.py` plays them in terminals of 40, 80 and 160 columns, and writes",
        "this page.\n",
        "<!-- console, all blocks: the script plays them in a terminal -->\n",
    ]
    for step, code, shown in play(80):
        parts += [f"## {step.about}\n"] if step.about else []
        words = " ".join(f'"{word}"' if " " in word or "?" in word else word for word in step.words)
        body = "\n".join(line.rstrip() for line in _settled(plain(shown)).strip("\n").splitlines())
        parts += [f"```console\n$ innkeeper {words}", *([body] if body else []), "```", ""]
        parts += [f"The exit code is {code}.\n"] if code else []
    return "\n".join(parts)


def _settled(text: str) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?", "2026-01-15 18:00", text)
    return re.sub(r"\b\d+\.\d+ s\b", "0.1 s", text)


def main() -> int:
    """Play in the terminals that are asked for; say what is wrong."""
    asked = [int(word) for word in sys.argv[1:]]
    wrong = 0
    for columns in asked or COLUMNS:
        for step, code, shown in play(columns):
            if code != step.code:
                wrong += 1
                sys.stdout.write(f"{columns} columns: innkeeper {' '.join(step.words)}: exit code {code}\n{shown}\n")
    if not (asked or wrong):
        PAGE.write_text(page(), "utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
