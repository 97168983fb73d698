"""A user's registry: every kind of it, and what it may say."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.errors import ConfigError
from innkeeper.tokens import Entry
from innkeeper.tokens.registry import entries_of, lookup_of
from tests.tokens.doubles import Words

FAST = Entry(tokenizer_family="heuristic")
SLOW = Entry(tokenizer_family="cl100k_base")


class Shelf:
    """A registry with ``lookup``."""

    def lookup(self, model: str) -> Entry | None:
        return FAST if model == "fast" else None


KINDS = {
    "mapping": {"fast": FAST},
    "mapping of mappings": {"fast": {"tokenizer_family": "heuristic"}},
    "callable": lambda model: FAST if model == "fast" else None,
    "object": Shelf(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    """A mapping, a callable and an object with ``lookup`` answer alike."""
    ask = lookup_of(KINDS[kind])
    assert ask("fast") == FAST
    assert ask("other") is None


def test_exact_ids_before_globs_in_order() -> None:
    """An id wins over a glob that stands before it; of globs the first."""
    other = Entry(tokenizer_family="o200k_base")
    ask = lookup_of({"my-*": FAST, "my-slow": SLOW, "my-s*": other})
    assert [ask(model) for model in ("my-slow", "my-story", "mine")] == [SLOW, FAST, None]


@pytest.mark.parametrize("glob", ["a?c", "a*", "[a-c]bc"])
def test_globs(glob: str) -> None:
    """``*``, ``?`` and ``[`` make a glob."""
    assert lookup_of({glob: FAST})("abc") == FAST


def test_none_is_an_empty_registry() -> None:
    """No registry has no entries."""
    assert lookup_of(None)("x") is None


def test_an_engine_is_a_registry_for_everything() -> None:
    """One engine answers for every model and for none."""
    engine = Words()
    assert lookup_of(engine)("") is engine


def _fails(_model: str) -> Any:
    raise RuntimeError("broken registry")


@pytest.mark.parametrize("registry", [_fails, lambda _model: 7, {"x": "text"}, {"x": None}])
def test_what_cannot_be_used_is_no_entry(registry: Any) -> None:
    """A registry that fails, or answers with something else, has no entry."""
    assert lookup_of(registry)("x") is None


@pytest.mark.parametrize("registry", [7, object(), ["a"]])
def test_other_kinds_are_refused(registry: Any) -> None:
    """What cannot be asked is refused when the counter is made."""
    with pytest.raises(ConfigError):
        lookup_of(registry)


ENTRIES = {
    "keys written any way": (
        {"Tokenizer-Family": " HF-Tokenizers ", "tokenizer_PATH": "t.json"},
        "hf_tokenizers",
        "t.json",
    ),
    "blank path": ({"tokenizer_family": "tokenizers", "tokenizer_path": "  "}, "tokenizers", ""),
    "no family": ({}, "", ""),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_entries_are_normalised(name: str) -> None:
    """Keys and family are stripped, lower case, with underscores."""
    value, family, path = ENTRIES[name]
    entry = Entry.of(value)
    assert isinstance(entry, Entry)
    assert (entry.tokenizer_family, entry.tokenizer_path) == (family, path)


@pytest.mark.parametrize(
    ("value", "chars"),
    [(2, 2.0), ("3.5", 3.5), (0, 4.0), (-1, 4.0), ("many", 4.0), (None, None), (float("nan"), 4.0), ([], 4.0)],
)
def test_characters_per_token(value: Any, chars: float | None) -> None:
    """What is no positive number is 4; what is absent stays absent."""
    entry = Entry.of({"chars_per_token": value})
    assert isinstance(entry, Entry)
    assert entry.chars_per_token == chars


def test_unknown_fields_are_named() -> None:
    """A field nobody reads is kept by name, to be reported."""
    entry = Entry.of({"tokenizer_family": "heuristic", "Max Tokens": 9})
    assert isinstance(entry, Entry)
    assert entry.ignored == ("max tokens",)


def test_entries_of_lists_mappings_only() -> None:
    """Only a mapping can be listed; what is no entry in it is left out."""
    assert entries_of({"a": FAST, "b": 3}) == [FAST]
    assert entries_of(lambda _model: FAST) == []


@given(st.dictionaries(st.text(max_size=20), st.none() | st.integers() | st.floats() | st.text(max_size=9), max_size=6))
def test_any_mapping_is_an_entry(value: dict[str, Any]) -> None:
    """Whatever a mapping holds, reading it as an entry does not fail."""
    assert isinstance(Entry.of(value), Entry)
