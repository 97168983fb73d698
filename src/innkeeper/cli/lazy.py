"""A click group that imports a command only when it is run."""

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from innkeeper.cli.table import Entry

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """A group over a table of entries; commands added in the ordinary way come on top.

    Args:
        entries: the table, name -> entry.
        **options: what `click.Group` takes.
    """

    def __init__(self, *args: Any, entries: Mapping[str, Entry], **options: Any) -> None:
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


def _load(entry: Entry) -> click.Command:
    module, _, attribute = entry.target.partition(":")
    command = getattr(import_module(module), attribute)
    if not isinstance(command, click.Command):
        raise TypeError(f"{entry.target} is no click command")
    return command
