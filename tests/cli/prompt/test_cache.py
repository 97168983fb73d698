"""The command that simulates a cache: a table, data, a picture, a page."""

import json
from pathlib import Path

import pytest

from innkeeper.prompt.machine import HOME_VARIABLE
from tests.cli.running import Run
from tests.inference.local.test_model import WEIGHTS, installed
from tests.shared import ROOT

CARD = ROOT / "examples" / "wenna.png"


def chat(path: Path, turns: int = 6, times: int = 20) -> str:
    """A chat file of messages that say the same so many times."""
    lines = [{"name": "Ansel", "is_user": n % 2 == 0, "mes": f"{n} the ferry " * times} for n in range(2 * turns)]
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def test_simulate(run: Run, tmp_path: Path) -> None:
    """Each setting is a row; the picture and the page are written, and not over files that exist."""
    words = ("cache", "simulate", CARD, chat(tmp_path / "chat.jsonl"), "--model", "claude-sonnet-4-5")
    files = ("--svg", str(tmp_path / "a.svg"), "--html", str(tmp_path / "a.html"))
    found = run(*words, *files)
    assert found.code == 0
    assert [word for word in ("sliding", "stepped", "friendly", "frozen") if word in found.out] == [
        "sliding",
        "stepped",
        "friendly",
        "frozen",
    ]
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert "<table>" in (tmp_path / "a.html").read_text()
    assert run(*words, *files).code != 0
    made = run(*words, "--json").data
    assert [len(layout["turns"]) for layout in made["layouts"]] == [6] * 4


def test_plan(run: Run, tmp_path: Path) -> None:
    """What the cache reads of the second prompt after the first, as a table and as data."""
    words = ("cache", "plan", chat(tmp_path / "a.jsonl", 30), chat(tmp_path / "b.jsonl", 31), "--card", CARD)
    more = ("--model", "gpt-4o", "--provider", "openai", "--context-window", "32000")
    shown = run(*words, *more)
    assert (shown.code, "read from the cache" in shown.out) == (0, True)
    made = run(*words, *more, "--json").data
    assert made["provider"] == "openai"
    assert 0 < made["read"] < made["total"]


def test_errors(run: Run, tmp_path: Path) -> None:
    """A chat without turns, and a provider without rules, are errors with a hint."""
    assert run("cache", "simulate", CARD).code == 2
    words = ("cache", "simulate", CARD, chat(tmp_path / "chat.jsonl"))
    assert run(*words, "--provider", "nobody").code == 2


BLOCK = 16
"""Tokens that a prediction may be off: the smallest block of a cache that has blocks."""


@installed
@pytest.mark.parametrize("turns", [2, pytest.param(11, marks=pytest.mark.endurance)])
def test_predictions_are_what_a_real_cache_serves(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, turns: int
) -> None:
    """The local model's own count of reused tokens is the predicted one, within a block, for every turn and setting."""
    monkeypatch.setenv(HOME_VARIABLE, str(WEIGHTS.path.parents[1]))
    book = ROOT / "examples" / "larks.lorebook.json"
    words = ("cache", "simulate", CARD, chat(tmp_path / "chat.jsonl", turns, turns), "--lorebook", book, "--check")
    made = run(*words, "--context-window", "700", "--json").data
    assert made["provider"] == "local"
    for layout in made["layouts"]:
        first, *later = layout["turns"]
        assert (first["reported"], len(later)) == (None, turns - 1)
        assert [turn for turn in later if abs(turn["reported"] - turn["read"]) > BLOCK] == []
        assert min(turn["reported"] for turn in later) > 0
