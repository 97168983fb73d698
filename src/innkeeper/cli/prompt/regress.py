"""``innkeeper regress``: a corpus of chats built with old and with new inputs, and whether the prompts changed too much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from innkeeper.cli.app.commands import examples, json_option, print_json
from innkeeper.cli.app.progress import counted, progress
from innkeeper.cli.prompt.asset_options import asset_options
from innkeeper.cli.settings import completion
from innkeeper.prompt import InnkeeperError, LimitError, UsageError
from innkeeper.prompt.report import Cell, TextTable
from innkeeper.prompt.text import count_of

MAX_CHATS: Final = 10_000
"""Chats that are built in one run (`LimitError`)."""

_OPTIONS: Final = {
    "character": "card",
    "user": "persona",
    "lorebooks": "lorebook",
    "preset": "preset",
    "settings": "preset",
    "request": "profile",
}
"""The option for each field of a request that a file may fill."""


class ChatResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one chat: its changes by kind, with the tokens of each, or the error that there is no prompt by."""

    chat: str
    tokens_before: int = 0
    tokens_after: int = 0
    changes: dict[str, int] = {}
    flipped: int = 0
    shared: float = 1.0
    error: str | None = None

    @property
    def growth(self) -> int:
        """The tokens that the prompt has more."""
        return self.tokens_after - self.tokens_before


class Tolerance(msgspec.Struct, frozen=True):
    """What may change: per cent of the chats, tokens that one prompt may grow by, entries that may come or go in all."""

    changed: float = 0.0
    tokens: int | None = None
    flipped: int | None = None


class Regression(msgspec.Struct, frozen=True):
    """The results of a corpus."""

    chats: tuple[ChatResult, ...]
    limits: Tolerance = Tolerance()

    @property
    def changed(self) -> tuple[ChatResult, ...]:
        """The chats whose prompt changed, or could not be built."""
        return tuple([chat for chat in self.chats if chat.changes or chat.error])

    def failures(self) -> tuple[str, ...]:
        """Return a sentence for each threshold that is exceeded, and one for chats that could not be built."""
        limits, changed = self.limits, len(self.changed)
        growth = max((chat.growth for chat in self.chats), default=0)
        flipped = sum(chat.flipped for chat in self.chats)
        sentences = []
        if broken := sum(chat.error is not None for chat in self.chats):
            sentences.append(f"{count_of(broken, 'chat')} cannot be built")
        if changed * 100 > limits.changed * len(self.chats):
            sentences.append(f"{changed} of {len(self.chats)} prompts changed; {limits.changed:g} % may")
        if limits.tokens is not None and growth > limits.tokens:
            sentences.append(f"a prompt grew by {growth:,} tokens; {limits.tokens:,} are allowed")
        if limits.flipped is not None and flipped > limits.flipped:
            sentences.append(f"{flipped} verdicts on entries flipped; {limits.flipped} may")
        return tuple(sentences)

    def tables(self) -> tuple[TextTable, ...]:
        """The results as tables: by kind of change, the most frequent first, then by chat, the largest change first."""
        from innkeeper.budget.diff import signed

        groups: dict[str, list[ChatResult]] = {}
        for chat in self.chats:
            for kind in (chat.error,) if chat.error else chat.changes:
                groups.setdefault(kind, []).append(chat)
        kinds = [
            (kind, len(chats), signed(sum(chat.changes.get(kind, 0) for chat in chats)), chats[0].chat)
            for kind, chats in sorted(groups.items(), key=lambda item: -len(item[1]))
        ]
        rows = sorted(self.changed, key=lambda chat: -abs(chat.growth))
        return (
            TextTable("kinds of change", ("change", "chats", "tokens", "such as"), tuple(kinds)),
            TextTable("chats", ("chat", "before", "after", "change", "shared prefix"), tuple(map(_chat_row, rows))),
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        failures = list(self.failures())
        return {"ok": not failures, "failures": failures, "changed": len(self.changed), **msgspec.to_builtins(self)}

    def to_markdown(self) -> str:
        """A summary for a pull request."""
        failures = self.failures()
        verdict = [f"- :x: {sentence}" for sentence in failures] or ["- :white_check_mark: within the thresholds"]
        tables = [table.to_markdown() for table in self.tables() if table.rows]
        return "\n\n".join((f"## {_headline(self)}", "\n".join(verdict), *tables))


def _headline(regression: Regression) -> str:
    return f"{len(regression.changed)} of {len(regression.chats)} prompts changed"


def _chat_row(chat: ChatResult) -> tuple[Cell, ...]:
    from innkeeper.budget.diff import signed

    if chat.error:
        return chat.chat, None, None, "error", None
    return chat.chat, chat.tokens_before, chat.tokens_after, signed(chat.growth), f"{chat.shared:.0%}"


@click.command(
    epilog=examples(
        "innkeeper regress chats/ --card wenna.png --against old.preset.json --preset new.preset.json",
        'innkeeper regress recorded/ --preset new.json --max-changed 20 --markdown >> "$GITHUB_STEP_SUMMARY"',
    )
)
@click.argument("chats", nargs=-1, required=True, metavar="CHATS...", shell_complete=completion.files)
@asset_options
@click.option("--against", metavar="FILE", multiple=True, help="An old input, or a profile with all; repeatable.")
@click.option("--message", metavar="TEXT", help="What the user says now in each chat.")
@click.option(
    "--max-changed",
    type=click.FloatRange(0, 100),
    default=0.0,
    show_default=True,
    metavar="PERCENT",
    help="How many of the prompts may change.",
)
@click.option("--max-tokens", type=int, metavar="TOKENS", help="By how many tokens a prompt may grow.")
@click.option("--max-flipped", type=int, metavar="NUMBER", help="How many lorebook entries may come or go in all.")
@click.option("--markdown", is_flag=True, help="Print a summary in Markdown, as GitHub shows it.")
@json_option
def regress(
    chats: tuple[str, ...],
    *,
    against: tuple[str, ...],
    max_changed: float,
    max_tokens: int | None,
    max_flipped: int | None,
    markdown: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Build chats with old and new inputs; group what changed. Exits with 1 beyond a threshold.

    CHATS are chats, build requests and recorded builds, or folders of them. Options name the new inputs, --against the old ones
    of the same kinds; without it the old ones are those of each request, or the configured ones. A chat's card is in both.
    """
    limits = Tolerance(max_changed, max_tokens, max_flipped)
    options |= {"chat": None, "greeting": None, "dialect": None}
    regression = Regression(tuple(results(chats, against, options, quiet=as_json)), limits)
    if as_json:
        print_json(regression.to_dict())
    elif markdown:
        click.echo(regression.to_markdown())
    else:
        from innkeeper.cli.app.render import print_tables
        from innkeeper.cli.app.screen import Screen

        print_tables(Screen(), regression.tables())
        click.echo("\n".join((_headline(regression), *regression.failures())))
    return int(bool(regression.failures()))


def results(
    chats: Sequence[str], against: Sequence[str], options: Mapping[str, Any], *, quiet: bool = True
) -> Iterator[ChatResult]:
    """Build each chat with the old and the new inputs. Raises `UsageError` where there is nothing to build or compare."""
    from innkeeper.cli.prompt.assets import AssetFiles

    AssetFiles.of((), options)  # what is wrong with the new inputs is wrong in every chat
    old_fields = _fields(against)
    with progress("files read", None, quiet=quiet) as step:
        files = list(counted(_chat_files(chats), step))
    if not files:
        raise UsageError("there is no chat in these folders", hint="name chats, build requests or recorded builds")
    if len(files) > MAX_CHATS:
        raise LimitError("the chats of one run", limit="MAX_CHATS", allowed=MAX_CHATS, found=len(files))
    with progress("chats", len(files), quiet=quiet) as step:
        for name, fields in counted(files, step):
            kinds = old_fields or {*_OPTIONS} - (set() if "request" in fields else {"character"})
            replaced = {_OPTIONS[field] for field in kinds if field in _OPTIONS}
            old = {key: _NONE.get(key) if key in replaced else value for key, value in options.items()}
            if old == options and not against:
                hint = "name the old files with --against, the new ones with --preset, --card, --lorebook or --persona"
                raise UsageError("old and new inputs are the same", hint=hint)
            yield _result(name, against, old, options)


_NONE: Final[Mapping[str, Any]] = {"lorebook": (), "preset": ()}
"""What options are that nobody gave, where that is not None."""


def _fields(names: Sequence[str]) -> set[str]:
    """Return the fields of a request that files fill; a profile is a whole request."""
    from innkeeper.cli.prompt.assets import AssetFiles, find_profile
    from innkeeper.cli.settings.settings import UserSettings

    assets = AssetFiles(settings=UserSettings.read())
    for name in names:
        if find_profile(name) is None:
            assets.add(name)
        else:
            assets.open_profile(name)
    return set(assets.fields)


def _chat_files(names: Sequence[str]) -> Iterator[tuple[str, set[str]]]:
    """The chats and requests among files and in folders, each with its fields; other files of folders are skipped."""
    for name in names:
        if not Path(name).is_dir():
            yield name, _fields((name,)) if Path(name).is_file() else set()
            continue
        for path in sorted(Path(name).rglob("*.json*")):
            try:
                fields = _fields((str(path),))
            except InnkeeperError:
                continue
            if fields & {"history", "request"}:
                yield str(path), fields


def _result(chat: str, against: Sequence[str], old: Mapping[str, Any], new: Mapping[str, Any]) -> ChatResult:
    from innkeeper.cli.prompt.diff import compared

    try:
        difference = compared(((chat, *against), old), ((chat,), new))
    except InnkeeperError as error:
        return ChatResult(chat, error=f"error: {error.message}")
    changes: dict[str, int] = {}
    for block in difference.blocks:
        kind = f"{block.kind} {block.name}"
        changes[kind] = changes.get(kind, 0) + block.tokens
    for flip in difference.verdicts:
        changes[f"entry {'in' if flip.fired else 'out'}: {flip.title or flip.uid}"] = 0
    changes |= {f"option {option.name}": 0 for option in difference.options}
    return ChatResult(
        chat,
        difference.before.tokens,
        difference.after.tokens,
        changes,
        len(difference.verdicts),
        round(difference.cache.token_share, 4),
    )
