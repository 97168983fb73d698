"""JSON text: bounded, precise about what is wrong, and defined where the format is not."""

import json
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content import LIMITS, Finding, JsonError, decode_json, encode_json
from innkeeper.prompt.errors import InnkeeperError, LimitError, Where
from tests.content.builders import attempt, values


@given(value=values)
def test_what_is_written_is_read(value: object) -> None:
    """Any JSON value survives writing and reading, in every style."""
    for indent, ascii_only in ((None, False), (None, True), (2, False), (4, True)):
        assert decode_json(encode_json(value, indent=indent, ascii_only=ascii_only)) == value


@given(data=st.binary(max_size=60) | st.text(max_size=40))
def test_any_input_is_a_value_or_a_typed_error(data: bytes | str) -> None:
    """No input gets out another exception, and ours agrees with the standard library on what is JSON."""
    found = attempt(lambda: decode_json(data))
    if isinstance(found, InnkeeperError):
        assert isinstance(found, (JsonError, JsonError))
    else:
        assert found == json.loads(data) or "\\ud" in str(data).lower()


@dataclass(frozen=True)
class Broken:
    """Text that is not JSON, and where it stops being so."""

    name: str
    text: str
    line: int
    column: int


BROKEN = [
    Broken("empty", "", 1, 1),
    Broken("trailing comma", '{\n  "a": 1,\n}', 3, 1),
    Broken("single quotes", "{\n  'a': 1}", 2, 3),
    Broken("no value", '{"a":\n\n  }', 3, 3),
    Broken("two documents", "{}\n{}", 2, 1),
    Broken("raw newline in a string", '{"a": "x\ny"}', 1, 9),
    Broken("not a number", '{"é": NaN}', 1, 7),
    Broken("infinity", '["NaN",\n -Infinity]', 2, 2),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_errors_say_where(case: Broken) -> None:
    """Line and column count from 1, and the line itself is shown with a caret under the place."""
    with pytest.raises(JsonError) as caught:
        decode_json(case.text, name="card.json")
    where = caught.value.where
    assert where is not None
    assert (where.asset, where.line, where.column) == ("card.json", case.line, case.column)
    assert where.excerpt == case.text.split("\n")[case.line - 1]


def test_of_a_long_line_only_the_part_around_the_place_is_shown() -> None:
    """The excerpt is short, the column true, and the caret under the fault."""
    text = '{"a": "' + "x" * 5_000 + '", b}'
    with pytest.raises(JsonError) as caught:
        decode_json(text)
    where = caught.value.where
    assert where is not None
    assert where.column == text.index("b}") + 1
    assert len(where.excerpt or "") <= 120
    excerpt, caret = where.pointer().split("\n")
    assert excerpt[caret.index("^")] == "b"


def test_hints_for_the_usual_mistakes() -> None:
    """The error says how to mend what people get wrong most."""
    for text, hint in (("{'a': 1}", "double quotes"), ("   ", "empty")):
        with pytest.raises(JsonError) as caught:
            decode_json(text)
        assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("bracket", ["[", '{"a":'], ids=["list", "object"])
@pytest.mark.parametrize("depth", [65, 900, 100_000])
def test_depth_is_limited(bracket: str, depth: int) -> None:
    """Nesting beyond the limit is a typed error at any depth, closed or not."""
    close = "]" if bracket == "[" else "}"
    for text in (bracket * depth + "1" + close * depth, bracket * depth):
        with pytest.raises((LimitError, JsonError)):
            decode_json(text)
    with pytest.raises(LimitError) as caught:
        decode_json(bracket * depth + "1" + close * depth)
    assert caught.value.limit == "json_depth"


def test_depth_behind_a_lone_surrogate() -> None:
    """What only the second decoder gets to see is limited as well."""
    for depth in (70, 50_000):
        with pytest.raises(LimitError) as caught:
            decode_json('["\\ud800", ' + "[" * depth + "]" * depth + "]")
        assert caught.value.limit == "json_depth"


def test_depth_at_the_limit_passes() -> None:
    """Exactly 64 levels are allowed."""
    assert decode_json("[" * 64 + "]" * 64)


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ("json_keys", json.dumps({str(n): n for n in range(11)})),
        ("json_values", json.dumps(list(range(50)))),
        ("json_string_bytes", json.dumps("é" * 30)),
        ("json_string_bytes", json.dumps({"k" * 60: 1})),
        ("file_bytes", json.dumps("x" * 300)),
    ],
    ids=["keys", "values", "string", "key", "size"],
)
def test_sizes_are_limited(limit: str, text: str) -> None:
    """Each limit has an error with its name."""
    own = msgspec.structs.replace(LIMITS, json_keys=10, json_values=20, json_string_bytes=50, file_bytes=300)
    with pytest.raises(LimitError) as caught:
        decode_json(text, own)
    assert caught.value.limit == limit


def test_commas_in_strings_are_no_values() -> None:
    """Prose does not count towards the limit on values."""
    own = msgspec.structs.replace(LIMITS, json_values=20)
    assert decode_json(json.dumps({"a": ", [ { " * 100}), own)


def test_strings_longer_than_a_block_are_counted_out() -> None:
    """Counting goes by blocks; strings across their borders hold no values either."""
    own = msgspec.structs.replace(LIMITS, json_values=20)
    text = json.dumps(["," * 700_000, "[" * 1_500_000, "{" * 500_000])
    assert len(decode_json(text, own)) == 3
    with pytest.raises(LimitError):
        decode_json(json.dumps(["," * 1_500_000, *range(30)]), own)


def test_of_duplicate_keys_the_last_counts() -> None:
    """As in JavaScript; and it is said."""
    findings: list[Finding] = []
    assert decode_json('{"a": 1, "b": {"x": 1, "x": 2}, "a": 3}', findings=findings) == {"a": 3, "b": {"x": 2}}
    assert [finding.rule for finding in findings] == ["duplicate-key", "duplicate-key"]


def test_many_duplicates_cost_no_more_than_many_keys() -> None:
    """A hundred thousand duplicates are read, and a handful reported."""
    text = "{" + ",".join(f'"{n}":0' for n in [*range(50_000), *range(50_000)]) + "}"
    findings: list[Finding] = []
    assert len(decode_json(text, findings=findings)) == 50_000
    assert len(findings) == 20


@pytest.mark.parametrize("spelling", ['"a\\ud83dz"', '"a\\uDE00z"'], ids=["first half", "second half"])
def test_half_a_surrogate_pair_becomes_a_replacement_character(spelling: str) -> None:
    """A lone surrogate never enters; offsets stay as they were."""
    findings: list[Finding] = []
    assert decode_json(f'{{"k": {spelling}}}', findings=findings) == {"k": "a\ufffdz"}
    assert [finding.rule for finding in findings] == ["lone-surrogate"]
    assert decode_json('"\\ud83d\\ude00"') == "😀"


def test_lone_surrogates_are_never_written() -> None:
    """Text from elsewhere that has one is written with a replacement character."""
    assert encode_json({"a\ud800": "b\udc00"}) == '{"a\ufffd":"b\ufffd"}'.encode()
    assert decode_json('"\ud800"') == "\ufffd"


HUGE = ["[1e999]", "[" + "9" * 400 + ".5]", "[" + "9" * 5_000 + "]"]


@pytest.mark.parametrize("text", HUGE, ids=["exponent", "fraction", "too many digits"])
def test_numbers_that_no_double_holds_are_refused(text: str) -> None:
    """Such a number is an error, not an infinity; whole numbers are kept."""
    with pytest.raises(JsonError):
        decode_json(text)
    assert decode_json("[" + "9" * 400 + "]") == [10**400 - 1]


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"\xef\xbb\xbf" + b'{"a": "\xc3\xa9"}', "byte-order-mark"),
        ('{"a": "é"}'.encode("utf-16"), "utf-16"),
        ("\ufeff".encode("utf-16-be") + '{"a": "é"}'.encode("utf-16-be"), "utf-16"),
    ],
    ids=["utf-8 with a mark", "utf-16", "utf-16-be"],
)
def test_encodings_that_are_read(data: bytes, rule: str) -> None:
    """A byte order mark is passed over and UTF-16 read; both are said."""
    findings: list[Finding] = []
    assert decode_json(data, findings=findings) == {"a": "é"}
    assert [finding.rule for finding in findings] == [rule]


def test_other_encodings_are_refused_with_their_place() -> None:
    """A byte that is no UTF-8 is an error with line and column, and advice."""
    with pytest.raises(JsonError) as caught:
        decode_json('{\n "ä": "é"}'.encode("cp1252"), name="old.json")
    error = caught.value
    assert error.where == Where(asset="old.json", line=2, column=3, excerpt=' "\ufffd": "\ufffd"}')
    assert error.hint == "save the file as UTF-8"
    with pytest.raises(JsonError):
        decode_json(b"\xff\xfe{")


@pytest.mark.parametrize("value", [Ellipsis, {1j: 2}, float("nan"), {"a": {1, 2}}], ids=repr)
def test_what_is_no_data_is_not_written(value: object) -> None:
    """Objects, sets and numbers that JSON has not are refused with a typed error."""
    with pytest.raises(JsonError):
        encode_json(value, indent=1)


def test_a_value_that_holds_itself_is_not_written() -> None:
    """A cycle ends in a typed error."""
    value: list[object] = []
    value.append(value)
    for indent in (None, 2):
        with pytest.raises(JsonError):
            encode_json(value, indent=indent)


def test_utf_16_without_a_mark_is_named() -> None:
    """Text that is full of NULs gets a better error than the first of them."""
    for codec in ("utf-16-le", "utf-16-be"):
        with pytest.raises(JsonError, match="UTF-16 without its byte order mark"):
            decode_json('{"a": 1}'.encode(codec))


def test_counting_is_linear_on_strings_that_do_not_close() -> None:
    """Many values and then a string of escaped quotes without an end: refused, and at once."""
    data = b"[" + b"," * 2_000_001 + b'"' + b'\\"' * 2_000_000
    with pytest.raises((JsonError, LimitError)):
        decode_json(data)
    with pytest.raises((JsonError, LimitError)):
        decode_json(data + b"\\")
