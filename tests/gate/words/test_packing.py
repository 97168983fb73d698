"""The packed tables: they are what the data of the languages gives, and say the same of a word in any kind of view."""

import pytest

from innkeeper.gate.words.packing import packed
from innkeeper.gate.words.tables import slips, tables, unspaced
from innkeeper.gate.words.vocabulary import owners_of
from tests.shared import ROOT

TABLES = ROOT / "src/innkeeper/gate/data/tables"


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    """The tables, made now."""
    return packed()


@pytest.mark.parametrize("name", ["tables", "unspaced", "slips"])
def test_the_packaged_tables_are_those_of_the_data(made: dict[str, bytes], name: str) -> None:
    """Where they are not: ``python scripts/gate.py --write``."""
    assert (TABLES / f"{name}.json").read_bytes() == made[name]


def test_a_word_has_what_it_stands_for() -> None:
    """What a line leaves out is what the word itself says."""
    line = next(line for line in tables().words["schoolgirl"].split("\n") if line.startswith("schoolgirl \t")).split(
        "\t"
    )
    ((_, term),) = owners_of("schoolgirl", tables().meanings[int(line[1])])
    assert line[0] == "schoolgirl "
    assert (term.entry, term.category) == ("age.schoolgirl", "age")


def test_numbers_and_slips() -> None:
    """Numbers in words of languages without spaces, and words with a slip of the hand."""
    assert unspaced().numbers["十五"] == 15
    assert "sixten" in slips()["si"]["sixteen"].split(" ")
