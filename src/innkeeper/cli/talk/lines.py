"""Lines: the input of a chat, from a terminal with an editor, a history and completion, or from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

FENCE: Final = '"""'
"""Opens and closes a message of several lines."""

_REMEMBERED: Final = 1_000
"""How many lines the history has."""


def history_path() -> Path:
    """Return the path of the history of lines."""
    from innkeeper.prompt.machine import home

    return home() / "chat_history"


class Lines:
    """The lines of one chat. ``complete`` returns completions of a line; ``echo`` shows piped lines."""

    def __init__(
        self, complete: Callable[[str], Iterable[str]], echo: Callable[[str, str], None], *, history: bool = False
    ) -> None:
        self.live = sys.stdin.isatty()
        self._complete = complete
        self._echo = echo
        self._history = history
        self._offers: list[str] = []
        self._readline: Any = self._editor() if self.live else None

    def read(self, prompt: str, draft: str = "") -> str | None:
        """Return the next message, or None at the end of the input. ``draft`` is in the line already, to be changed."""
        line = self._line(prompt, draft)
        if line is None or not line.lstrip().startswith(FENCE):
            return line
        text = line.lstrip().removeprefix(FENCE)
        lines = []
        while not text.rstrip().endswith(FENCE):
            lines.append(text)
            more = self._line("... ", "")
            if more is None:
                break
            text = more
        else:
            lines.append(text.rstrip().removesuffix(FENCE))
        return "\n".join(lines).strip("\n")

    def close(self) -> None:
        """Save the history, for its owner alone."""
        if self._readline is None or not self._history:
            return
        from innkeeper.content.files.private import make_private

        with suppress(OSError):
            make_private(history_path())
            self._readline.write_history_file(str(history_path()))

    def _line(self, prompt: str, draft: str) -> str | None:
        if not self.live:
            line = sys.stdin.readline()
            if line:
                self._echo(prompt, line.rstrip())
            return line.rstrip("\n") if line else None
        if self._readline is not None and draft:
            self._readline.set_startup_hook(lambda: self._readline.insert_text(draft))
        try:
            return input(prompt)
        except EOFError:
            return None
        finally:
            if self._readline is not None:
                self._readline.set_startup_hook(None)

    def _editor(self) -> Any:
        """Set up and return the module `readline`; None on systems without it."""
        try:
            import readline
        except ModuleNotFoundError:  # Windows
            return None
        readline.set_completer_delims(" \t\n")
        readline.set_completer(self._offered)
        readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
        readline.set_history_length(_REMEMBERED)
        if self._history:
            with suppress(OSError):
                readline.read_history_file(str(history_path()))
        return readline

    def _offered(self, word: str, number: int) -> str | None:
        if number == 0:
            before = self._readline.get_line_buffer()[: self._readline.get_endidx()]
            with suppress(Exception):  # a line that is being typed is no place for an error
                self._offers = [each for each in self._complete(before) if each.startswith(word)]
        return self._offers[number] if number < len(self._offers) else None
