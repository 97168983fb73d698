"""Long answers go through a pager on a terminal, and nowhere else."""

import io
import os
import sys
from collections.abc import Callable

import click
import pytest

from innkeeper.cli.app.paging import paged


class Terminal(io.StringIO):
    """A stream that is a terminal, or not."""

    def __init__(self, *, live: bool = True) -> None:
        super().__init__()
        self.live = live

    def isatty(self) -> bool:
        """Whether it is one."""
        return self.live


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the pager of a terminal of ten lines gets."""
    got: list[str] = []
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((80, 10)))
    monkeypatch.setattr(click, "echo_via_pager", lambda text, **_: got.append(text))
    monkeypatch.setattr(sys, "stdin", Terminal())
    return got


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """The standard output, a terminal."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    return stream


def command(lines: int) -> Callable[..., int]:
    """A command that prints so many lines."""

    @paged
    def run(*, as_json: bool = False) -> int:
        assert as_json is not sys.stdout.isatty()  # so colours and widths are those of the terminal
        click.echo("\n".join("x" * lines))
        return 3

    return run


def test_long(pages: list[str], terminal: Terminal) -> None:
    """What does not fit goes to the pager, whole; the command's exit code stays."""
    assert command(10)() == 3
    assert (pages, terminal.getvalue()) == (["x\n" * 10], "")


def test_short(pages: list[str], terminal: Terminal) -> None:
    """What fits is printed."""
    assert command(9)() == 3
    assert (pages, terminal.getvalue()) == ([], "x\n" * 9)


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_no_terminal(pages: list[str], terminal: Terminal, monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    """Where nobody can turn pages, or the answer goes elsewhere, it is printed."""
    monkeypatch.setattr(sys, stream, Terminal(live=False))
    paged(click.echo)("x\n" * 100, nl=False)
    printed = terminal if stream == "stdin" else sys.stdout
    assert isinstance(printed, Terminal)
    assert (pages, printed.getvalue()) == ([], "x\n" * 100)


def test_json(pages: list[str], terminal: Terminal) -> None:
    """JSON is for programs."""
    paged(lambda as_json: click.echo("x\n" * 100, nl=not as_json))(as_json=True)
    assert (pages, terminal.getvalue()) == ([], "x\n" * 100)


@pytest.mark.usefixtures("pages")
def test_an_error_goes_past_it(terminal: Terminal) -> None:
    """What was printed before an error is shown, and the error goes on."""

    @paged
    def run() -> None:
        click.echo("before")
        raise KeyError

    with pytest.raises(KeyError):
        run()
    assert terminal.getvalue() == "before\n"
