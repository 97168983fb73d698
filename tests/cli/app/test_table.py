"""The tree of commands: one screen at the top, verbs from one list, an example everywhere, former spellings that lead on."""

import re
from collections.abc import Iterator

import click
import pytest

from innkeeper.cli.app.root import main, root
from innkeeper.cli.app.table import ADMIN, BRIEF, FUNCTIONS, MOVED, SECTIONS

SCREEN = 40
"""Lines of a terminal that the first page of the help may take."""

VERBS = (
    "list show set remove new edit import export check diff test build run render search path install convert extract embed "
    "explain resolve publish rollback label query upgrade status backup restore init rotate invite drain release default "
    "rebuild stats cancel retry purge letters plan simulate submit"
)
"""What a command of a group may be called; one word for one act."""


def walk(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    """The context of each command, groups before what is in them."""
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from walk(below, click.Context(below, parent=context, info_name=name))


CONTEXTS = {each.command_path: each for each in walk(root, click.Context(root, info_name="innkeeper"))}
LEAVES = {path: each for path, each in CONTEXTS.items() if not isinstance(each.command, click.Group)}
TABLES = {**SECTIONS, **ADMIN, "fn": FUNCTIONS}


def test_first_page_fits_a_screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The help has every command of the top, on a terminal of 80 columns and 40 lines."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= SCREEN
    assert all(f"  {name}" in out or name in BRIEF for name in root.list_commands(CONTEXTS["innkeeper"]))


@pytest.mark.parametrize("heading", TABLES)
def test_help_lines(heading: str) -> None:
    """Each line of the help is a sentence that fits."""
    assert all(entry.help.endswith(".") and len(entry.help) <= 80 for entry in TABLES[heading].values())


@pytest.mark.parametrize("path", CONTEXTS)
def test_command_has_help(path: str) -> None:
    """Every command says what it does, first in one sentence."""
    assert (CONTEXTS[path].command.help or "").strip()


@pytest.mark.parametrize("path", CONTEXTS)
def test_command_has_an_example(path: str) -> None:
    """Every command shows itself, or one below it, used; what it shows are commands and options that there are."""
    lines = [part for line in (CONTEXTS[path].command.epilog or "").splitlines() for part in re.split("&&|;|#", line)]
    shown = [line[line.rindex("innkeeper ") :].split() for line in lines if f"{path} " in f"{line} "]
    assert shown or path == "innkeeper"
    for words in shown:
        end = next(n for n in range(len(words), 0, -1) if " ".join(words[:n]) in CONTEXTS)
        context = CONTEXTS[" ".join(words[:end])]
        below = [each.command for name, each in CONTEXTS.items() if name.startswith(context.command_path)]
        options = {option for command in below for param in command.params for option in param.opts}
        assert {word for word in words if word.startswith("--")} <= options, words


def test_verbs() -> None:
    """In a group, one word means one act."""
    words = {
        path.split()[-1] for path in LEAVES if len(path.split()) > (3 if path.startswith("innkeeper admin") else 2)
    }
    assert {word for word in words if word not in FUNCTIONS} <= set(VERBS.split())


@pytest.mark.parametrize("former", MOVED)
def test_former_spelling_leads_to_a_command(former: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What has moved is hidden, goes on working, and says its present name."""
    assert f"innkeeper {former}" not in CONTEXTS
    assert main([*former.split(), "--help"]) == 0
    out, err = capsys.readouterr()
    now = out.split()[1:]
    path = " ".join(now[: next(i for i, word in enumerate(now) if not word.islower() or word == "[OPTIONS]")])
    assert path in CONTEXTS
    assert err == f"innkeeper: {former} is called {path.removeprefix('innkeeper ')} now\n"
