"""What all commands share: the settings of one run and the options that set them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

__all__ = ["CliSettings", "json_option"]

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


def _or_before(ctx: click.Context, _param: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click's signature
    settings = ctx.find_object(CliSettings)
    return value or (settings is not None and settings.as_json)
