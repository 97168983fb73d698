"""A part of a JSON answer, by a path."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from innkeeper.cli.app.selection import path_parts, select
from innkeeper.prompt.errors import InnkeeperError, UnknownNameError, UsageError
from tests.cli.running import Run, runner

ANSWER: Mapping[str, Any] = {"a": {"b": 1, "x y": None}, "list": [{"n": "one"}, {"n": "two"}], "0": "zero"}


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("", [ANSWER]),
        (".", [ANSWER]),
        ("a.b", [1]),
        (".a.x y", [None]),
        ("list[0].n", ["one"]),
        ("list[-1].n", ["two"]),
        (".list[].n", ["one", "two"]),
        ("list[]", ANSWER["list"]),
        ("0", ["zero"]),
    ],
)
def test_select(path: str, parts: list[Any]) -> None:
    """Keys, numbers and all items, from the outside in."""
    assert list(select(ANSWER, path_parts(path))) == parts


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("a.c", UnknownNameError, "known: b, x y"),
        ("lisst[0]", UnknownNameError, "did you mean 'list'?"),
        ("a.b.c", UnknownNameError, "'c'"),
        ("a[0]", UsageError, "for a list"),
        ("list[2]", UsageError, "2 items"),
        ("list[x]", UsageError, "no path"),
        ("a..b", UsageError, "no path"),
        ("a.", UsageError, "no path"),
    ],
)
def test_paths_that_lead_nowhere(path: str, error: type[InnkeeperError], words: str) -> None:
    """What is not there, or is no path, is told with what is near."""
    with pytest.raises(error) as caught:
        list(select(ANSWER, path_parts(path)))
    assert words in caught.value.render()


def test_option(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    """``--jq`` asks for JSON and prints the part alone, texts without quotes; errors are JSON too."""
    run: Run = runner(monkeypatch, capsys, tmp_path)
    assert run("admin", "limits", "max_build", "--jq", "[0].name").out == "MAX_BUILD_STEPS\n"
    assert run("keys", "list", "--jq", "keys").out == "[]\n"
    assert run("config", "show", "tavern", "--jq", ".source").out == "default\n"
    assert run("config", "show", "tavern", "--jq=.sorce").error["hint"] == "did you mean 'source'?"
    refused = run("config", "show", "tavern", "--jq", "a..b")
    assert (refused.code, json.loads(refused.err)["error"]["kind"]) == (2, "usage")
