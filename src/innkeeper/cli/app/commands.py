"""Commands that are loaded when one is named, and the options that several share."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class CliSettings:
    """Options before the command's name. Commands get them with ``@click.pass_obj``.

    ``as_json``: answers and errors are JSON. ``debug``: unexpected errors show their traceback.
    """

    as_json: bool = False
    debug: bool = False


SELECTED: Final = "innkeeper.selected"
"""The key of a context's ``meta`` for the path of ``--jq``."""


def json_option(command: F) -> F:
    """Add ``--json`` to a command as its argument ``as_json``, and ``--jq``; the option before the command's name counts too."""
    command = click.option(
        "--json", "as_json", is_flag=True, callback=_or_before, help="Answer with JSON, also when it fails."
    )(command)
    text = "Print only this part of the JSON answer, such as usage.total or models[].name."
    return click.option("--jq", metavar="PATH", callback=_select, is_eager=True, expose_value=False, help=text)(command)


def print_json(facts: Any, *, indent: int | None = None, err: bool = False) -> None:
    """Print `json_text`."""
    click.echo(json_text(facts, indent=indent), err=err)


def json_text(facts: Any, *, indent: int | None = None) -> str:
    """Return an answer as JSON; with ``--jq`` the parts that it names, one a line, texts without quotes."""
    import json  # here, since few runs print it

    context = click.get_current_context(silent=True)
    path = None if context is None else context.meta.get(SELECTED)
    text = json.dumps(facts, ensure_ascii=False, default=str, indent=indent)
    if path is None:
        return text
    from innkeeper.cli.app.selection import path_parts, select

    parts = select(json.loads(text), path_parts(path))
    return "\n".join(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts)


def print_result(facts: Any, text: str, *, as_json: bool) -> None:
    """Print the facts as JSON, or the text."""
    print_json(facts) if as_json else click.echo(text)


def examples(*lines: str) -> str:
    """Return shell lines as the epilog of a command's help."""
    return "\b\n" + "\n".join(("Examples:", *(f"  {line}" for line in lines)))


def _or_before(ctx: click.Context, _param: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click's signature
    settings = ctx.find_object(CliSettings)
    return value or SELECTED in ctx.meta or (settings is not None and settings.as_json)


def _select(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None and not ctx.resilient_parsing:
        from innkeeper.cli.app.selection import path_parts

        path_parts(value)  # a path that is none is refused before anything is done
        ctx.meta[SELECTED] = value


def asks_for_json(words: Sequence[str]) -> bool:
    """Whether the words of a command line ask for JSON, without parsing them."""
    return any(word == "--json" or word.partition("=")[0] == "--jq" for word in words)


class CommandEntry(NamedTuple):
    """One command: ``target`` is ``module:attribute`` of a click command or group, ``help`` one short sentence."""

    target: str
    help: str


def renamed(words: Sequence[str], moved: Mapping[str, str]) -> tuple[list[str], str]:
    """Return ``words`` with the former spelling that they begin with replaced, and a note about it (empty: nothing was)."""
    now, rest = list(words), len(words)
    while length := next((n for n in (3, 2, 1) if n <= len(now) and " ".join(now[:n]) in moved), 0):
        rest = min(rest, len(now) - length)
        now[:length] = moved[" ".join(now[:length])].split()
    before, after = words[: len(words) - rest], now[: len(now) - rest]
    return now, f"{' '.join(before)} is called {' '.join(after)} now" if before else ""


class LazyGroup(click.Group):
    """A group over a table of entries; commands added in the ordinary way come on top.

    Args:
        entries: the table, name -> entry.
        sections: the table by headings of the help, if there are several.
        brief: names that the help lists without descriptions, at the end of their section.
        moved: former spellings and those that replace them; they still work, with a note.
        **options: arguments of `click.Group`.
    """

    def __init__(
        self,
        *args: Any,
        entries: Mapping[str, CommandEntry] = MappingProxyType({}),
        sections: Mapping[str, Mapping[str, CommandEntry]] = MappingProxyType({}),
        brief: Collection[str] = (),
        moved: Mapping[str, str] = MappingProxyType({}),
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.entries = {**entries, **{name: entry for names in sections.values() for name, entry in names.items()}}
        self.sections = sections
        self.brief = brief
        self.moved = moved

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, sorted."""
        return sorted({*self.entries, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of this name; None if there is none."""
        entry = self.entries.get(cmd_name)
        return super().get_command(ctx, cmd_name) if entry is None else _load(entry)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that ``args`` begin with; the error for an unknown one suggests a near name.

        Raises:
            click.UsageError: no such command.
        """
        args, note = renamed(args, self.moved)
        if note and not (ctx.resilient_parsing or asks_for_json(args) or (ctx.obj and ctx.obj.as_json)):
            click.echo(f"innkeeper: {note}", err=True)
        name, known = args[0], self.list_commands(ctx)
        if not (name.startswith("-") or name in known):
            from innkeeper.prompt.near import nearest  # here, since a name is rarely wrong

            near = nearest(name, [*known, *self.moved])
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {near!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, importing none."""
        sections = {heading: list(names) for heading, names in self.sections.items()}
        listed = {name for names in sections.values() for name in names}
        if rest := [name for name in self.list_commands(ctx) if name not in listed]:
            sections["Commands"] = rest
        for heading, names in sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self._help(ctx, name)) for name in names if name not in self.brief])
                if brief := [name for name in names if name in self.brief]:
                    formatter.write_text(", ".join(brief))

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
