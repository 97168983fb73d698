"""``innkeeper admin tier check``: the decision, its reasons and its places, and never the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.keep.test_template import enable_adults
from tests.cli.running import Run

CHECK = ("admin", "tier", "check")


def test_a_plain_text(run: Run) -> None:
    """A plain text is allowed in the general tier."""
    found = run(*CHECK, "a lighthouse at dawn")
    assert found.code == 0
    assert "may go on   yes" in found.out
    data = run(*CHECK, "a lighthouse at dawn", "--json").data
    assert (data["effective"], data["decision"], data["passed"]) == ("sfw", "allow", True)
    assert data["detector_version"]
    assert run(*CHECK).code == 0


def test_adult_is_not_granted(run: Run, tmp_path: Path) -> None:
    """The adult tier needs the policy and the record; without either the answer is the general tier and why."""
    words = (*CHECK, "a lighthouse", "--content-mode", "nsfw", "--json")
    assert run(*words).data["reasons"] == ["ceiling:account", "ceiling:policy"]
    record = enable_adults(run, tmp_path)
    assert run(*words).data["reasons"] == ["ceiling:account"]
    granted = run(*words, "--age-record", record).data
    assert (granted["effective"], granted["passed"]) == ("nsfw", True)
    rated = (*words, "--age-record", record, "--character-rating", "nsfw")
    assert run(*rated).data["reasons"] == ["ceiling:character"]
    assert run(*rated, "--declared-age", 30).data["effective"] == "nsfw"
    assert run(*rated, "--declared-age", 17).data["effective"] == "sfw"
    record.write_text(record.read_text().replace("2099", "2001"))
    assert run(*words, "--age-record", record).data["effective"] == "sfw"


def test_a_block(run: Run, tmp_path: Path) -> None:
    """A block exits with 65, tells places and categories, not the text, and is an audit event."""
    path = tmp_path / "text.txt"
    path.write_text("canary a nude 12 year old")
    found = run(*CHECK, "--file", path)
    assert found.code == 65
    assert "age_ambiguous" in found.out
    assert "canary" not in found.out + found.err
    data = run(*CHECK, "--file", "-", "--json", input=path.read_bytes())
    assert (data.code, data.data["decision"]) == (65, "block")
    events: Any = run(
        "admin", "db", "query", "SELECT details FROM audit_events WHERE action = 'tier.block'", "--json"
    ).data
    assert len(events["rows"]) == 2
    assert "canary" not in str(events)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("x", "--file", "-"), "usage"),
        (("x", "--as", "user_tex"), "unknown_name"),
        (("--file", "nowhere"), "missing_file"),
    ],
    ids=["both", "entry", "file"],
)
def test_mistakes(run: Run, words: tuple[str, ...], kind: str) -> None:
    """Each mistake is told by its kind."""
    assert run(*CHECK, *words, "--json").error["kind"] == kind
