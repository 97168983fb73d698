"""Values: types, caps, fences, what counts as empty, and the report."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library import limits
from innkeeper.library.errors import FieldError, MissingVariablesError
from innkeeper.library.templates.template import Variable
from innkeeper.library.templates.values import fenced, fill
from innkeeper.macros.engine.errors import MacroLimitError
from innkeeper.tokens import default_counter

COUNTER = default_counter()


def _fill(value: Any, **facts: Any) -> Any:
    return fill([Variable(name="a", **facts)], {"a": value})


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        ("text", "x", "x"),
        ("text", 3, "3"),
        ("text", True, "true"),
        ("number", 1.5, "1.5"),
        ("number", "12", "12"),
        ("boolean", False, "false"),
        ("list", ["a", 2, True], "a, 2, true"),
        ("list", ("a",), "a"),
        ("list", "a", "a"),
        ("text", "\ud800", "\ufffd"),
    ],
)
def test_types(type_: str, value: Any, text: str) -> None:
    """Each type takes its values, and they have one way to be written."""
    assert _fill(value, type=type_).texts == {"a": text}


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("text", ["a"]),
        ("text", {"a": 1}),
        ("text", object()),
        ("number", float("nan")),
        ("number", [1]),
        ("boolean", 1),
        ("list", [["a"]]),
        ("list", {"a": 1}),
    ],
)
def test_wrong_types(type_: str, value: Any) -> None:
    """What a variable does not take is an error with the path of the value."""
    with pytest.raises(FieldError) as caught:
        _fill(value, type=type_)
    assert caught.value.where is not None
    assert caught.value.where.path == "values.a"


def test_all_missing_are_listed() -> None:
    """Every required variable without a value is named, in the order of declaration; the status is 422."""
    variables = [Variable(name=name) for name in "zab"]
    with pytest.raises(MissingVariablesError) as caught:
        fill(variables, {"a": "x", "b": None})
    assert (caught.value.missing, caught.value.http_status) == (("z", "b"), 422)


def test_empty_text_is_a_value() -> None:
    """A text that is empty was given; only None and nothing are missing."""
    assert _fill("").texts == {"a": ""}


@pytest.mark.parametrize(
    ("value", "present"),
    [("x", True), ("", False), (" \n", False), (False, False), (True, True), (0, True), ([], False)],
)
def test_what_sections_see(value: Any, present: bool) -> None:
    """Sections hide what is false or blank; zero is a value."""
    filled = fill([Variable(name="a", type="list" if value == [] else "text")], {"a": value})
    assert ("a" in filled.present) is present


def test_defaults_and_ignored() -> None:
    """Where nothing is given the default stands; what nothing declares is reported."""
    filled = fill([Variable(name="a", default="d"), Variable(name="b", required=False)], {"c": 1, "z": 2, "b": None})
    assert (filled.texts, filled.ignored) == ({"a": "d", "b": ""}, ("c", "z"))
    assert [report.given for report in filled.reports] == ["default", "empty"]
    assert filled.data == {"a": "d", "b": None}


def test_data_for_liquid() -> None:
    """Numbers, truth values and lists stay what they are; what is fenced is text."""
    kinds = [
        Variable(name="n", type="number"),
        Variable(name="l", type="list"),
        Variable(name="f", type="number", fence=True),
    ]
    filled = fill(kinds, {"n": 3, "l": ["a", 1], "f": 4})
    assert filled.data == {"n": 3, "l": ["a", "1"], "f": fenced("f", "4")}


@pytest.mark.parametrize(
    ("values", "limit"),
    [
        ({"a": "x" * (limits.MAX_VALUE_CHARS + 1)}, "MAX_VALUE_CHARS"),
        ({"a": "x" * 10_000_000}, "MAX_VALUE_CHARS"),
        ({"a": ["x"] * (limits.MAX_VALUE_ITEMS + 1)}, "MAX_VALUE_ITEMS"),
        ({"a": 10**5000}, "MAX_VALUE_CHARS"),
        ({"a": "x" * 900_000, "b": "x" * 900_000, "c": "x" * 900_000}, "MAX_VALUES_CHARS"),
    ],
    ids=["long", "10 MB", "items", "digits", "together"],
)
def test_limits(values: dict[str, Any], limit: str) -> None:
    """Values that are too large are refused, each by its limit."""
    with pytest.raises(MacroLimitError) as caught:
        fill([Variable(name=name, type="list") for name in values], values)
    assert caught.value.limit == limit


def test_cap_keeps_whole_words() -> None:
    """A value over its cap keeps as many whole words as fit, and the report says what it lost."""
    filled = _fill("one two three four five six seven", max_tokens=3)
    report = filled.reports[0]
    assert filled.texts == {"a": "one two three"}
    assert (report.cut, report.tokens, report.lost_chars) == (True, 3, len(" four five six seven"))


def test_cap_splits_only_a_lone_word() -> None:
    """One word that is longer than its cap is cut inside."""
    filled = _fill("x" + "0123456789" * 20, max_tokens=5)
    assert 0 < len(filled.texts["a"]) < 30
    assert COUNTER.count(filled.texts["a"]) <= 5


def test_cap_of_a_long_value_looks_at_its_beginning() -> None:
    """A value far beyond its cap is cut to the same as its beginning alone."""
    long = "word " * 100_000
    assert (
        _fill(long, max_tokens=10).texts == _fill("word " * 400, max_tokens=10).texts == {"a": ("word " * 10).strip()}
    )


@given(st.text(max_size=200), st.integers(min_value=1, max_value=20))
def test_cap_holds(text: str, cap: int) -> None:
    """Whatever the text, what is kept is its beginning, within the cap; what fits stays as it is."""
    filled = _fill(text, max_tokens=cap)
    kept = filled.texts["a"]
    assert text.startswith(kept)
    assert COUNTER.count(kept) <= cap
    if COUNTER.count(text) <= cap:
        assert kept == text


def test_counting_on_request() -> None:
    """With a counter every value is counted."""
    filled = fill([Variable(name="a")], {"a": "one two"}, COUNTER)
    assert filled.reports[0].tokens == 2


@given(st.text(alphabet="<>am\n x", max_size=60))
def test_fence_cannot_be_broken(text: str) -> None:
    """The marks around a value do not occur in it, so it ends where it ends; the value itself is unchanged."""
    whole = fenced("a", text)
    opening, closing = whole.split("\n", 1)[0], whole.rsplit("\n", 1)[1]
    assert whole == f"{opening}\n{text}\n{closing}"
    assert opening not in text
    assert closing not in text
