"""``innkeeper admin`` and ``innkeeper fn``: the operators' commands, and the functions of the gateway."""

import click

from innkeeper.cli.app.commands import LazyGroup, examples
from innkeeper.cli.app.table import ADMIN, FUNCTIONS


@click.group(
    cls=LazyGroup,
    sections=ADMIN,
    epilog=examples(
        "innkeeper admin backup monday.zip",
        "innkeeper admin db upgrade",
        "innkeeper admin template list",
        "innkeeper admin vault set openrouter",
    ),
)
def admin() -> None:
    """Operate a service and its library: templates, models, secrets, workers, jobs, routes, limits.

    `ask` and `chat` do not need the library: their keys are in `innkeeper keys`, their messages in `innkeeper log`.
    """


@click.group(
    cls=LazyGroup,
    entries=FUNCTIONS,
    epilog=examples(
        'innkeeper fn enhance-prompt "a fox in snow"', 'innkeeper fn roleplay-chat "Hello" --card mira.png'
    ),
)
def fn() -> None:
    """Call a function of the gateway by its name, here or in a service with --remote."""
