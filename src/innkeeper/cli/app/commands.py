"""Commands: the table of all commands, loaded when one is named, and the options that several share."""

from collections.abc import Callable, Mapping
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


def json_option(command: F) -> F:
    """Add ``--json`` to a command as its argument ``as_json``; the option before the command's name counts too."""
    return click.option(
        "--json", "as_json", is_flag=True, callback=_or_before, help="Answer with JSON, also when it fails."
    )(command)


def print_result(facts: Any, text: str, *, as_json: bool) -> None:
    """Print facts as one line of JSON, or the text."""
    import json  # here, since few runs print it

    click.echo(json.dumps(facts, ensure_ascii=False) if as_json else text)


def examples(*lines: str) -> str:
    """Return shell lines as the epilog of a command's help."""
    return "\b\n" + "\n".join(("Examples:", *(f"  {line}" for line in lines)))


def _or_before(ctx: click.Context, _param: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click's signature
    settings = ctx.find_object(CliSettings)
    return value or (settings is not None and settings.as_json)


class CommandEntry(NamedTuple):
    """One command: ``target`` is ``module:attribute`` of a click command or group, ``help`` one short sentence."""

    target: str
    help: str


SECTIONS: Final[Mapping[str, Mapping[str, CommandEntry]]] = MappingProxyType(
    {
        # heading: name: CommandEntry("innkeeper.cli.room.name:name", "What it does, in a line."), in the order of need.
        "Begin here": {
            "demo": CommandEntry("innkeeper.cli.talk.demo:demo", "Run one full turn with a model on this machine."),
            "examples": CommandEntry(
                "innkeeper.cli.talk.demo:examples", "Write the example cards and chats into a folder."
            ),
            "ask": CommandEntry("innkeeper.cli.talk.commands:ask", "Send one message to a card and print the reply."),
            "chat": CommandEntry("innkeeper.cli.talk.commands:chat", "Chat with a card, or with several."),
            "build": CommandEntry("innkeeper.cli.prompt.build:build", "Build a prompt and explain it."),
            "inspect": CommandEntry("innkeeper.cli.app.inspect:inspect", "View and edit a prompt live in the browser."),
            "why": CommandEntry("innkeeper.cli.talk.log_commands:why", "Explain the prompt behind a logged message."),
            "log": CommandEntry("innkeeper.cli.talk.log_commands:log", "Read and search the conversation log."),
            "config": CommandEntry("innkeeper.cli.settings.config:config", "Set defaults for all commands."),
            "keys": CommandEntry(
                "innkeeper.cli.settings.key_commands:keys", "Store providers' API keys; none is ever shown."
            ),
            "models": CommandEntry("innkeeper.cli.talk.weights:models", "Install models that run on this machine."),
        },
        "Cards, lore, tokens": {
            "card": CommandEntry("innkeeper.cli.prompt.card:card", "Show, validate, convert and compare cards."),
            "lint": CommandEntry("innkeeper.cli.prompt.lint:lint", "Find entries and settings that have no effect."),
            "lore": CommandEntry("innkeeper.cli.prompt.lint:lore", "Test lorebooks against a chat."),
            "tokens": CommandEntry("innkeeper.cli.prompt.tokens:tokens", "Count tokens for one model or many."),
            "diff": CommandEntry("innkeeper.cli.prompt.diff:diff", "Compare the prompts that two files give."),
            "regress": CommandEntry(
                "innkeeper.cli.prompt.regress:regress", "Check what new inputs change in a corpus of chats."
            ),
            "batch": CommandEntry(
                "innkeeper.cli.prompt.batch:batch", "Build datasets of prompts from rows of requests."
            ),
            "cache": CommandEntry(
                "innkeeper.cli.prompt.cache:cache", "Simulate a provider's cache over a chat's turns."
            ),
            "replay": CommandEntry(
                "innkeeper.cli.prompt.build:replay", "Build a recorded prompt again and compare the bytes."
            ),
            "parity": CommandEntry(
                "innkeeper.cli.prompt.build:parity", "Run the golden cases of the original systems."
            ),
        },
        "Prompts, pictures and workers": {
            "enhance-prompt": CommandEntry(
                "innkeeper.cli.tasks.enhance:enhance_prompt", "Write a prompt for an image or video model."
            ),
            "playground-chat": CommandEntry(
                "innkeeper.cli.tasks.talk:playground_chat", "Take a turn of a conversation."
            ),
            "roleplay-chat": CommandEntry("innkeeper.cli.tasks.talk:roleplay_chat", "Take a turn with a character."),
            "character-suggestions": CommandEntry(
                "innkeeper.cli.tasks.talk:character_suggestions", "Suggest parts of a character."
            ),
            "generate-scene": CommandEntry(
                "innkeeper.cli.tasks.scene:generate_scene", "Generate an image of a moment of a story."
            ),
            "queue-job": CommandEntry("innkeeper.cli.tasks.media:queue_job", "Generate an image or a video."),
            "fal-image": CommandEntry("innkeeper.cli.tasks.media:fal_image", "Generate one at fal."),
            "replicate-image": CommandEntry("innkeeper.cli.tasks.media:replicate_image", "Generate one at Replicate."),
            "get-active-worker-url": CommandEntry(
                "innkeeper.cli.tasks.media:get_active_worker_url", "Print the address of a worker."
            ),
        },
        "Operation": {
            "profile": CommandEntry(
                "innkeeper.cli.prompt.profile:profile", "Bundle a card and its assets under a model name."
            ),
            "serve": CommandEntry("innkeeper.cli.app.service:serve", "Run the HTTP service."),
            "call": CommandEntry("innkeeper.cli.app.service:call", "Run one gateway operation, here or in a service."),
            "image": CommandEntry("innkeeper.cli.run.jobs:image", "Generate an image."),
            "video": CommandEntry("innkeeper.cli.run.jobs:video", "Generate a video."),
            "job": CommandEntry("innkeeper.cli.run.jobs:job", "List, control and run image and video jobs."),
            "worker": CommandEntry(
                "innkeeper.cli.run.worker:worker", "Run a worker that executes requests for services."
            ),
            "route": CommandEntry("innkeeper.cli.route.route:route", "Explain where requests are routed."),
            "admin": CommandEntry("innkeeper.cli.run.prompt:admin", "Run prompts of model tools."),
            "mcp": CommandEntry("innkeeper.cli.mcp.command:mcp", "Serve card tools to an assistant over MCP."),
            "library": CommandEntry("innkeeper.cli.keep.group:library", "Administer the library's database."),
            "limits": CommandEntry("innkeeper.cli.app.limits:limits", "List every limit, and how it is set."),
            "completion": CommandEntry("innkeeper.cli.settings.completion:completion", "Set up shell completion."),
        },
    }
)
"""The commands by section, in the order of the help."""

COMMANDS: Final[Mapping[str, CommandEntry]] = MappingProxyType(
    {name: entry for section in SECTIONS.values() for name, entry in section.items()}
)
"""All commands by name."""

MOVED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        name: ("library", name)
        for name in ("db", "logs", "model", "negative", "provider", "template", "tier", "tool", "vault")
    }
)
"""Former names of commands, and their new ones."""


class LazyGroup(click.Group):
    """A group over a table of entries; commands added in the ordinary way come on top.

    Args:
        entries: the table, name -> entry.
        sections: the same by headings for the help, if there are several.
        moved: former names and the words that replace them; they still work, with a hint.
        **options: arguments of `click.Group`.
    """

    def __init__(
        self,
        *args: Any,
        entries: Mapping[str, CommandEntry],
        sections: Mapping[str, Mapping[str, CommandEntry]] = MappingProxyType({}),
        moved: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.entries = entries
        self.sections = sections
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
        name = args[0]
        known = self.list_commands(ctx)
        if name in self.moved and name not in known:
            now = self.moved[name]
            if not (ctx.resilient_parsing or "--json" in args or (ctx.obj and ctx.obj.as_json)):
                click.echo(f"innkeeper: {name} is called {' '.join(now)} now", err=True)
            return super().resolve_command(ctx, [*now, *args[1:]])
        if not (name.startswith("-") or name in known):
            import difflib  # here, since a name is rarely wrong

            near = difflib.get_close_matches(name, [*known, *self.moved], n=1)
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, importing none."""
        sections = {heading: list(names) for heading, names in self.sections.items()}
        listed = {name for names in sections.values() for name in names}
        if rest := [name for name in self.list_commands(ctx) if name not in listed]:
            sections["Commands"] = rest
        for heading, names in sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self._help(ctx, name)) for name in names])

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
