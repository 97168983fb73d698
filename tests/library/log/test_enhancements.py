"""The log of calls: hashes and counts, and texts only where they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.db.engine import Database
from innkeeper.library.errors import TemplateNotFoundError, TierBlockedError
from innkeeper.library.library import Library
from innkeeper.library.log.enhancements import Done, failed_row, prepared_row, text_digest
from innkeeper.library.log.logs import EnhancementLog
from innkeeper.library.prepare.preparation import Preparation
from innkeeper.prompt.errors import InnkeeperError
from tests.library.opening import ask, opened, published
from tests.library.outsides import Counted

SECRET = "a boat called Marigold"


@pytest.fixture
def dialect() -> str:
    """A file is enough: the tables of the log are tested on both databases."""
    return "sqlite"


@pytest.fixture
def library(url: str) -> Iterator[Library]:
    """A library with one template in production."""
    with opened(url) as found:
        published(found)
        found.refresh()
        yield found


@given(st.none() | st.text())
def test_a_digest_is_that_of_the_text(text: str | None) -> None:
    """SHA-256 of UTF-8 for any text, lone surrogates included; nothing for none."""
    expected = None if text is None else sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    assert text_digest(text) == expected


def test_the_row_of_an_answer_holds_no_text(library: Library, db: Database) -> None:
    """A row fits its table, says what came of the call, and holds neither what went in nor what came out."""
    prepared = Preparation(library, ask(text=SECRET, values={"subject": "x"}), "id-9", strict=False).run()
    done = Done(output="The ship Rosalind.", output_tokens=4, latency_ms={"model": 5.0}, cost_usd=0.5)
    row = prepared_row(prepared, done)
    assert (row["status"], row["request_id"], row["template_version"]) == ("ok", "id-9", 1)
    assert (row["input_sha256"], row["output_sha256"]) == (text_digest(SECRET), text_digest(done.output))
    assert row["execution_time_ms"] == row["latency_ms"]["total"] == round(prepared.latency_ms["total"] + 5, 3)
    assert not any(word in str(row) for word in ("Marigold", "Rosalind"))
    assert EnhancementLog(db).add(row) > 0


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (TierBlockedError("block", "sfw", ("age",), ()), "blocked", "tier_blocked"),
        (TemplateNotFoundError("nothing answers"), "error", "template_not_found"),
    ],
    ids=["blocked", "failed"],
)
def test_the_row_of_a_failure(db: Database, error: InnkeeperError, status: str, code: str) -> None:
    """A call that failed has a row with the error's kind and the time it took, and nothing of the text."""
    row = failed_row(ask(text=SECRET), "id-9", error, latency_ms={"total": 3.0})
    assert (row["status"], row["error_code"], row["execution"]) == (status, code, "none")
    assert (row["execution_time_ms"], row["input_sha256"]) == (3.0, text_digest(SECRET))
    assert "Marigold" not in str(row)
    assert EnhancementLog(db).add(row) > 0


ROW = failed_row(ask(), "id", TemplateNotFoundError("x"))


@pytest.mark.parametrize(("days", "stored"), [(0, {}), (-1, {}), (1, {"input": "a", "output": "b\ufffd"})])
def test_texts_are_stored_only_where_that_is_wanted(db: Database, days: int, stored: dict[str, str]) -> None:
    """Without days no text is stored; with days, what the database cannot hold of it is mended."""
    log = EnhancementLog(db)
    assert log.contents(log.add(ROW, {"input": "a\0", "output": "b\ud800"}, days=days)) == stored


def test_texts_go_when_their_time_is_over(db: Database, outside: Counted) -> None:
    """A text past its date is not given any more, goes with the next row that has texts, and the row stays."""
    log = EnhancementLog(db)
    old = log.add(ROW, {"input": "a"}, days=1)
    outside.moment += timedelta(days=2)
    assert log.contents(old) == {}
    new = log.add(ROW, {"input": "b"}, days=1)
    assert log.purge() == 0
    assert (log.contents(old), log.contents(new)) == ({}, {"input": "b"})
    outside.moment += timedelta(days=2)
    assert log.purge() == 1
