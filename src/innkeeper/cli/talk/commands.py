"""``innkeeper ask`` and ``innkeeper chat``: one message to a character, or a chat in the terminal."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from innkeeper.cli.app.commands import examples, json_option, print_json
from innkeeper.cli.prompt.asset_options import STDIN, asset_options, install_options
from innkeeper.cli.settings.completion import cards, offered, provider_names

if TYPE_CHECKING:
    from innkeeper.cli.talk.conversation import TerminalChat
    from innkeeper.cli.talk.log import RecordedTurn
    from innkeeper.cli.talk.opening import SessionStart

F = TypeVar("F", bound=Callable[..., Any])


_OPTIONS: Final = (
    click.option(
        "--base-url",
        metavar="URL|NAME",
        shell_complete=offered(provider_names),
        help="Where the model is: an address, or the name of a provider.",
    ),
    click.option(
        "--mcp",
        "servers",
        metavar="COMMAND",
        multiple=True,
        help="Run this MCP server here and let the model call its tools; repeatable.",
    ),
    click.option(
        "--tool",
        "functions",
        metavar="FILE.py:FUNCTION",
        multiple=True,
        help="Let the model call this Python function, which runs here; repeatable.",
    ),
    click.option("-c", "--continue", "resume", is_flag=True, help="Go on with the last conversation."),
    click.option("--conversation", type=int, metavar="NUMBER", help="Go on with this one of `innkeeper log list`."),
    click.option("--no-log", is_flag=True, help="Keep nothing of this in the log."),
)


def _talk_options(command: F) -> F:
    """Add the options for model, tools and log."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(
    epilog=examples(
        'innkeeper ask wenna.png "Is the reef safe tonight?"',
        'innkeeper ask "What is a spring tide?" --model openrouter:z-ai/glm-4.6',
        'innkeeper ask -c "And at low water?"',
        'git diff | innkeeper ask critic.json "Say what is wrong with this:" - --model openrouter:z-ai/glm-4.6',
    )
)
@click.argument("words", nargs=-1, shell_complete=cards)
@asset_options
@install_options
@_talk_options
@click.option("--greeting", type=int, metavar="N", help="Which greeting the chat begins with, from 0.")
@click.option("--dry-run", is_flag=True, help="Show the request and where its settings come from; send nothing.")
@json_option
def ask(words: tuple[str, ...], *, dry_run: bool, as_json: bool, **options: Any) -> int:
    """Say something to a character, or to a model alone, and print the reply as it comes.

    WORDS are a card and the text. Without a card the text goes to the model as it is; with -c the last conversation goes on; with
    the --profile of a folder its character answers. The text is the standard input where there is none, or at the place of a "-".

    What is said is kept in the log: `innkeeper log`, `innkeeper why` and `innkeeper ask -c` know it.
    """
    from innkeeper.cli.app.root import INTERRUPTED
    from innkeeper.cli.talk.opening import SessionStart
    from innkeeper.cli.talk.tools import opened_tools

    cards, text = (words[:1], words[1:]) if _begins_with_card(words, options) else ((), words)
    message = _text(text)
    opening = SessionStart.of(cards, options, kind="ask")
    if dry_run:
        if options["servers"] or options["functions"]:
            click.echo("innkeeper: nothing is run now, so the request is shown without its tools", err=True)
        _show(opening.dry(), message, opening)
        return 0
    with opened_tools(options) as tools, closing(opening.conversation()) as talk:
        talk.tools = tools
        on_delta = (lambda _: None) if as_json else _write
        with _on_sigterm(signal.default_int_handler):
            talk.take("normal", on_delta, message)
            while talk.conversation.waiting:
                on_delta("\n\n")
                talk.take("normal", on_delta)
        turn = talk.last
        if as_json and turn is not None:
            print_json(_facts(talk, turn))
        elif not as_json:
            click.echo()
    return INTERRUPTED if turn is not None and turn.end == "stopped" else 0


def _begins_with_card(words: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Whether the first word is a card: an alias, a file, or a file's name. Raises `UnknownNameError` for a slip in an alias."""
    from innkeeper.cli.prompt.assets import find_profile
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.prompt.errors import UnknownNameError

    if not words or options["resume"] or options["conversation"] or options["card"] or options["sillytavern"]:
        return False
    if options["profile"] is not None and find_profile(options["profile"]) is not None:
        return False
    first, aliases = words[0], UserSettings.read().table("aliases.cards")
    if first == STDIN:
        return len(words) > 1
    if first in aliases or _FILE_NAME.fullmatch(first) or (len(first) < _PATH_CHARS and Path(first).is_file()):
        return True
    if len(words) > 1:
        from innkeeper.prompt.near import near_names

        if near_names(first, aliases, likeness=_SLIP):
            raise UnknownNameError("card", first, aliases)
    return False


_FILE_NAME: Final = re.compile(r"(?:[~.]*/)?\S+\.(?:png|apng|json|charx|jpe?g|webp|byaf|ya?ml|zip)", re.IGNORECASE)
_PATH_CHARS: Final = 200
_SLIP: Final = 0.75
"""The likeness from which a first word is a slip in the alias of a card rather than the beginning of a text."""


@contextmanager
def _on_sigterm(handler: Callable[..., Any]) -> Iterator[None]:
    """Have SIGTERM end a reply as Ctrl-C does: what has come of it is kept."""
    if current_thread() is not main_thread():  # only there a process is told of signals
        yield
        return
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _text(words: tuple[str, ...]) -> str:
    """Return the message: the words as they are, with the standard input for a ``-`` or for nothing. Raises `UsageError`."""
    from innkeeper.cli.keep.library import read_text

    if not words and sys.stdin.isatty():
        raise click.UsageError("say something: a text, after a card if one is to answer, or the standard input")
    parts = [read_text(STDIN) if word == STDIN else word for word in words or (STDIN,)]
    text = "\n\n".join(parts) if STDIN in words else " ".join(parts)
    if not text.strip():
        raise click.UsageError("there is nothing to say: the text is empty")
    return text if words[-1:] not in ((), (STDIN,)) else text.rstrip("\r\n")


def _write(piece: str) -> None:
    """Write a piece of the reply: unchanged into a file or a pipe, without control characters on a terminal."""
    from innkeeper.prompt.text import printable

    sys.stdout.write(printable(piece) if sys.stdout.isatty() else piece)
    sys.stdout.flush()


def _facts(talk: TerminalChat, turn: RecordedTurn) -> dict[str, Any]:
    recorder, figures = talk.recorder, talk.figures(turn.plan)
    return {
        "reply": turn.reply,
        "speaker": turn.speaker,
        "model": talk.handle.model,
        "finish_reason": turn.end,
        "usage": dict(turn.usage or {}),
        "tokens": {
            "used": figures.total,
            "reserved": figures.reserve,
            "window": figures.window,
            "exact": figures.exact,
        },
        "fingerprint": turn.plan.fingerprint(),
        "conversation": None if recorder is None else recorder.chat,
        "line": None if recorder is None else recorder.line,
    }


def _show(talk: TerminalChat, message: str, opening: SessionStart) -> None:
    """Print the request, with the address but without the key, and the origin of each setting."""
    request = talk.handle.request(talk.preview(message))
    facts = {
        "url": opening.url(request),
        "key": opening.key_origin(),
        "settings": [value._asdict() for value in opening.values()],
        "body": request.body,
    }
    print_json(facts, indent=2)


@click.command(
    epilog=examples(
        "innkeeper chat wenna.png --chat evening.jsonl",
        "innkeeper chat wenna.png --model openrouter:deepseek/deepseek-chat",
        "innkeeper chat -c",
    )
)
@click.argument("files", nargs=-1, shell_complete=cards)
@asset_options
@install_options
@click.option(
    "--chat",
    "path",
    type=click.Path(path_type=Path),
    help="Keep the chat in this file, as JSON lines; go on with it. With --sillytavern, the name of a chat in it.",
)
@click.option("--greeting", type=int, metavar="N", help="Which greeting a new chat begins with, from 0.")
@_talk_options
def chat(files: tuple[str, ...], **options: Any) -> None:
    """Chat with a character, or with several: two cards or more are a group.

    FILES are a card, a persona, lorebooks, presets, in any order. The model is the local one, unless --model or a setting names
    another; `innkeeper models install` brings it. /help lists what can be done beside talking. -c goes on with the last
    conversation of the log, whether it was a chat or an ask.

    With --sillytavern a chat of that folder goes on here. Nothing is written there: /save FILE keeps the chat, and SillyTavern
    reads that file when it lies in the character's folder below chats.
    """
    from innkeeper.cli.talk.opening import SessionStart
    from innkeeper.cli.talk.shell import Shell
    from innkeeper.cli.talk.tools import opened_tools

    opening = SessionStart.of(files, options, kind="chat")
    with opened_tools(options) as tools, closing(opening.conversation()) as talk:
        talk.tools = tools
        if opening.assets is not None and opening.assets.prepared is not None:
            click.echo(f"{opening.assets.prepared}. The folder is only read; /save FILE keeps this chat.", err=True)
        shell = Shell(talk, opening.other, history=not options["no_log"] and opening.settings.get("logging"))
        with _on_sigterm(shell.stop):
            shell.run()
    click.get_current_context().exit(shell.exit_code)
