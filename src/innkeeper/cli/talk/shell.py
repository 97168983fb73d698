"""Shell: a conversation in a terminal, or over pipes: a prompt, replies as they come, a few commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from innkeeper.cli.app.render import console as new_console
from innkeeper.cli.app.render import explain_entries, explain_part, explain_plan
from innkeeper.cli.talk.conversation import Conversation
from innkeeper.prompt import InnkeeperError, UnknownNameError, UsageError
from innkeeper.prompt.text import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Shell"]

RECENT: Final = 6
"""How many messages of a chat are shown when it is opened."""


class _Command(NamedTuple):
    usage: str
    help: str
    run: Callable[[Shell, str], None]


class Shell:
    """Reads lines from stdin until its end or ``/quit``, and answers them.

    Ctrl-C stops the reply that is coming, and clears the line that is being typed; it does not end the program. What goes
    wrong is said in a line, and the chat goes on. Without a terminal the same lines come by a pipe, and are echoed.
    """

    def __init__(self, talk: Conversation, *, console: Console | None = None) -> None:
        self.talk = talk
        self.console = console or new_console()
        self.going = True
        self.exit_code = 0
        self._live = sys.stdin.isatty()

    def run(self) -> None:
        """Talk until the end of the input. ``exit_code`` is then that of the first failure, if nobody sat there to see it."""
        messages = self.talk.chat.messages
        if len(messages) > RECENT:
            self._say(f"({len(messages) - RECENT} earlier messages)")
        for message in messages[-RECENT:]:
            self._shown(message.name or message.role, message.text, message.role)
        self._say("Type a message, or /help. Ctrl-C stops a reply, Ctrl-D leaves.")
        while self.going:
            line = self._line()
            if line is None:
                break
            if line.strip():
                self._guarded(line.strip())
        self._farewell()

    def _line(self) -> str | None:
        """The next line, or None at the end of the input."""
        prompt = f"{printable(self.talk.user_name)}> "
        try:
            if self._live:
                import readline  # noqa: F401 - gives `input` a line that can be edited, and a history

                return input(prompt)
            line = sys.stdin.readline()
            if line:
                self._print(f"{prompt}{printable(line.rstrip())}")
        except EOFError:
            self._print()
            return None
        except KeyboardInterrupt:
            self._print()
            self._say("/quit or Ctrl-D leaves")
            return ""
        return line or None

    def _guarded(self, line: str) -> None:
        try:
            self._take(line)
        except InnkeeperError as error:
            self._print(printable(error.render()), style="red")
            if not self._live:
                self.exit_code = self.exit_code or error.exit_code
        except KeyboardInterrupt:
            self._print()
            self._say("stopped; /retry asks again")

    def _take(self, line: str) -> None:
        if not line.startswith("/") or line.startswith("//"):
            self._reply(lambda hear: self.talk.say(line.removeprefix("/") if line.startswith("//") else line, hear))
            return
        name, _, rest = line[1:].partition(" ")
        command = COMMANDS.get(name.lower())
        if command is None:
            raise UnknownNameError("command", f"/{name}", (f"/{known}" for known in COMMANDS))
        command.run(self, rest.strip())

    # ------------------------------------------------------------------------------------------------------ commands

    def plan(self, text: str) -> None:
        """Show the last plan, or that of a message that has not been sent."""
        plan = self.talk.preview(text) if text or self.talk.plan is None else self.talk.plan
        explain_plan(self.console, plan, self.talk.figures(plan))

    def why(self, what: str) -> None:
        """Show why something is in the prompt, or is not."""
        plan = self.talk.plan or self.talk.preview()
        if not what:
            explain_entries(self.console, plan)
        else:
            explain_part(self.console, plan, what)

    def retry(self, _: str) -> None:
        """Ask again."""
        self._reply(self.talk.retry)

    def swipe(self, number: str) -> None:
        """Ask for an alternative, or show one that is there."""
        if not number and self.talk.is_greeting:
            number = str(self.talk.shown % max(len(self.talk.alternatives), 1) + 1)
        if not number:
            self._reply(self.talk.swipe)
            return
        if not number.isdigit():
            raise UsageError("an alternative is a number", hint=COMMANDS["swipe"].usage)
        self._shown(self.talk.character_name, self.talk.choose(int(number)), "assistant")

    def save(self, path: str) -> None:
        """Say where the chat is, or write it somewhere."""
        if path:
            self.talk.save(Path(path).expanduser())
        if self.talk.path is None:
            raise UsageError("the chat has no file yet", hint=COMMANDS["save"].usage)
        self._say(f"saved in {self.talk.path}")

    def help(self, _: str) -> None:
        """List the commands."""
        width = max(len(command.usage) for command in COMMANDS.values())
        for command in COMMANDS.values():
            self._print(f"{command.usage:<{width}}  {command.help}")
        self._print(f"{'//text':<{width}}  a message that begins with a slash")

    def quit(self, _: str) -> None:
        """Leave."""
        self.going = False

    # -------------------------------------------------------------------------------------------------------- output

    def _reply(self, ask: Callable[[Callable[[str], object]], str]) -> None:
        """Let ``ask`` stream its reply under the character's name."""
        with self._waiting() as begin:

            def hear(piece: str) -> None:
                begin()
                self._write(piece)

            reply = ask(hear)
            begin()
        self._print()
        if not reply:
            self._say("the model said nothing; /retry asks again")

    @contextmanager
    def _waiting(self) -> Iterator[Callable[[], None]]:
        """A sign that something happens, until the first word; then the name of who speaks."""
        status = self.console.status("reading the prompt ...") if self.console.is_terminal else None
        begun = False

        def begin() -> None:
            nonlocal begun
            if not begun:
                begun = True
                if status is not None:
                    status.stop()
                self._print(f"{printable(self.talk.character_name)}: ", style="magenta", end="")

        if status is not None:
            status.start()
        try:
            yield begin
        finally:
            if status is not None:
                status.stop()

    def _shown(self, name: str, text: str, role: str) -> None:
        self._print(f"{printable(name)}: ", style="green" if role == "user" else "magenta", end="")
        self._print(printable(text))

    def _say(self, text: str) -> None:
        self._print(printable(text), style="dim")

    def _write(self, piece: str) -> None:
        self.console.file.write(printable(piece))
        self.console.file.flush()

    def _print(self, text: str = "", *, style: str = "", end: str = "\n") -> None:
        self.console.print(text, style=style, end=end, markup=False, emoji=False, highlight=False, soft_wrap=True)

    def _farewell(self) -> None:
        if self.talk.path is not None:
            self._say(f"saved in {self.talk.path}")
        elif len(self.talk.chat.messages) > 1:
            self._say("this chat was not saved; give --chat FILE.jsonl to keep the next one")


COMMANDS: Final[dict[str, _Command]] = {
    "plan": _Command("/plan [TEXT]", "the prompt of the last turn, or the one that TEXT would get", Shell.plan),
    "why": _Command(
        "/why [ENTRY|NUMBER]", "why a lorebook entry, or a message of the prompt, is there or not", Shell.why
    ),
    "retry": _Command("/retry", "ask again, in place of the last reply", Shell.retry),
    "swipe": _Command(
        "/swipe [NUMBER]", "an alternative to the last reply or greeting, or the one of this number", Shell.swipe
    ),
    "save": _Command(
        "/save [FILE]", "write the chat to a new file and keep it there; alone: say where it is", Shell.save
    ),
    "help": _Command("/help", "this list", Shell.help),
    "quit": _Command("/quit", "leave", Shell.quit),
}
"""The commands by name, in the order of the help."""
