"""Every limit of the package: named, documented, listed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from innkeeper.cli.app.limits import DATA, Limit, markdown
from scripts.limits import BUILD_LIMITS, data, named_limits
from tests.cli.running import Run

PAGE = Path(__file__).parents[3] / "docs" / "limits.md"


@pytest.fixture(scope="module")
def limits() -> list[Limit]:
    """All of them, read once."""
    return named_limits()


def test_every_limit_says_what_it_bounds_and_what_happens(limits: list[Limit]) -> None:
    """Its docstring has a sentence, and in parentheses the error, or what happens instead."""
    assert [limit for limit in limits if not limit.bounds.endswith(".")] == []
    assert [limit for limit in limits if not re.search(r"`\w+Error`|a note|no error", limit.beyond)] == []


def test_none_is_missed(limits: list[Limit]) -> None:
    """Each constant of such a name is in the table, whatever its value is made of."""
    source = Path(__file__).parents[3] / "src"
    named = {
        name
        for path in source.rglob("*.py")
        for name in re.findall(r"^(MAX_[A-Z_]+)(?:: Final)? = [^SL\n]", path.read_text("utf-8"), re.MULTILINE)
    }
    assert named == {limit.name for limit in limits if limit.name.startswith("MAX_")}


SET_ELSEWHERE = {"TIME_BUDGET", "calls", "rate", "spend", "tokens"}
"""What errors call limits that are settings of the service or of a key."""


def test_what_an_error_names_is_listed(limits: list[Limit]) -> None:
    """Whoever is told of a limit finds it in the table, by that name or as a field of it."""
    source = Path(__file__).parents[3] / "src"
    named = {
        name
        for path in source.rglob("*.py")
        for name in re.findall(r'(?:limit=|limit\()"([A-Za-z_]+)"', path.read_text("utf-8"))
    }
    assert named - {limit.name.rpartition(".")[2] for limit in limits} - SET_ELSEWHERE == set()


def test_it_says_how_a_limit_is_set(limits: list[Limit]) -> None:
    """By a request or an operator, by a field, or not at all."""
    by_name = {(limit.module, limit.name): limit.set for limit in limits}
    assert by_name["innkeeper.prompt.allowance", "MAX_BUILD_SECONDS"] == BUILD_LIMITS
    assert by_name["innkeeper.service.errors", "MAX_BODY"] == "`Settings.max_body`"
    assert by_name["innkeeper.lore.settings", "MAX_LOOPS"] == "fixed"


def test_the_page_is_current(limits: list[Limit]) -> None:
    """docs/limits.md holds the table of today (`python scripts/limits.py` writes it)."""
    assert markdown(limits) in PAGE.read_text("utf-8")


def test_the_data_is_current() -> None:
    """What the command lists is what the sources name (`python scripts/limits.py` writes it)."""
    assert data() == DATA.read_bytes()


def test_the_command_lists_them(run: Run, limits: list[Limit]) -> None:
    """As lines, as JSON, as a table, and only those that words choose."""
    assert len(json.loads(run("admin", "limits", "--json").out)) == len(limits)
    chosen = json.loads(run("admin", "limits", "--json", "patterns", "build_seconds").out)
    assert chosen == []
    assert [each["name"] for each in json.loads(run("admin", "limits", "--json", "max_build").out)] == [
        "MAX_BUILD_STEPS",
        "MAX_BUILD_OUTPUT",
        "MAX_BUILD_SECONDS",
    ]
    assert "MAX_LOOPS = 1,000" in run("admin", "limits", "loops").out
    assert run("admin", "limits", "--markdown").out == markdown(limits)
