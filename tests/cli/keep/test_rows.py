"""Values for rows: a file first, words over it, options over both; each read as its column takes it."""

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.keep.rows import row_values
from innkeeper.library.catalogue.rows import CatalogueModel
from innkeeper.library.db.tables.templates import api_models
from innkeeper.library.errors import TransferError
from innkeeper.prompt.data import freeze
from innkeeper.prompt.errors import FormatError, UnknownNameError


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("priority=3", 3),
        ("is_active=false", False),
        ('tasks=["t2i"]', ["t2i"]),
        ("model_family=7", "7"),
        ("model_family=", None),
        ("model_key=a=b", "a=b"),
    ],
)
def test_words(word: str, value: Any) -> None:
    """A word is JSON where its column is more than a text; an empty one is nothing where that may be."""
    assert list(row_values(api_models, (word,)).values()) == [value]


def test_what_counts_over_what(tmp_path: Path) -> None:
    """Options over words over the file; an option that is not given changes nothing."""
    path = tmp_path / "row.json"
    path.write_text(json.dumps({"priority": 1, "context_window": 1, "model_family": "a"}), "utf-8")
    values = row_values(api_models, ("priority=2", "context_window=2"), path, context_window=3, modality=None)
    assert values == {"priority": 2, "context_window": 3, "model_family": "a"}


@pytest.mark.parametrize(
    ("word", "file", "error", "words"),
    [
        ("colour=red", None, UnknownNameError, "colour"),
        ("priority=high", None, FormatError, "priority"),
        (None, '{"colour": 1}', UnknownNameError, "colour"),
        (None, "[1]", TransferError, "an object is needed"),
    ],
    ids=["no such column", "not a number", "no such column in a file", "not an object"],
)
def test_mistakes(word: str | None, file: str | None, error: type[Exception], words: str, tmp_path: Path) -> None:
    """A column that there is not, and a value that cannot be read, are named."""
    path = tmp_path / "row.json"
    path.write_text(file or "{}", "utf-8")
    with pytest.raises(error, match=words):
        row_values(api_models, (word,) if word else (), path if file else None)


def test_rows_are_plain_in_json() -> None:
    """What was frozen comes out as lists and objects."""
    assert json.dumps(CatalogueModel(model_key="m", tasks=("a",), capabilities=freeze({"b": [1]})).to_dict())
