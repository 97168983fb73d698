"""What the commands of the library share: reading of words, and tables that hold whatever they are given."""

from __future__ import annotations

import click
import pytest

from innkeeper.cli.keep.library import pairs, print_table
from tests.cli.running import Run


def test_pairs() -> None:
    """A value may hold the sign itself; a word without it is wrong usage."""
    assert pairs(["a=b=c", "d="], "--value") == {"a": "b=c", "d": ""}
    for word in ("a", "=b"):
        with pytest.raises(click.UsageError):
            pairs([word], "--value")


def test_tables(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value is shown as text that drives no terminal and is no markup; wide rows become one line a value."""
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(("a", "b"), [(None, True), (1.5, ("x", 2)), ("[red]\x1b[0m", {"k": False})])
    out = capsys.readouterr().out
    assert "[red]\\x1b[0m" in out
    assert '{"k": false}' in out
    assert "1.5" in out
    assert "x, 2" in out
    print_table([str(number) for number in range(12)], [range(100, 112)])
    assert "11  111" in capsys.readouterr().out


def test_a_history_names_somebody(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who changes something is who says so, else whoever is logged in; a blank is nobody, and refused."""
    monkeypatch.setenv("LOGNAME", "wren")
    create = ("admin", "template", "new", "--use-case", "chat", "--text", "Hi.", "--json")
    assert run(*create, "a").code == 0
    assert run(*create, "b", "--who", " ann ").code == 0
    for blank in ("", "  "):
        refused = run(*create, "c", "--who", blank)
        assert (refused.code, "a name is needed" in refused.out + refused.err) == (2, True)
    rows = run("admin", "db", "query", "SELECT created_by FROM templates ORDER BY name", "--json").data["rows"]
    assert [row["created_by"] for row in rows] == ["wren", "ann"]
    assert len(run("admin", "template", "list", "--json").data["templates"]) == 2
