"""``innkeeper logs``: calls are shown newest first, and their figures are exact."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.library.opening import ask, opened


@pytest.fixture
def used(run: Run, tmp_path: Path) -> Run:
    """A library that has prepared three prompts."""
    with opened(str(tmp_path / "home" / "innkeeper.db")) as library:
        for number in range(3):
            library.prepare(ask(text="a lighthouse", request_id=f"r{number}"))
    return run


def test_show(used: Run) -> None:
    """Rows are shown newest first, filtered by time, outcome, template and request."""
    rows = used("logs", "show", "--json").data["logs"]
    assert [row["request_id"] for row in rows] == ["r2", "r1", "r0"]
    assert "enhancement.sdxl.qwen_instruct.sfw@1" in used("logs", "show", "--limit", 1).out
    assert used("logs", "show", "--since", "1h", "--request", "r1", "--json").data["logs"][0]["request_id"] == "r1"
    assert used("logs", "show", "--status", "blocked", "--json").data == {"logs": []}
    assert used("logs", "show", "--template", "none", "--since", "2100-01-01", "--json").data == {"logs": []}


def test_stats(used: Run) -> None:
    """Figures are told for each template and for all, with how they were made."""
    data = used("logs", "stats", "--json").data
    assert (data["percentiles"], data["all"]["calls"]) == ("exact, nearest rank", 3)
    assert data["templates"][0]["template"] == "enhancement.sdxl.qwen_instruct.sfw"
    assert set(data["all"]["milliseconds"]["at"]) == {"50", "90", "95", "99"}
    assert "enhancement.sdxl.qwen_instruct.sfw  3" in used("logs", "stats", "--since", "all").out
    assert used("logs", "stats", "--since", "2100-01-01").code == 0


def test_no_time(run: Run) -> None:
    """A time that is none is an error that says how to write one."""
    found = run("logs", "stats", "--since", "yesterday", "--json")
    assert (found.code, found.error["kind"]) == (65, "format")
