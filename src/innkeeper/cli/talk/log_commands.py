"""``innkeeper log`` and ``innkeeper why``: what was said, and why each prompt was as it was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.app.commands import examples, json_option, print_json, print_result
from innkeeper.cli.app.paging import paged

if TYPE_CHECKING:
    from innkeeper.cli.talk.log import LoggedCall, LoggedChat
    from innkeeper.prompt import Plan, ReplayBundle


@click.group(
    epilog=examples(
        "innkeeper log list",
        "innkeeper log show",
        "innkeeper log search reef bell",
        "innkeeper why",
        "innkeeper ask -c TEXT",
    )
)
def log() -> None:
    """Read what was said in `ask` and `chat`. It is kept in a file that only you may read.

    A line of it is one call of a model, with its number in front: `innkeeper why NUMBER` explains its prompt, `innkeeper replay
    --log NUMBER` builds it again and compares the bytes. `innkeeper config set logging false` keeps nothing more.
    """


@log.command("list", epilog=examples("innkeeper log list"))
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many, newest first.")
@json_option
@paged
def list_(*, limit: int, as_json: bool) -> None:
    """List the conversations: number, time, who spoke, how many lines, which model."""
    from innkeeper.cli.talk.log import TalkLog

    chats = TalkLog().chats(limit)
    if as_json:
        print_json({"conversations": [chat._asdict() for chat in chats]})
        return
    for chat in chats:
        click.echo(_plain(f"{chat.id:>4}  {_when(chat.updated)}  {_about(chat)}"))


def _about(chat: LoggedChat) -> str:
    lines = "1 line" if chat.lines == 1 else f"{chat.lines} lines"
    file = f", in {chat.path}" if chat.path else ""
    return f"{chat.character} and {chat.user}, {lines}, {chat.model}{file}"


@log.command(epilog=examples("innkeeper log show 3"))
@click.argument("number", type=int, required=False)
@json_option
@paged
def show(number: int | None, *, as_json: bool) -> None:
    """Show the conversation NUMBER, or the last one: each line with its number."""
    from innkeeper.cli.talk.log import TalkLog

    log_file = TalkLog()
    chat = log_file.chat(number)
    lines = log_file.lines(chat.id)
    if as_json:
        facts = {**chat._asdict(), "lines": [line._asdict() for line in lines]}
        print_json(facts)
        return
    click.echo(_plain(f"conversation {chat.id}, {_when(chat.begun)}: {_about(chat)}"))
    _print_lines(lines, chat.user)


@log.command(epilog=examples("innkeeper log search reef bell"))
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many, newest first.")
@json_option
@paged
def search(words: tuple[str, ...], *, limit: int, as_json: bool) -> None:
    """Find the lines that have all WORDS, in what was said or in the reply."""
    from innkeeper.cli.talk.log import TalkLog

    lines = TalkLog().search(words, limit)
    if as_json:
        print_json({"lines": [line._asdict() for line in lines]})
    else:
        _print_lines(lines, "you")


@log.command(epilog=examples("innkeeper log remove 3"))
@click.argument("numbers", type=int, nargs=-1, required=True)
@json_option
def remove(numbers: tuple[int, ...], *, as_json: bool) -> None:
    """Take conversations out of the log, with all that only they held."""
    from innkeeper.cli.talk.log import TalkLog

    for number in numbers:
        TalkLog().forget(number)
    words = "removed: " + ", ".join(map(str, numbers))
    print_result({"removed": list(numbers)}, words, as_json=as_json)


@log.command(epilog=examples("innkeeper log path"))
def path() -> None:
    """Print where the log is, whether it exists or not."""
    from innkeeper.cli.talk.log import log_path

    click.echo(str(log_path()))


def _print_lines(lines: Iterable[LoggedCall], user: str) -> None:
    for line in lines:
        end = "" if line.ended in (None, "stop") else f"  ({line.ended})"
        click.echo()
        click.echo(
            click.style(_plain(f"{line.id}  {_when(line.at)}  {line.model}{end}{_cached(line.usage)}"), dim=True)
        )
        if line.said:
            click.echo(_plain(f"{user}: {line.said}"))
        click.echo(_plain(f"{line.speaker}: {line.reply}"))


def _cached(usage: Mapping[str, Any]) -> str:
    """Say what the cache served of a prompt, and how far that is from the prediction."""
    from innkeeper.inference.client.model_handle import served_tokens

    served, predicted = served_tokens(usage), usage.get("predicted_cached_tokens")
    if served is None:
        return ""
    drift = "" if predicted is None else f", predicted {predicted:,} ({served - predicted:+,})"
    return f"  cache: {served:,} of {usage.get('prompt_tokens', 0):,} tokens{drift}"


def _when(moment: str) -> str:
    """Return a moment of the log in local time, to the minute."""
    from datetime import datetime

    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def _plain(text: str) -> str:
    from innkeeper.prompt.text import printable

    return printable(text)


@click.command(
    epilog=examples(
        "innkeeper why",
        "innkeeper why Fog",
        "innkeeper why 31",
        'innkeeper why 31 "The Bell Reef"',
        "innkeeper why 31 4",
    )
)
@click.argument("number", required=False)
@click.argument("what", required=False)
@json_option
@paged
def why(number: str | None, what: str | None, *, as_json: bool) -> None:
    """Explain the prompt of line NUMBER of the log, or of the last: its messages, the window, each lorebook entry.

    WHAT is one thing of it: a lorebook entry, a book, or the number of a message. `innkeeper build --why WHAT` explains the
    prompt of files or of a folder of SillyTavern's.
    """
    from innkeeper.budget import accounting
    from innkeeper.cli.app.render import explain_entries, explain_part, explain_plan
    from innkeeper.cli.app.screen import Screen
    from innkeeper.cli.talk.log import TalkLog

    if number is not None and not number.isdecimal():
        if what is not None:
            raise click.BadParameter(f"{number!r} is not the number of a line", param_hint="NUMBER")
        number, what = None, number
    log_file = TalkLog()
    line = log_file.line(None if number is None else int(number))
    plan, same = replayed(log_file.bundle(line.id))
    if as_json:
        facts = {"line": line._asdict(), "same": same, "tokens": accounting(plan).to_dict(), **plan.to_dict()}
        print_json(facts)
        return
    shown = Screen()
    if not same:
        click.echo("This version, or the tokens as they are counted here, give other bytes than were sent.", err=True)
    if what is not None:
        explain_part(shown, plan, what)
        return
    click.echo(_plain(f"line {line.id} of conversation {line.chat}, {_when(line.at)}: {line.said[:60]}"))
    explain_plan(shown, plan, accounting(plan))
    explain_entries(shown, plan)


def replayed(bundle: ReplayBundle) -> tuple[Plan, bool]:
    """Build the plan of a line again; return it, and whether it has the recorded bytes."""
    from innkeeper.inference.local.vocabulary import replay_ports
    from innkeeper.taverns import build

    plan: Any = build(bundle.request, replay_ports(bundle))
    return plan, plan.fingerprint(bundle.dialect) == bundle.fingerprint
