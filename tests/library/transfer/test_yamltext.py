"""YAML as plain data: what is read, what is refused and where, and that writing and reading agree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.errors import TransferError
from innkeeper.library.transfer.yamltext import parse_yaml, write_yaml
from innkeeper.prompt.errors import InputError, LimitError

SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30)
TREES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(TREES)
def test_what_is_written_is_read(tree: Any) -> None:
    """Any plain data survives YAML, with its types: texts that look like numbers stay texts."""
    read, _ = parse_yaml(write_yaml(tree).decode(), asset="a")
    assert read == tree
    assert type(read) is type(tree)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text takes the reader down: it is data, or an error of ours with a place."""
    try:
        parse_yaml(text, asset="a")
    except InputError as error:
        assert error.where is not None  # noqa: PT017 - an error is one of two good outcomes


@pytest.mark.parametrize(
    ("text", "says", "line", "column"),
    [
        ("a: [1, 2\n", "not YAML", 2, 1),
        ("a: 1\nb: *x", "anchors and aliases", 2, 4),
        ("a: &x 1", "anchors and aliases", 1, 4),
        ("a: !!python/object:os.system x", "tags are not read", 1, 4),
        ("a: 1\na: 2", "stands here twice", 2, 1),
        ("? [1]\n: 2", "a key must be text", 1, 3),
        ("a: 1\n---\nb: 1", "a second document", 2, 1),
        ("a: 1\n\tb: 2", "not YAML", 2, 1),
        ("a: \x07", "not YAML", None, None),
    ],
)
def test_refused(text: str, says: str, line: int | None, column: int | None) -> None:
    """What is not plain data is refused with line and column."""
    with pytest.raises(TransferError, match=says) as caught:
        parse_yaml(text, asset="file.yaml")
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (line, column)


def test_depth_is_bounded() -> None:
    """Nesting without end is refused, whatever the size."""
    with pytest.raises(LimitError, match="nesting"):
        parse_yaml("[" * 500 + "]" * 500, asset="a")
    with pytest.raises(InputError):
        parse_yaml("[" * 100_000, asset="a")


def test_places() -> None:
    """Each value's line and column is known by its path."""
    tree, places = parse_yaml("a:\n  - x: 1\n    y: 'no'\nb: |\n  two\n  lines\n", asset="a")
    assert tree == {"a": [{"x": 1, "y": "no"}], "b": "two\nlines\n"}
    assert places["a", 0, "y"] == (3, 8)
    assert places["b",] == (4, 4)


def test_words_are_those_of_json() -> None:
    """Only JSON's words and numbers have types; dates, yes and octals are texts."""
    text = "[yes, no, on, 2026-01-15, 0x10, 010, 1_000, .5, 1e3, -7, null, ~, true, False]"
    tree, _ = parse_yaml(text, asset="a")
    assert tree == ["yes", "no", "on", "2026-01-15", "0x10", "010", "1_000", ".5", 1e3, -7, None, None, True, "False"]
    assert parse_yaml("", asset="a")[0] is None


def test_texts_of_several_lines_are_blocks() -> None:
    """A prompt is written as people would write it."""
    assert write_yaml({"b": "one\ntwo\n", "a": "1"}) == b"a: '1'\nb: |\n  one\n  two\n"
