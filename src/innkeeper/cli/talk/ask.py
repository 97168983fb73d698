"""``innkeeper ask``: one message to a character, and the reply."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.app.commands import examples, json_option
from innkeeper.cli.prompt.asset_options import STDIN, asset_options, install_options
from innkeeper.cli.settings.completion import cards
from innkeeper.cli.talk.options import log_options, talk_options, tool_options

if TYPE_CHECKING:
    from innkeeper.cli.talk.conversation import TerminalChat
    from innkeeper.cli.talk.opening import SessionStart
    from innkeeper.cli.talk.recorder import RecordedTurn


@click.command(
    epilog=examples(
        'innkeeper ask wenna.png "Is the reef safe tonight?"',
        'innkeeper ask -c "And at low water?"',
        'git diff | innkeeper ask critic.json "Say what is wrong with this:" - --model openrouter:z-ai/glm-4.6',
    )
)
@click.argument("words", nargs=-1, shell_complete=cards)
@asset_options
@install_options
@talk_options
@tool_options
@log_options
@click.option("--greeting", type=int, metavar="N", help="Which greeting the chat begins with, from 0.")
@click.option("--dry-run", is_flag=True, help="Show the request and where its settings come from; send nothing.")
@json_option
def ask(words: tuple[str, ...], *, dry_run: bool, as_json: bool, **options: Any) -> int:
    """Say something to a character and print the reply as it comes.

    WORDS are a card and the text; with -c the text alone, and the last conversation goes on; with the --profile of a folder the
    text alone, too. The text is the standard input where there is none, or at the place of a "-".

    What is said is kept in the log: `innkeeper log`, `innkeeper why` and `innkeeper ask -c` know it.
    """
    from innkeeper.cli.prompt.profile import find_profile
    from innkeeper.cli.talk.opening import SessionStart
    from innkeeper.cli.talk.tools import opened_tools

    has_card = not (options["resume"] or options["conversation"] or options["card"] or options["sillytavern"])
    has_card = has_card and (options["profile"] is None or find_profile(options["profile"]) is None)
    cards, text = (words[:1], words[1:]) if has_card else ((), words)
    if has_card and not cards:
        raise click.UsageError("say whom to ask: a card, or -c to go on with the last conversation")
    said = _text(text)
    opening = SessionStart.of(cards, options, kind="ask")
    if dry_run:
        if options["servers"] or options["functions"]:
            click.echo("innkeeper: nothing is run now, so the request is shown without its tools", err=True)
        _show(opening.dry(), said, opening)
        return 0
    with opened_tools(options) as tools, closing(opening.conversation()) as talk:
        talk.tools = tools
        on_delta = (lambda _: None) if as_json else _write
        talk.take("normal", on_delta, said)
        while talk.conversation.waiting:
            on_delta("\n\n")
            talk.take("normal", on_delta)
        turn = talk.last
        if as_json and turn is not None:
            click.echo(json.dumps(_facts(talk, turn), ensure_ascii=False))
        elif not as_json:
            click.echo()
    from innkeeper.cli.app.root import INTERRUPTED

    return INTERRUPTED if turn is not None and turn.end == "stopped" else 0


def _text(words: tuple[str, ...]) -> str:
    """What is said: the words, with the standard input in the place of a ``-`` or of nothing. Raises `UsageError`."""
    if not words and sys.stdin.isatty():
        raise click.UsageError("say something: a text after the card, or the standard input")
    parts = [_input() if word == STDIN else word for word in words or (STDIN,)]
    text = "\n\n".join(parts) if STDIN in words else " ".join(parts)
    if not text.strip():
        raise click.UsageError("there is nothing to say: the text is empty")
    return text.strip()


def _input() -> str:
    from innkeeper.cli.keep.library import read_text

    return read_text(STDIN)


def _write(piece: str) -> None:
    """A piece of the reply: as it is into a file or a pipe, without control characters on a terminal."""
    from innkeeper.prompt.text import printable

    sys.stdout.write(printable(piece) if sys.stdout.isatty() else piece)
    sys.stdout.flush()


def _facts(talk: TerminalChat, turn: RecordedTurn) -> dict[str, Any]:
    kept, figures = talk.listener, talk.figures(turn.plan)
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
        "conversation": getattr(kept, "chat", None),
        "line": getattr(kept, "line", None),
    }


def _show(talk: TerminalChat, said: str, opening: SessionStart) -> None:
    """The request that would go out, with the address but without the key, and where the settings come from."""
    request = talk.handle.request(talk.preview(said))
    facts = {
        "url": opening.url(request),
        "key": opening.key_place(),
        "settings": [value._asdict() for value in opening.values()],
        "body": request.body,
    }
    click.echo(json.dumps(facts, ensure_ascii=False, indent=2, default=str))
