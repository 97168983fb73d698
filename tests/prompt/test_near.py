"""Near misses among names: one suggester, for every name that a person types."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from innkeeper.prompt.near import NAME_CHARS, did_you_mean, near_names, nearest
from tests.cli.running import Run, runner
from tests.shared import ROOT

CARD = str(ROOT / "examples" / "wenna.png")
INSTALL = str(ROOT / "tests" / "vectors" / "silly" / "folder")


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("sily", ["risu", "silly", "vibe"], "silly"),
        ("SILLY", ["silly"], "silly"),
        ("Evning", ["Kept", "Evening in the inn"], "Evening in the inn"),
        ("x", ["silly"], None),
        ("", ["silly"], None),
        ("a" * (NAME_CHARS + 1), [], None),
    ],
)
def test_did_you_mean(name: str, known: list[str], near: str | None) -> None:
    """The likest name is offered, in any case, else one with such a word; where none is like it, what is said otherwise."""
    assert did_you_mean(name, known, "so") == (f"did you mean {near!r}?" if near else "so")


def test_near_names_are_the_likest_first() -> None:
    """As many as are asked for, whatever order they are known in."""
    known = ["port", "part", "parts"]
    assert near_names("parts", known, 2) == near_names("parts", reversed(known), 2) == ["parts", "part"]
    assert nearest("parts", known) == "parts"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """A command line of its own."""
    return runner(monkeypatch, capsys, tmp_path)


ASKED = (
    ("bild", "build"),
    ("admin templat list", "template"),
    ("fn enhance-promt x", "enhance-prompt"),
    ("build CARD --mesage hi", "--message"),
    ("build CARD --message x --tavern sily", "silly"),
    ("build CARD --message x --dialect antropic", "anthropic"),
    ("build CARD --message x --profile sillytavern-1.91", "sillytavern-1.19"),
    ("build CARD --message x --set mesage=1", "message"),
    ("build CARD --message x --limit secnds=1", "seconds"),
    ("build wena.png", "wenna.png"),
    ("build --sillytavern INSTALL --message x --character Mria", "Mira"),
    ("build --sillytavern INSTALL --message x --character Mira --chat Evning", "Evening in the inn"),
    ("build --sillytavern INSTALL --message x --group Celar", "The cellar"),
    ("build --sillytavern INSTALL --message x --preset Huose", "House"),
    ("build --sillytavern INSTALL --message x --user defualt-user", "default-user"),
    ("config set tavren x", "tavern"),
    ("ask hi --model opnai:gpt-4o", "openai"),
    ("models install smolm2", "smollm2"),
    ("admin template show chatt", "chat"),
)
"""What a person types, and the name that is offered."""


@pytest.mark.parametrize(("line", "near"), ASKED, ids=[line for line, _ in ASKED])
def test_every_name_that_a_person_types(run: Run, line: str, near: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command, option, tavern, model, preset, field, template, profile, entry or file that is nearly right is offered."""
    monkeypatch.chdir(ROOT / "examples")
    if "template" in line:
        assert run("admin", "template", "new", "chat", "--use-case", "chat", "--text", "Hello.").code == 0
    failed = run(*(CARD if word == "CARD" else INSTALL if word == "INSTALL" else word for word in line.split()))
    assert failed.code != 0
    assert re.search(f"[Dd]id you mean .*{re.escape(near)}", failed.err), failed.err


def test_there_is_one_suggester() -> None:
    """No module looks for near names by itself."""
    alone = [
        path.name for path in (ROOT / "src").rglob("*.py") if "get_close_matches" in path.read_text(encoding="utf-8")
    ]
    assert alone == ["near.py"]
