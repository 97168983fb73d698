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


def screen(monkeypatch: pytest.MonkeyPatch, *, reads: bool = True, writes: bool = True) -> tuple[list[str], Terminal]:
    """A terminal of ten lines, from inside a test: what its pager gets, and what is printed."""
    pages: list[str] = []
    terminal = Terminal(live=writes)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((80, 10)))
    monkeypatch.setattr(click, "echo_via_pager", lambda text, **_: pages.append(text))
    monkeypatch.setattr(sys, "stdin", Terminal(live=reads))
    monkeypatch.setattr(sys, "stdout", terminal)
    return pages, terminal


def command(lines: int) -> Callable[..., int]:
    """A command that prints so many lines."""

    @paged
    def run() -> int:
        assert sys.stdout.isatty()  # so colours and widths are those of the terminal
        click.echo("\n".join("x" * lines))
        return 3

    return run


def test_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit goes to the pager, whole; the command's exit code stays."""
    pages, terminal = screen(monkeypatch)
    assert command(10)() == 3
    assert (pages, terminal.getvalue()) == (["x\n" * 10], "")


def test_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fits is printed."""
    pages, terminal = screen(monkeypatch)
    assert command(9)() == 3
    assert (pages, terminal.getvalue()) == ([], "x\n" * 9)


@pytest.mark.parametrize(("reads", "writes"), [(False, True), (True, False)])
def test_no_terminal(monkeypatch: pytest.MonkeyPatch, reads: bool, writes: bool) -> None:
    """Where nobody can turn pages, or the answer goes elsewhere, it is printed."""
    pages, terminal = screen(monkeypatch, reads=reads, writes=writes)
    paged(click.echo)("x\n" * 100, nl=False)
    assert (pages, terminal.getvalue()) == ([], "x\n" * 100)


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON is for programs."""
    pages, terminal = screen(monkeypatch)
    paged(lambda as_json: click.echo("x\n" * 100, nl=not as_json))(as_json=True)
    assert (pages, terminal.getvalue()) == ([], "x\n" * 100)


def test_an_error_goes_past_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was printed before an error is shown, and the error goes on."""
    _, terminal = screen(monkeypatch)

    @paged
    def run() -> None:
        click.echo("before")
        raise KeyError

    with pytest.raises(KeyError):
        run()
    assert terminal.getvalue() == "before\n"
