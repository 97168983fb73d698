"""Comparisons of outputs: rows that differ, came or went, and files that are no outputs."""

import json
from pathlib import Path

import pytest

from innkeeper.data import BatchSettings, compare_batches
from innkeeper.prompt import FormatError, UsageError
from tests.data.test_run import ROWS, SETTINGS, run, written


@pytest.mark.parametrize("kind", [".parquet", ".jsonl", ".csv"])
def test_rows_are_joined_by_their_ids(tmp_path: Path, kind: str) -> None:
    """A longer prompt, a row that is gone, a new one; all others are the same."""
    run(written(tmp_path / "old.jsonl"), tmp_path / f"a{kind}")
    rows = [
        {**ROWS[0], "message": "Longer than it was before, by some words."},
        *ROWS[2:],
        {"id": "new", "message": "x"},
    ]
    run(written(tmp_path / "new.jsonl", rows), tmp_path / f"b{kind}")
    compared = compare_batches(tmp_path / f"a{kind}", tmp_path / f"b{kind}")
    assert [(change.id, change.kind, change.parts) for change in compared.changes] == [
        ("r0", "changed", ("prompt",)),
        ("new", "added", ()),
        ("r1", "removed", ()),
    ]
    assert (compared.rows, compared.same) == (24, 21)
    assert compared.changes[0].tokens > 0
    assert "changed and prompt" in compared.tables()[0].to_text()
    assert compare_batches(tmp_path / f"a{kind}", tmp_path / f"a{kind}").changes == ()


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    """A file that is no output, a provider's batch file, and ids that occur twice."""
    source = written(tmp_path / "rows.jsonl")
    run(
        source,
        tmp_path / "body.jsonl",
        settings=BatchSettings(form="body", provider="openai", request=SETTINGS.request),
    )
    for name in ("rows.jsonl", "body.jsonl"):
        with pytest.raises(FormatError, match="fingerprint"):
            compare_batches(tmp_path / name, tmp_path / name)
    (tmp_path / "twice.jsonl").write_text(2 * (json.dumps({"id": "a", "fingerprint": "0"}) + "\n"))
    with pytest.raises(UsageError, match="two rows"):
        compare_batches(tmp_path / "twice.jsonl", tmp_path / "twice.jsonl")
