"""Time and identifiers: where they come from, and what form they have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.columns import moment_text
from innkeeper.library.models.stores import ToolStore
from innkeeper.library.outside import MACHINE
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.machine import ulid


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**80 - 1))
def test_identifiers_have_one_form_and_sort_by_time(at: int, chance: int) -> None:
    """An identifier has 26 letters and digits, and one of a later millisecond sorts after it."""
    one, later = ulid(at, chance), ulid(at + 1, 0)
    assert len(one) == 26
    assert one < later or at == 2**48 - 1


def test_known_identifier() -> None:
    """The form is that of the published ULID specification: ten characters of time, sixteen of chance."""
    assert ulid(1_469_918_176_385, 0) == "01ARYZ6S41" + "0" * 16


def test_the_machine() -> None:
    """The machine's identifiers differ, and its clock is aware."""
    assert MACHINE.fresh_id() != MACHINE.fresh_id()
    assert MACHINE.now().now.tzinfo is not None


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("2026-01-15T12:34:56Z", "2026-01-15T12:34:56.000000Z"),
        ("2026-01-15 12:34:56.5+02:00", "2026-01-15T10:34:56.500000Z"),
        ("2026-01-15", "2026-01-15T00:00:00.000000Z"),
        ("0900-01-15T00:00:00", "0900-01-15T00:00:00.000000Z"),
    ],
)
def test_moments_have_one_form(given: str, text: str) -> None:
    """All moments are written in UTC with microseconds, equally long, so that text order is time order."""
    assert moment_text(given) == text


def test_no_moment() -> None:
    """What is no moment is refused."""
    with pytest.raises(FormatError, match="ISO 8601"):
        moment_text("tomorrow")


def test_rows_get_their_time_from_the_library(db: Database) -> None:
    """A row's date is the clock's that the library was opened with, and its identifier, too."""
    row = ToolStore(db).add({"name": "a"})
    assert row.created_at.startswith("2026-01-15T12:00:")
