"""The catalogue of known models: ids as people write them, dates of prices, and an operator's file laid over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from innkeeper.prompt.errors import FormatError, UnavailableError
from innkeeper.tokens.table.catalogue import (
    SHIPPED,
    KnownModel,
    known_model,
    known_window,
    near_model,
    read_catalogue,
    use_catalogue,
)


@pytest.fixture(autouse=True)
def shipped() -> Iterator[None]:
    """Leave the shipped catalogue behind."""
    yield
    use_catalogue(None)


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o", 128_000),
        ("openai/gpt-4o-mini:free", 128_000),
        ("gpt-4o-2024-08-06", 128_000),
        ("gpt-4-0613", 8_192),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000),
        ("claude-3-5-sonnet-latest", 200_000),
        ("claude-opus-5-5", 1_000_000),
        ("models/gemini-2.5-flash", 1_048_576),
        ("meta-llama/Llama-3.1-8B-Instruct", 131_072),
        ("mistral-large-latest", 131_072),
        ("harbour-7b", None),
        ("gpt-4o-tern", None),
        ("", None),
        (None, None),
    ],
)
def test_windows_by_any_spelling_of_an_id(model: str | None, window: int | None) -> None:
    """An id counts with a vendor, a date, or a variant; a model that nobody knows has no window."""
    assert known_window(model) == window


def test_rows_are_dated_and_sound() -> None:
    """Each price has its date, each row says something, and no name stands in two rows."""
    names = [name for row in SHIPPED.models for name in row.names]
    assert len(names) == len(set(names))
    assert SHIPPED.date
    assert SHIPPED.sources
    for row in SHIPPED.models:
        assert row.window is not None
        assert row.output is None or row.output <= row.window
        assert row.price is None or "2025-01-01" <= row.price.date <= SHIPPED.date


def test_every_exact_name_finds_its_own_row() -> None:
    """No glob, and no row before it, hides a row."""
    for row in SHIPPED.models:
        for name in row.names:
            if not set("*?[:") & set(name):
                assert SHIPPED.find(name) is row, name


def test_an_operators_file_is_laid_over_the_shipped_one(tmp_path: Path) -> None:
    """Its rows win, as globs too; what it does not name stays."""
    file = tmp_path / "models.json"
    file.write_text('{"date": "2026-01-01", "models": [{"names": ["gpt-4o"], "window": 4096}, {"names": ["tern-*"]}]}')
    use_catalogue(file)
    assert (known_window("gpt-4o"), known_window("gpt-4")) == (4_096, 8_192)
    assert known_model("tern-7b") == KnownModel(("tern-*",))
    use_catalogue(None)
    assert known_window("gpt-4o") == 128_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"date": "x"}',
        '{"date": "x", "models": [{"names": ["a"], "window": 0}]}',
        '{"date": "x", "models": [{"names": ["a"], "windw": 1}]}',
        '{"date": "x", "models": [{"names": ["a"], "price": {"provider": "p", "date": "d", "input": -1, "output": 0}}]}',
    ],
)
def test_no_catalogue(tmp_path: Path, text: str) -> None:
    """A file that is none is refused by its name."""
    file = tmp_path / "models.json"
    file.write_text(text)
    with pytest.raises(FormatError, match=r"models\.json"):
        read_catalogue(file)


def test_no_file(tmp_path: Path) -> None:
    """A file that is not there is refused by its name."""
    with pytest.raises(UnavailableError, match=r"none\.json"):
        read_catalogue(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("model", "near"),
    [("gpt4o", "gpt-4o"), ("openai/gpt-4oo", "gpt-4o"), ("harbour-7b", None), ("", None)],
)
def test_near_misses(model: str, near: str | None) -> None:
    """A mistyped id has its listed neighbour; a name of one's own has none."""
    assert near_model(model) == near
