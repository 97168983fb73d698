"""The options that name assets and configure a build, shared by all commands; they load nothing heavy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from innkeeper.cli.settings.completion import (
    TAVERN_NAMES,
    cards,
    files,
    folders,
    in_folder,
    model_names,
    offered,
    presets,
    profiles,
)

F = TypeVar("F", bound=Callable[..., Any])

TAVERN: Final = "silly"
"""The tavern for files that name none."""

STDIN: Final = "-"
"""The file name that stands for standard input."""


def asset_options(command: F) -> F:
    """Add the options that name assets and configure a build to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def install_options(command: F) -> F:
    """Add the options for a SillyTavern folder to a command."""
    for option in reversed(_INSTALL_OPTIONS):
        command = option(command)
    return command


def turn_options(command: F) -> F:
    """Add the options for the chat and what is said in it to a command."""
    for option in reversed(_TURN_OPTIONS):
        command = option(command)
    return command


_TURN_OPTIONS: Final = (
    click.option(
        "--chat",
        metavar="FILE",
        shell_complete=files,
        help="The chat so far, JSON lines or JSON; with --sillytavern the name of a chat there.",
    ),
    click.option("--message", metavar="TEXT", help="What the user says now."),
    click.option(
        "--greeting",
        type=int,
        metavar="N",
        help="Which of the card's greetings a chat that is not given begins with: 0.",
    ),
)

_INSTALL_OPTIONS: Final = (
    click.option(
        "--sillytavern",
        metavar="FOLDER",
        shell_complete=folders,
        help="A SillyTavern user folder, data folder or install, with what is selected there. It is only read.",
    ),
    click.option(
        "--linked",
        metavar="FOLDER",
        shell_complete=folders,
        multiple=True,
        help="A folder outside of it that links in it may lead to, as where characters lie on another disk; repeatable.",
    ),
    click.option(
        "--character",
        metavar="NAME",
        shell_complete=in_folder("characters"),
        help="The character whose chat to open in that folder; in a group, the speaker.",
    ),
    click.option("--group", metavar="NAME", help="The group whose chat to open in that folder."),
    click.option(
        "--user",
        metavar="HANDLE",
        shell_complete=in_folder("users"),
        help="The user of that install, if there are several.",
    ),
)

_OPTIONS: Final = (
    click.option("--card", metavar="FILE", shell_complete=cards, help="The character: PNG, JSON, CHARX or BYAF."),
    click.option("--persona", metavar="FILE", shell_complete=files, help="The user's persona."),
    click.option(
        "--lorebook",
        metavar="FILE",
        shell_complete=files,
        multiple=True,
        help="A lorebook in addition to the card's own; repeatable.",
    ),
    click.option(
        "--preset",
        metavar="FILE",
        shell_complete=presets,
        multiple=True,
        help="A preset or template; with --sillytavern also by name.",
    ),
    click.option(
        "--tavern",
        metavar="NAME",
        shell_complete=offered(lambda: TAVERN_NAMES),
        help=f"The tavern that builds the prompt (default: {TAVERN}, unless a file or setting names another).",
    ),
    click.option(
        "--profile",
        metavar="FOLDER|NAME",
        shell_complete=profiles,
        help="A profile (card, persona, preset, lorebooks, model), or the name of a variant of the tavern's rules.",
    ),
    click.option(
        "--model",
        metavar="NAME",
        shell_complete=offered(model_names),
        help="The model: its name, an alias, PROVIDER:NAME, or local.",
    ),
    click.option("--now", metavar="TIME", help="Time of the build, such as 2026-01-15T12:34:56Z."),
    click.option("--seed", type=int, help="Random seed."),
    click.option(
        "--context-window", type=click.IntRange(min=0), metavar="TOKENS", help="The model's context window, in tokens."
    ),
    click.option("--reserve", type=click.IntRange(min=0), metavar="TOKENS", help="Tokens reserved for the reply."),
    click.option(
        "--limit",
        "limits",
        metavar="NAME=NUMBER",
        multiple=True,
        help="A limit of the build: seconds, steps or output (characters), such as seconds=5; repeatable.",
    ),
    click.option("--strict", is_flag=True, help="Treat each warning of the build as an error."),
    click.option(
        "--set",
        "settings",
        metavar="FIELD=JSON",
        multiple=True,
        help="Any field of the request, such as options.top_p=0.9.",
    ),
)
