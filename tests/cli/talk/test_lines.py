"""Lines: over a pipe and on a terminal, alone and several together; the history is kept for its owner alone."""

import io
import stat
import sys
from pathlib import Path

import pytest

from innkeeper.cli.talk.lines import Lines, history_path
from tests.cli.terminal import Terminal


def lines(monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[Lines, list[str]]:
    """Lines of a pipe, and what is echoed."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    echoed: list[str] = []
    return Lines(lambda _: (), lambda prompt, line: echoed.append(prompt + line)), echoed


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("", []),
        ("One\nTwo", ["One", "Two"]),
        ("\n", [""]),
        ('"""\nOne\n\nTwo\n"""\nThree\n', ["One\n\nTwo", "Three"]),
        ('"""One"""\n', ["One"]),
        ('"""One\nTwo"""', ["One\nTwo"]),
        ('"""One\nno end', ["One\nno end"]),
        ('One """\n', ['One """']),
    ],
)
def test_messages(monkeypatch: pytest.MonkeyPatch, text: str, messages: list[str]) -> None:
    """A line is a message; between two fences there are several in one; the end of the input ends both."""
    read, _ = lines(monkeypatch, text)
    assert list(iter(lambda: read.read("> "), None)) == messages
    read.close()


def test_echo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Piped lines are shown behind the prompt, as if they had been typed."""
    read, echoed = lines(monkeypatch, '"""\nOne\n"""\n')
    read.read("Ansel> ")
    assert echoed == ['Ansel> """', "... One", '... """']


def test_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft can be changed, the tab key completes, and the lines are remembered for their owner alone."""
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    program = tmp_path / "program.py"
    program.write_text(
        "from innkeeper.cli.talk.lines import Lines\n"
        "lines = Lines(lambda _: ['/swipe'], print, history=True)\n"
        "print('got', lines.read('> ', 'I am'))\n"
        "print('got', lines.read('> '))\n"
        "lines.close()\n"
    )
    with Terminal(program) as terminal:
        terminal.wait_for("> I am")
        terminal.type(" cold.\n")
        terminal.wait_for("got I am cold.")
        terminal.wait_for("> ")
        terminal.type("/sw\t\n")
        terminal.wait_for("got /swipe")
        assert terminal.end() == 0
    assert history_path().read_text().splitlines()[-1].rstrip() == "/swipe"
    assert stat.S_IMODE(history_path().stat().st_mode) == 0o600
