"""Options that all commands share."""

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from innkeeper.cli.app.commands import CliSettings, CommandEntry, LazyGroup, json_option
from innkeeper.cli.app.root import main
from innkeeper.cli.app.table import SECTIONS


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


@pytest.fixture
def moved() -> LazyGroup:
    """A group whose command ``brew`` was at the top before."""
    cellar = LazyGroup("cellar")
    cellar.add_command(click.Command("brew", callback=lambda: click.echo("brewed"), help="Brew a barrel."))
    inn = LazyGroup("inn", moved={"brew": "cellar make", "cellar make": "cellar brew"})
    inn.add_command(cellar)
    return inn


@pytest.mark.parametrize("former", ["brew", "cellar make"])
def test_former_names_go_on(moved: LazyGroup, former: str) -> None:
    """A command's former name does the same, with a note on stderr; programs that read JSON are not disturbed by it."""
    result = CliRunner().invoke(moved, former.split())
    assert (result.stdout, result.stderr) == ("brewed\n", f"innkeeper: {former} is called cellar brew now\n")
    assert CliRunner().invoke(moved, former.split(), obj=CliSettings(as_json=True)).stderr == ""
    assert CliRunner().invoke(moved, ["brwe"]).output.rstrip().endswith("Did you mean 'brew'?")


def test_sections() -> None:
    """The help shows sections in their order, then what is in none; brief commands are names alone, former ones absent."""
    greet, nod = CommandEntry("nowhere:greet", "Say hello."), CommandEntry("nowhere:nod", "Nod.")
    inn = LazyGroup("inn", sections={"First": {"greet": greet, "nod": nod}}, brief=("nod",), moved={"hail": "greet"})
    inn.add_command(click.Command("leave"))
    output = CliRunner().invoke(inn, ["--help"]).output
    offsets = [output.index(part) for part in ("First:", "greet  Say hello.", "\n  nod\n", "Commands:", "leave")]
    assert offsets == sorted(offsets)
    assert "hail" not in output


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_help_is_as_wide_as_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line of the help but an example is wider than the terminal, and nothing is lost."""
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    text, _, _ = out.partition("Examples:")
    assert max(map(len, text.splitlines())) <= columns
    assert SECTIONS["More"]["admin"].help in " ".join(text.split())
