"""Rows of a catalogue: a struct a table, tolerant of what other programs wrote."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from sqlalchemy import Table

from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.rows import CatalogueModel, CatalogueNegative, CatalogueProvider, read_row
from innkeeper.library.db.tables.templates import api_models, api_providers, negative_prompts
from innkeeper.prompt.errors import FormatError


@pytest.mark.parametrize(
    ("table", "kind"),
    [(api_models, CatalogueModel), (api_providers, CatalogueProvider), (negative_prompts, CatalogueNegative)],
)
def test_a_struct_has_the_columns_of_its_table(table: Table, kind: type[msgspec.Struct]) -> None:
    """Every column has a field."""
    assert list(kind.__struct_fields__) == table.c.keys()


def test_a_row_becomes_a_struct() -> None:
    """Columns are fields; NULL is the default; what has no field is left out."""
    row = {
        "model_key": "m",
        "tasks": ["t2i"],
        "capabilities": {"char_limit": 9},
        "context_window": None,
        "created_at": "",
    }
    found = read_row({**row, "tier_ceiling": "nsfw", "avg_generation_time": 3}, CatalogueModel)
    assert (found.tasks, found.capabilities["char_limit"], found.context_window) == (("t2i",), 9, None)
    assert (found.tier_ceiling, found.avg_generation_time, found.is_active) == (Tier.NSFW, 3.0, True)


@pytest.mark.parametrize("odd", [[], "text", 7, [1]])
def test_json_of_another_kind_counts_as_empty(odd: Any) -> None:
    """What SQL may write into a JSON column makes no row unreadable."""
    columns = dict.fromkeys(("input_defaults", "capabilities", "tokenizer", "pricing"), odd)
    found = read_row({"model_key": "m", "tasks": "t2i", **columns}, CatalogueModel)
    assert found == CatalogueModel(model_key="m")


@pytest.mark.parametrize("odd", ["NSFW", "adult", 1, ""])
def test_an_unknown_tier_is_the_general_one(odd: Any) -> None:
    """A ceiling that cannot be read lets nothing through that a known one would not."""
    assert read_row({"id": "p", "tier_ceiling": odd}, CatalogueProvider).tier_ceiling is Tier.SFW


def test_a_plain_column_of_another_type_is_refused() -> None:
    """SQLite stores any value in any column: the error names the row and the field."""
    with pytest.raises(FormatError, match="priority") as info:
        read_row({"model_key": "m", "priority": "high"}, CatalogueModel)
    assert info.value.where is not None
    assert info.value.where.path == "m"
