"""Canonical JSON: total, deterministic, and readable again."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import FormatError, InnkeeperError, LimitError, UsageError, freeze, thaw
from innkeeper.prompt.canonical import parse_json, to_json
from tests.prompt.doubles import JSON, nested


@given(JSON)
def test_any_data_is_written_and_read_back(value: Any) -> None:
    """Frozen data comes back equal, lone surrogates and odd keys included."""
    data = thaw(freeze(value))
    assert parse_json(to_json(data), asset="x") == data


@given(JSON)
def test_what_is_written_is_ascii_json(value: Any) -> None:
    """Even data with lone surrogates becomes bytes that every JSON reader takes."""
    to_json(value).decode("ascii")


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=5))
def test_order_does_not_matter(data: dict[str, int]) -> None:
    """Equal data are equal bytes, in whatever order they were made."""
    assert to_json(data) == to_json(dict(reversed(data.items())))


def test_order_is_kept_on_request() -> None:
    """Data that will be read by something to which order matters keeps it."""
    assert to_json({"b": 1, "a": {"d": 1, "c": 2}}, sort=False) == b'{"b":1,"a":{"d":1,"c":2}}'


def test_keys_of_several_types_are_written_as_text() -> None:
    """A dict with number and text keys has one spelling."""
    assert to_json({"b": 1, 10: 2, 9: {None: 3}}) == b'{"10":2,"9":{"null":3},"b":1}'
    assert to_json({(1, 2): 3}) == b'{"(1, 2)":3}'


class Thing(msgspec.Struct):
    """A struct, which is data."""

    a: Any = 1


class Told:
    """An object that says what it is as data."""

    def to_dict(self) -> dict[str, Any]:
        return {"told": True}


def test_structs_and_objects_with_to_dict_are_data() -> None:
    """Values of our own are written by their fields."""
    assert to_json([Thing(), Told(), Thing(Told())]) == b'[{"a":1},{"told":true},{"a":{"told":true}}]'


@dataclass(frozen=True)
class BadCase:
    id: str
    value: Any
    error: type[InnkeeperError]


BAD = [
    BadCase("nan", {"a": float("nan")}, UsageError),
    BadCase("infinity", [float("inf")], UsageError),
    BadCase("object", {"a": object()}, UsageError),
    BadCase("bytes", {"a": b"x"}, UsageError),
    BadCase("bytes-in-a-struct", Thing(b"x"), UsageError),
    BadCase("moment-in-a-struct", Thing(datetime(2026, 1, 1, tzinfo=UTC)), UsageError),
    BadCase("deep", nested(100_000), LimitError),
    BadCase("deep-with-odd-keys", {1: nested(100_000), "a": 1}, LimitError),
    BadCase("huge-number", 10**5000, LimitError),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.id)
def test_what_is_not_data_is_a_typed_error(case: BadCase) -> None:
    """Nothing that cannot be written comes out as another exception, or as text that reads back differently."""
    with pytest.raises(case.error):
        to_json(case.value)


def test_a_cycle_is_a_typed_error() -> None:
    """Data that contains itself cannot be written."""
    loop: dict[str, Any] = {}
    loop["a"] = loop
    with pytest.raises(UsageError):
        to_json(loop)


@dataclass(frozen=True)
class ReadCase:
    id: str
    text: str | bytes
    error: type[InnkeeperError]
    line: int | None = None
    column: int | None = None


UNREADABLE = [
    ReadCase("broken", '{\n "a": }', FormatError, 2, 7),
    ReadCase("empty", "", FormatError, 1, 1),
    ReadCase("not-utf-8", b'{"a": "\xff"}', FormatError),
    ReadCase("nan", '{"a": NaN}', FormatError),
    ReadCase("infinity", "[-Infinity]", FormatError),
    ReadCase("deep", "[" * 100_000, LimitError),
    ReadCase("deep-and-closed", "[" * 500 + "]" * 500, LimitError),
    ReadCase("many-digits", "1" * 5000, FormatError),
]


@pytest.mark.parametrize("case", UNREADABLE, ids=lambda case: case.id)
def test_unreadable_text_says_where(case: ReadCase) -> None:
    """Text that is no JSON is a typed error with the asset and, where known, line and column."""
    with pytest.raises(case.error) as caught:
        parse_json(case.text, asset="it.json")
    where = caught.value.where
    assert where is not None
    assert (where.asset, where.line, where.column) == ("it.json", case.line, case.column)


def test_the_offending_line_is_shown_under_its_column() -> None:
    """The caret stands under the character that is wrong, also in a long line."""
    text = '{"long": "' + "x" * 500 + '" oops}'
    with pytest.raises(FormatError) as caught:
        parse_json(text, asset="it.json")
    excerpt, caret = caught.value.render().splitlines()[1:3]
    assert excerpt[caret.index("^")] == "o"


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_any_bytes_are_data_or_a_typed_error(text: Any) -> None:
    """The reader raises nothing else."""
    try:
        data = parse_json(text, asset="x")
    except InnkeeperError:
        return
    assert json.loads(text) == data
