"""A plan as a page: it shows every text and reason, and runs and loads nothing."""

import re
from pathlib import Path

import pytest

from innkeeper.budget import accounting
from innkeeper.cli.app.plan_page import plan_page, window_svg
from innkeeper.cli.app.root import main
from innkeeper.prompt import BuildRequest, Plan
from innkeeper.taverns import build

HOSTILE = "<script>alert(1)</script><img src=https://x.example onerror=a()>\"' & \x1b[31m\u202e"


@pytest.fixture
def plan() -> Plan:
    """A plan whose every text is hostile, with an entry that fires, one that does not, and a turn that is left out."""
    entries = [
        {"uid": n, "key": [key], "content": HOSTILE, "comment": HOSTILE} for n, key in enumerate(("reef", "fog"))
    ]
    fields = {
        "character": {"name": "<b>W</b>", "description": HOSTILE, "character_book": {"entries": entries}},
        "lorebooks": [{"name": HOSTILE, "entries": {str(entry["uid"]): entry for entry in entries}}],
        "history": [{"role": "user", "content": f"old {HOSTILE} " * 40}] * 8,
        "message": "the reef",
        "tavern": "silly",
        "model": "gpt-4o",
        "context_window": 700,
        "reserved_tokens": 100,
    }
    return build(BuildRequest.of(fields))


def test_page(plan: Plan) -> None:
    """Every verdict and every note is on it, and each text is escaped."""
    page = plan_page(plan, accounting(plan))
    assert page.count("<td>in</td>") == 2
    assert page.count("<td>out</td>") == 2
    assert "left out" in page
    assert not re.search(r"<(script|img|b|link|iframe)\b", page)
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert not re.search(r"(src|href)=", page.replace("src=https://x.example", ""))


def test_picture(plan: Plan) -> None:
    """The parts of the bar are what is used and what is reserved."""
    figures = accounting(plan)
    parts = re.findall(r">[\w ]+ ([\d,]+)</text>", window_svg(figures))
    assert sum(int(part.replace(",", "")) for part in parts) == figures.total + figures.reserve


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`build` writes both files, and overwrites neither unless it is told to."""
    page, picture = tmp_path / "p.html", tmp_path / "p.svg"
    words = ["build", "examples/wenna.png", "--message", "hi", "--html", str(page), "--svg", str(picture)]
    assert main(words) == 0
    assert page.read_text().startswith("<!doctype html>")
    assert picture.read_text().startswith("<svg")
    written = page.read_bytes()
    assert main(words) != 0
    assert page.read_bytes() == written
    assert main([*words, "--force"]) == 0
    assert "wrote" in capsys.readouterr().err
