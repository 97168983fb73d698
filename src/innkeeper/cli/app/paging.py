"""Paging: an answer that is longer than the terminal is shown in the person's pager, page by page."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class _TerminalText(io.StringIO):
    """Collects what a command prints, in the colours and the width of a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def paged(command: F) -> F:
    """Have a command's answer go through ``$PAGER`` where it goes to a terminal and does not fit on it.

    For commands whose answer comes at once; an error goes past the pager.
    """

    @wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        if options.get("as_json") or sys.stdout is None or not (sys.stdout.isatty() and sys.stdin.isatty()):
            return command(*args, **options)
        terminal, collected = sys.stdout, _TerminalText()
        sys.stdout = collected
        try:
            return command(*args, **options)
        finally:
            sys.stdout = terminal
            show(collected.getvalue())

    return run  # type: ignore[return-value] # the same arguments


def show(text: str) -> None:
    """Print a text, in the pager if it has more lines than the terminal."""
    if text.count("\n") < shutil.get_terminal_size().lines:
        click.echo(text, nl=False)
    else:
        click.echo_via_pager(text, color=True)
