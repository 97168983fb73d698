"""Shell: a conversation in a terminal or over pipes, with replies as they come and some commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from innkeeper.cli.app.render import explain_entries, explain_part, explain_plan, verdicts_of
from innkeeper.cli.app.screen import Screen
from innkeeper.cli.talk.conversation import TerminalChat
from innkeeper.cli.talk.lines import FENCE, Lines
from innkeeper.prompt import InnkeeperError, UnknownNameError, UsageError
from innkeeper.prompt.text import count_of, printable, shorten

if TYPE_CHECKING:
    from innkeeper.inference.client.model_handle import ModelHandle


RECENT: Final = 6
"""How many messages of a chat are shown when it is opened."""

LISTED: Final = 20
EXCERPT: Final = 70


class _Command(NamedTuple):
    usage: str
    help: str
    run: Callable[[Shell, str], None]


TERMINATED: Final = 143
"""Exit code: stopped by SIGTERM."""


class Shell:
    """Reads lines from stdin until its end or ``/quit``, and answers them.

    Ctrl-C stops a reply or clears the line that is being typed; it does not end the program. An error is one line, and the chat
    goes on. Lines from a pipe are echoed.
    """

    def __init__(
        self,
        talk: TerminalChat,
        open_model: Callable[[str], ModelHandle] | None = None,
        *,
        screen: Screen | None = None,
        history: bool = False,
    ) -> None:
        self.talk = talk
        self.screen = screen or Screen()
        self.going = True
        self.exit_code = 0
        self.draft = ""
        self._open_model = open_model
        self._lines = Lines(
            lambda line: offered(self, line),
            lambda prompt, line: self._print(f"{prompt}{printable(line)}"),
            history=history,
        )

    def run(self) -> None:
        """Talk until the end of the input. Without a terminal ``exit_code`` is that of the first failure."""
        messages = self.talk.chat.messages
        if len(messages) > RECENT:
            self._say(f"({len(messages) - RECENT} earlier messages)")
        for message in messages[-RECENT:]:
            self._shown(message.name or message.role, message.text, message.role)
        self._say("Type a message, or /help. Ctrl-C stops a reply, Ctrl-D leaves.")
        try:
            while self.going:
                line = self._line()
                if line is None:
                    break
                if line.strip():
                    self._guarded(line.strip())
        finally:
            self._lines.close()
        self._farewell()

    def _line(self) -> str | None:
        """The next line, or None at the end of the input."""
        draft, self.draft = (self.draft, "") if self._lines.live else ("", self.draft)
        try:
            line = self._lines.read(f"{printable(self.talk.conversation.user_name)}> ", draft)
        except KeyboardInterrupt:
            self._print()
            if self.going:
                self._say("/quit or Ctrl-D leaves")
            return ""
        if line is None and self._lines.live:
            self._print()
        return line

    def _guarded(self, line: str) -> None:
        try:
            self._take(line)
        except InnkeeperError as error:
            self._print(printable(error.render()), style="red")
            if not self._lines.live:
                self.exit_code = self.exit_code or error.exit_code
        except KeyboardInterrupt:
            self._print()
            self._say("stopped; /retry asks again")

    def stop(self, *_: object) -> None:
        """Leave, as a signal asks: a reply that is under way is kept as far as it has come. Raises `KeyboardInterrupt`."""
        self.going, self.exit_code = False, TERMINATED
        raise KeyboardInterrupt

    def _take(self, line: str) -> None:
        if not line.startswith("/") or line.startswith("//"):
            self._send(line.removeprefix("/") if line.startswith("//") else line)
            return
        name, _, rest = line[1:].partition(" ")
        command = COMMANDS.get(name.lower())
        if command is None:
            raise UnknownNameError("command", f"/{name}", (f"/{known}" for known in COMMANDS))
        command.run(self, rest.strip())

    def _send(self, text: str) -> None:
        self._reply(lambda hear: self.talk.take("normal", hear, text))
        while self.going and self.talk.conversation.waiting:
            self._reply(lambda hear: self.talk.take("normal", hear))

    # ------------------------------------------------------------------------------------------------------ commands

    def plan(self, text: str) -> None:
        """Show the last plan, or that of an unsent message."""
        plan = self.talk.preview(text) if text or self.talk.plan is None else self.talk.plan
        explain_plan(self.screen, plan, self.talk.figures(plan))

    def why(self, what: str) -> None:
        """Show why something is in the prompt or not."""
        plan = self.talk.plan or self.talk.preview()
        if not what:
            explain_entries(self.screen, plan)
        else:
            explain_part(self.screen, plan, what)

    def retry(self, _: str) -> None:
        """Ask again."""
        self._reply(lambda hear: self.talk.take("regenerate", hear))

    def swipe(self, number: str) -> None:
        """Ask for an alternative, or show an existing one."""
        if not number and self.talk.conversation.is_greeting:
            number = str(self.talk.conversation.shown % max(len(self.talk.conversation.alternatives), 1) + 1)
        if not number:
            self._reply(lambda hear: self.talk.take("swipe", hear))
            return
        if not number.isdigit():
            raise UsageError("an alternative is a number", hint=COMMANDS["swipe"].usage)
        self.talk.keep(self.talk.conversation.with_alternative(int(number)))
        self._shown(self.talk.conversation.character_name, self.talk.chat.messages[-1].text, "assistant")

    def turn(self, name: str) -> None:
        """Let a member of the group speak, or list the members."""
        if name:
            self._reply(lambda hear: self.talk.take("normal", hear, member=name))
            return
        conversation = self.talk.conversation
        if not conversation.members:
            raise UsageError("there is no group: only one character is here", hint="innkeeper chat CARD CARD")
        self._say(f"here are {', '.join(conversation.members)}; the last to speak was {conversation.character_name}")

    def go_on(self, _: str) -> None:
        """Let the last reply grow."""
        self._reply(lambda hear: self.talk.take("continue", hear))

    def impersonate(self, _: str) -> None:
        """Let the model write in the user's place."""
        with self._waiting(f"{self.talk.conversation.user_name}? ", "green") as begin:

            def hear(piece: str) -> None:
                begin()
                self._write(piece)

            self.draft = self.talk.take("impersonate", hear)
        self._print()
        self._say("change it and press Enter to say it" if self._lines.live else "/send says it")

    def send(self, text: str) -> None:
        """Send the text that was written in the user's place."""
        if not (text or self.draft):
            raise UsageError("there is nothing to send", hint="/impersonate writes something")
        message, self.draft = text or self.draft, ""
        self._send(message)

    def list(self, count: str) -> None:
        """Show the last messages with their numbers."""
        messages = self.talk.chat.messages
        first = max(len(messages) - (int(count) if count.isdecimal() else LISTED), 0)
        for number, message in enumerate(messages[first:], first + 1):
            name = message.name or message.role
            self._print(
                f"{number:>4}  {printable(name)}: {printable(shorten(' '.join(message.text.split()), EXCERPT))}"
            )

    def edit(self, words: str) -> None:
        """Change a message by a text or in the editor."""
        number, text = _numbered(words)
        messages = self.talk.chat.messages
        if not text and messages and 1 <= (number or len(messages)) <= len(messages):
            import click

            before = messages[(number or len(messages)) - 1].text
            text = (click.edit(before) or before).strip() if self._lines.live else ""
            if self._lines.live and text == before.strip():
                self._say("nothing was changed")
                return
        if not text:
            raise UsageError("say the new text", hint=COMMANDS["edit"].usage)
        self.talk.keep(self.talk.conversation.edited(text, number))
        self._say(f"message {number or len(messages)} is changed")

    def delete(self, words: str) -> None:
        """Take a message out."""
        number, rest = _numbered(words)
        if rest:
            raise UsageError("a message is named by its number", hint=COMMANDS["delete"].usage)
        after, gone = self.talk.conversation.without(number)
        self.talk.keep(after)
        self._say(f"gone: {gone.name or gone.role}: {shorten(' '.join(gone.text.split()), EXCERPT)}")

    def model(self, name: str) -> None:
        """Show which model answers, or choose another."""
        if name and self._open_model is not None:
            self.talk.use(self._open_model(name))
        handle = self.talk.handle
        window = f", window {handle.window:,}" if handle.window else ""
        self._say(f"{handle.model}{f' at {handle.address}' if handle.address else ''}{window}")

    def note(self, text: str) -> None:
        """Show, set or remove the author's note of this chat."""
        if text:
            self.talk.keep(self.talk.conversation.with_note(None if text == "-" else text))
        note = self.talk.chat.metadata.get("note_prompt")
        self._say(f"author's note: {note}" if note else "there is no author's note")

    def lore(self, path: str) -> None:
        """Show the lorebook entries of the next turn, or add a lorebook."""
        if not path:
            explain_entries(self.screen, self.talk.preview())
            return
        from innkeeper.content.files.loading import load_lorebook

        book = load_lorebook(Path(path).expanduser())
        self.talk.rebase(lorebooks=(*self.talk.base.lorebooks, book))
        self._say(f"{book.name or path}: {count_of(len(book.entries), 'entry')}, from now on")

    def save(self, path: str) -> None:
        """Show the file of the chat, or write it to a new one."""
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
        self._print(f"{FENCE:<{width}}  begins and ends a message of several lines")

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
    def _waiting(self, name: str = "", style: str = "magenta") -> Iterator[Callable[[], None]]:
        """Show a sign of progress until the first word, then the name of the speaker."""
        begun = False

        def begin() -> None:
            nonlocal begun
            if not begun:
                begun = True
                self.screen.clear()
                self._print(printable(name or f"{self.talk.conversation.character_name}: "), style=style, end="")

        self.screen.notice("reading the prompt ...")
        try:
            yield begin
        finally:
            if not begun:
                self.screen.clear()

    def _shown(self, name: str, text: str, role: str) -> None:
        self._print(f"{printable(name)}: ", style="green" if role == "user" else "magenta", end="")
        self._write(f"{text}\n")  # as it is: a library that lays lines out takes long for a hundred thousand

    def _say(self, text: str) -> None:
        self._print(printable(text), style="dim")

    def _write(self, piece: str) -> None:
        self.screen.file.write(printable(piece))
        self.screen.file.flush()

    def _print(self, text: str = "", *, style: str = "", end: str = "\n") -> None:
        self.screen.line(text, style=style, end=end)

    def _farewell(self) -> None:
        if self.talk.path is not None:
            self._say(f"saved in {self.talk.path}")
        elif self.talk.recorder is not None and self.talk.recorder.chat is not None:
            self._say("innkeeper chat -c goes on with this")
        elif len(self.talk.chat.messages) > 1:
            self._say("this chat was not saved; give --chat FILE.jsonl to keep the next one")


def _numbered(words: str) -> tuple[int | None, str]:
    """Return the number at the beginning, if there is one, and the rest."""
    first, _, rest = words.partition(" ")
    return (int(first), rest.strip()) if first.isdecimal() else (None, words)


def offered(shell: Shell, line: str) -> Iterable[str]:
    """Return completions of a typed line: a command, or after one a file, a model, an entry, a member."""
    command, space, rest = line.partition(" ")
    if not space:
        return [f"/{name}" for name in COMMANDS] if line.startswith("/") else []
    if command in ("/lore", "/save"):
        folder, stem = Path(rest).expanduser().parent, rest.rpartition("/")[0]
        return [f"{stem}/{path.name}" if stem or rest.startswith("/") else path.name for path in folder.iterdir()]
    if command == "/model":
        from innkeeper.cli.settings.completion import model_names

        return model_names()
    if command == "/why":
        return [verdict.title for verdict in verdicts_of(shell.talk.plan)] if shell.talk.plan is not None else []
    return shell.talk.conversation.members if command == "/turn" else []


COMMANDS: Final[dict[str, _Command]] = {
    "plan": _Command("/plan [TEXT]", "the prompt of the last turn, or the one that TEXT would get", Shell.plan),
    "why": _Command("/why [ENTRY|NUMBER]", "why an entry, or a message of the prompt, is there or not", Shell.why),
    "retry": _Command("/retry", "ask again, in place of the last reply", Shell.retry),
    "swipe": _Command("/swipe [NUMBER]", "an alternative to the last reply or greeting, or that one", Shell.swipe),
    "continue": _Command("/continue", "more of the last reply", Shell.go_on),
    "impersonate": _Command("/impersonate", "let the model write what you say; it waits for you", Shell.impersonate),
    "send": _Command("/send [TEXT]", "say what /impersonate wrote", Shell.send),
    "turn": _Command("/turn [NAME]", "in a group: let NAME speak; alone: who is here", Shell.turn),
    "list": _Command("/list [COUNT]", "the last messages with their numbers", Shell.list),
    "edit": _Command(
        "/edit [NUMBER] [TEXT]", "another text for a message; alone: the last, in your editor", Shell.edit
    ),
    "delete": _Command("/delete [NUMBER]", "take a message out; alone: the last", Shell.delete),
    "model": _Command("/model [NAME]", "which model answers, or another one", Shell.model),
    "note": _Command("/note [TEXT|-]", "the author's note of this chat: show, set, take out", Shell.note),
    "lore": _Command("/lore [FILE]", "each lorebook entry and why it is in or out; or one more lorebook", Shell.lore),
    "save": _Command("/save [FILE]", "write the chat to a new file and keep it there; alone: where it is", Shell.save),
    "help": _Command("/help", "this list", Shell.help),
    "quit": _Command("/quit", "leave", Shell.quit),
}
"""The commands by name, in the order of the help."""
