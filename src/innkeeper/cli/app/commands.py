"""Commands: the table of all commands, loaded when one is named, and the options that several share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

import click

__all__ = ["COMMANDS", "CliSettings", "CommandEntry", "LazyGroup", "examples", "json_option"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class CliSettings:
    """What was said before the command's name. Commands get it with ``@click.pass_obj``.

    ``as_json``: answers and errors are JSON. ``debug``: unexpected errors show their traceback.
    """

    as_json: bool = False
    debug: bool = False


def json_option(command: F) -> F:
    """Give a command ``--json`` as its argument ``as_json``; saying it before the command's name counts too."""
    return click.option(
        "--json", "as_json", is_flag=True, callback=_or_before, help="Answer with JSON, also when it fails."
    )(command)


def examples(*lines: str) -> str:
    """Lines of a shell as the end of a command's help."""
    return "\b\n" + "\n".join(("Examples:", *(f"  {line}" for line in lines)))


def _or_before(ctx: click.Context, _param: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click's signature
    settings = ctx.find_object(CliSettings)
    return value or (settings is not None and settings.as_json)


class CommandEntry(NamedTuple):
    """One command: ``target`` is ``module:attribute`` of a click command or group, ``help`` one short sentence."""

    target: str
    help: str


COMMANDS: Final[Mapping[str, CommandEntry]] = MappingProxyType(
    {
        # name: CommandEntry("innkeeper.cli.room.name:name", "What it does, in a line."), sorted by name.
        "ask": CommandEntry("innkeeper.cli.talk.ask:ask", "Say something to a card and print the reply."),
        "build": CommandEntry(
            "innkeeper.cli.prompt.build:build", "Build a prompt from a card, a chat, lore, and show why it is as it is."
        ),
        "cache": CommandEntry("innkeeper.cli.keep.db:cache", "See what requests are answered from, and build it anew."),
        "call": CommandEntry(
            "innkeeper.cli.app.service:call", "Run one operation of the gateway, here or in a running service."
        ),
        "card": CommandEntry(
            "innkeeper.cli.prompt.card:card", "Look into character cards, check, convert and compare them."
        ),
        "chat": CommandEntry("innkeeper.cli.talk.chat:chat", "Chat with a card in the terminal."),
        "config": CommandEntry(
            "innkeeper.cli.settings.config:config", "Settle once what each command would have to be told."
        ),
        "db": CommandEntry(
            "innkeeper.cli.keep.db:db", "Look after the database of the library: schema, backups, imports, questions."
        ),
        "demo": CommandEntry(
            "innkeeper.cli.talk.demo:demo", "Show a whole turn: a card, its prompt, the answer of a local model."
        ),
        "keys": CommandEntry(
            "innkeeper.cli.settings.key_commands:keys", "Store keys of providers; no command shows one."
        ),
        "limits": CommandEntry(
            "innkeeper.cli.app.limits:limits", "List every limit: its default, its error, how it is set."
        ),
        "lint": CommandEntry(
            "innkeeper.cli.prompt.lint:lint", "Find what in cards, lorebooks and presets can never have an effect."
        ),
        "log": CommandEntry("innkeeper.cli.talk.log_commands:log", "Read what was said in ask and chat."),
        "logs": CommandEntry("innkeeper.cli.keep.db:logs", "Read the log of the library: calls, times, percentiles."),
        "lore": CommandEntry(
            "innkeeper.cli.prompt.lint:lore", "Try lorebooks against a chat, with a reason for every entry."
        ),
        "model": CommandEntry(
            "innkeeper.cli.keep.catalogue:model", "Keep the catalogue of models that the library answers for."
        ),
        "models": CommandEntry(
            "innkeeper.cli.talk.weights:models", "Install and list models that run on this machine."
        ),
        "negative": CommandEntry(
            "innkeeper.cli.keep.catalogue:negative", "Keep fragments of negative prompts, and see them joined."
        ),
        "parity": CommandEntry(
            "innkeeper.cli.prompt.build:parity", "Run golden cases of the originals and show where we differ."
        ),
        "provider": CommandEntry("innkeeper.cli.keep.catalogue:provider", "Keep the providers of models."),
        "replay": CommandEntry(
            "innkeeper.cli.prompt.build:replay", "Build a recorded prompt again and compare the bytes."
        ),
        "serve": CommandEntry("innkeeper.cli.app.service:serve", "Answer HTTP calls of prompt operations."),
        "template": CommandEntry(
            "innkeeper.cli.keep.template:template", "Keep prompt templates: versions, labels, which answers and why."
        ),
        "tier": CommandEntry(
            "innkeeper.cli.keep.tier:tier", "Decide which audience a text may be served for, and why."
        ),
        "tokens": CommandEntry(
            "innkeeper.cli.prompt.tokens:tokens", "Count the tokens of a text for one model or many."
        ),
        "tool": CommandEntry("innkeeper.cli.keep.catalogue:tool", "Keep the tools that models may call."),
        "vault": CommandEntry("innkeeper.cli.keep.vault:vault", "Keep secrets, encrypted; no command shows one."),
        "why": CommandEntry("innkeeper.cli.talk.log_commands:why", "Explain the prompt of a line of the log."),
    }
)


class LazyGroup(click.Group):
    """A group over a table of entries; commands added in the ordinary way come on top.

    Args:
        entries: the table, name -> entry.
        **options: what `click.Group` takes.
    """

    def __init__(self, *args: Any, entries: Mapping[str, CommandEntry], **options: Any) -> None:
        super().__init__(*args, **options)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, sorted."""
        return sorted({*self.entries, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of this name, or return None where there is none."""
        entry = self.entries.get(cmd_name)
        return super().get_command(ctx, cmd_name) if entry is None else _load(entry)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that ``args`` begin with; a near name is offered for one that does not exist.

        Raises:
            click.UsageError: no such command.
        """
        name = args[0]
        if not (name.startswith("-") or name in self.list_commands(ctx)):
            import difflib  # here, since a name is rarely wrong

            near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, importing none."""
        rows = [(name, self._help(ctx, name)) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def _help(self, ctx: click.Context, name: str) -> str:
        if name in self.entries:
            return self.entries[name].help
        command = super().get_command(ctx, name)
        return "" if command is None else command.get_short_help_str()


def _load(entry: CommandEntry) -> click.Command:
    module, _, attribute = entry.target.partition(":")
    command = getattr(import_module(module), attribute)
    if not isinstance(command, click.Command):
        raise TypeError(f"{entry.target} is not a click command")
    return command
