"""Progress on a terminal: silent at first, then what is done, the rate and the time left."""

import sys
from collections.abc import Iterator

import pytest

from innkeeper.cli.app.progress import ProgressLine, counted, progress, progress_line


def ticking(*seconds: float) -> Iterator[float]:
    """A clock that shows these moments, one after the other."""
    yield from seconds


def line(total: int | None, *seconds: float) -> ProgressLine:
    """A line that begins at 0, with a clock of these moments."""
    moments = ticking(0.0, *seconds)
    return ProgressLine("files", total, lambda: next(moments))


def test_quick_work_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    """Within the first second nothing is shown, and nothing is to be taken away."""
    short = line(10, 0.2, 0.9)
    short.add(1)
    short.add(9)
    short.clear()
    assert capsys.readouterr() == ("", "")


def test_long_work(capsys: pytest.CaptureFixture[str]) -> None:
    """After a second it is shown, at most ten times a second; at the end it goes."""
    long = line(100, 2.0, 2.05, 4.0)
    for _ in range(3):
        long.add(20)
    long.clear()
    shown = capsys.readouterr().err.split("\r")
    assert shown == ["", "20 of 100 files, 10 a second, 8 s left", "60 of 100 files, 15 a second, 3 s left", ""]


def test_an_open_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Where nobody knows how much there is, the count and the rate are shown, with words beside them."""
    line(None, 2.0).show(4, ", 1 errors")
    assert capsys.readouterr().err == "\r4 files, 2 a second, 1 errors"


@pytest.mark.parametrize("quiet", [True, False])
def test_no_terminal(quiet: bool) -> None:
    """Into a file or a pipe nothing is shown."""
    with progress_line("files", 3, quiet=quiet) as shown:
        assert shown is None
    with progress("files", 3, quiet=quiet) as step:
        assert list(counted("abc", step)) == ["a", "b", "c"]


def test_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal each item is counted."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress_line("files", 3, quiet=False) as shown:
        assert shown is not None
        list(counted("abc", shown.add))
        assert shown.done == 3
    assert capsys.readouterr().out == ""
