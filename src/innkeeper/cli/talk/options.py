"""The options of commands that talk: who answers, with which tools, and the log; they load nothing heavy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from innkeeper.cli.settings.completion import offered, provider_names

F = TypeVar("F", bound=Callable[..., Any])


def talk_options(command: F) -> F:
    """Give a command the options that say who answers."""
    return click.option(
        "--base-url",
        metavar="URL|NAME",
        shell_complete=offered(provider_names),
        help="Where the model is: an address, or the name of a provider.",
    )(command)


def tool_options(command: F) -> F:
    """Give a command the options that name tools."""
    for option in (
        click.option(
            "--tool",
            "functions",
            metavar="FILE.py:FUNCTION",
            multiple=True,
            help="Let the model call this Python function, which runs here; repeatable.",
        ),
        click.option(
            "--mcp",
            "servers",
            metavar="COMMAND",
            multiple=True,
            help="Run this MCP server here and let the model call its tools; repeatable.",
        ),
    ):
        command = option(command)
    return command


def log_options(command: F) -> F:
    """Give a command the options of the log: going on with what is in it (``resume``, ``conversation``), staying out of it."""
    for option in reversed(
        (
            click.option("-c", "--continue", "resume", is_flag=True, help="Go on with the last conversation."),
            click.option(
                "--conversation", type=int, metavar="NUMBER", help="Go on with this one of `innkeeper log list`."
            ),
            click.option("--no-log", is_flag=True, help="Keep nothing of this in the log."),
        )
    ):
        command = option(command)
    return command
