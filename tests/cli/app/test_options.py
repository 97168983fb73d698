"""Options that all commands share."""

import click
import pytest
from click.testing import CliRunner

from innkeeper.cli.app.options import CliSettings, json_option


@click.command()
@json_option
def show(*, as_json: bool) -> None:
    """Say what was asked for."""
    click.echo(as_json)


@pytest.mark.parametrize(
    ("words", "before", "answer"),
    [([], None, False), (["--json"], None, True), ([], CliSettings(as_json=True), True), ([], CliSettings(), False)],
    ids=["not said", "said after", "said before", "said nowhere"],
)
def test_json_may_be_said_before_or_after_the_command(
    words: list[str], before: CliSettings | None, answer: bool
) -> None:
    """``--json`` counts on either side of the command's name."""
    assert CliRunner().invoke(show, words, obj=before).output == f"{answer}\n"
