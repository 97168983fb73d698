"""Options that all commands share."""

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from innkeeper.cli.app.commands import CliSettings, CommandEntry, LazyGroup, json_option


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


MODULE = """
import click

@click.command()
def brew():
    click.echo("brewed")

not_a_command = 3
"""


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LazyGroup:
    """A group with commands in a module of its own, and one added by hand."""
    (tmp_path / "cellar_for_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cellar_for_test", raising=False)
    entries = {
        "brew": CommandEntry("cellar_for_test:brew", "Brew a barrel."),
        "broken": CommandEntry("cellar_for_test:not_a_command", "No command."),
    }
    lazy = LazyGroup("inn", entries=entries)
    lazy.add_command(click.Command("greet", callback=lambda: click.echo("hello"), help="Say hello."))
    return lazy


def test_help_imports_nothing(group: LazyGroup) -> None:
    """The help shows every command with its line, and imports none."""
    result = CliRunner().invoke(group, ["--help"])
    assert "brew    Brew a barrel." in result.output
    assert "greet   Say hello." in result.output
    assert "cellar_for_test" not in sys.modules


@pytest.mark.parametrize(("name", "output"), [("brew", "brewed\n"), ("greet", "hello\n")])
def test_command_runs(group: LazyGroup, name: str, output: str) -> None:
    """A command runs, whether it is in the table or was added by hand."""
    result = CliRunner().invoke(group, [name])
    assert (result.exit_code, result.output) == (0, output)


@pytest.mark.parametrize(("name", "offer"), [("brwe", " Did you mean 'brew'?"), ("xyzzy", "")])
def test_unknown_command_offers_a_near_one(group: LazyGroup, name: str, offer: str) -> None:
    """A slip of the finger is met with the name that was probably meant."""
    result = CliRunner().invoke(group, [name])
    assert result.exit_code == 2
    assert result.output.rstrip().endswith(f"No such command '{name}'.{offer}")


def test_entry_must_name_a_command(group: LazyGroup) -> None:
    """An entry that points at something else is a mistake in the table, and says so."""
    result = CliRunner().invoke(group, ["broken"])
    assert isinstance(result.exception, TypeError)
