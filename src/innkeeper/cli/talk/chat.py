"""``innkeeper chat``: a chat with a card in the terminal."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import examples
from innkeeper.cli.prompt.asset_options import asset_options, install_options
from innkeeper.cli.settings.completion import cards
from innkeeper.cli.talk.options import log_options, talk_options, tool_options

if TYPE_CHECKING:
    from innkeeper.cli.talk.answering import ModelHandle
    from innkeeper.cli.talk.conversation import TerminalChat
    from innkeeper.content.chat import Chat
    from innkeeper.prompt import BuildRequest, Note


RESERVE: Final = 256
"""Tokens kept free for a reply, unless the command line says otherwise."""


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
@talk_options
@tool_options
@log_options
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
        shell.run()
    click.get_current_context().exit(shell.exit_code)


def conversation(
    request: BuildRequest,
    handle: ModelHandle,
    *,
    path: Path | None = None,
    greeting: int | None = 0,
    known: Chat | None = None,
    notes: tuple[Note, ...] = (),
    alone: bool = False,
) -> TerminalChat:
    """The conversation of a request with what answers it; a new one begins with a greeting of the character.

    With ``greeting`` None it begins without one. ``known`` is the chat that goes on, where it is not in the file ``path``.
    ``notes`` come first in each plan. With ``alone`` a greeting has no alternatives beside it, which are a build each.
    """
    from innkeeper.cli.talk.conversation import TerminalChat
    from innkeeper.content.chat import Chat
    from innkeeper.conversation.conversation import Conversation
    from innkeeper.prompt import utc_now
    from innkeeper.taverns.participants import greetings_of, name_of

    base = request.with_(
        model=handle.model,
        context_window=request.context_window or handle.window,
        reserved_tokens=request.reserved_tokens or RESERVE,
        dialect=request.dialect or handle.dialect,
    )
    known = known or _stored(path)
    if known is not None:
        base = base.with_(settings={**base.settings, "chat_metadata": known.metadata})
    names = {"user_name": name_of(base.user, "User"), "character_name": name_of(base.character, "Assistant")}
    fresh = Chat(header={**names, "create_date": utc_now().isoformat(timespec="seconds"), "chat_metadata": {}})
    begun = Conversation(base=base, chat=known or fresh)
    talk = TerminalChat(begun, handle, path=path, notes=notes)
    if known is not None or greeting is None:
        return talk
    if talk.conversation.members:
        _greet_by_all(talk)
    elif base.character is not None:
        greetings = greetings_of(base, handle.ports, greeting, alone=alone)
        talk.greet(greetings, 0 if alone else greeting)
    return talk


def _greet_by_all(talk: TerminalChat) -> None:
    """A new group begins with a greeting of each member."""
    import msgspec

    from innkeeper.taverns.participants import cards_of, greetings_of

    for place, card in enumerate(cards_of(talk.base.group)):
        talk.conversation = msgspec.structs.replace(talk.conversation, speaker=place)
        talk.greet(greetings_of(talk.base.with_(group=None, character=card), talk.handle.ports, 0, alone=True))


def _stored(path: Path | None) -> Any:
    """The chat in a file; None where there is none yet. Raises what `load_chat` raises, and `UsageError`."""
    from innkeeper.content.files.loading import load_chat
    from innkeeper.prompt import UsageError, Where

    if path is None or not path.exists() or path.stat().st_size == 0:
        return None
    chat = load_chat(path, lenient=True)
    if chat.header is None and not any(message.data for message in chat.messages):
        raise UsageError(
            "a JSON list cannot grow line by line", where=Where(asset=str(path)), hint="give a .jsonl file"
        )
    return chat
