"""Tolerant reading of fields: best effort, and a finding for each value of a wrong type."""

from typing import Any

import pytest
from hypothesis import given

from innkeeper.content.json.record import FindingCollector, Record, as_flag, as_integer, as_number, as_role, as_text
from tests.content.builders import values


def record(**raw: Any) -> Record:
    """A record at ``data`` of its document."""
    return Record(raw, ("data",), FindingCollector(100))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (5, "5"),
        (5.0, "5"),
        (0.5, "0.5"),
        (True, "true"),
        (False, "false"),
        (None, None),
        ([], None),
        ({}, None),
    ],
    ids=repr,
)
def test_texts(value: Any, text: str | None) -> None:
    """Scalars become text as JavaScript would write them; nothing else does."""
    assert as_text(value) == text


@pytest.mark.parametrize(
    ("value", "flag"),
    [
        *(
            (True, True),
            (False, False),
            (1, True),
            (0, False),
            (0.5, True),
            ("yes", True),
            (" TRUE ", True),
            ("on", True),
        ),
        *(("no", False), ("", False), ("off", False), ("0", False), ("maybe", None), ([], None), (None, None)),
    ],
    ids=repr,
)
def test_flags(value: Any, flag: bool | None) -> None:
    """Booleans from numbers and from the usual words."""
    assert as_flag(value) is flag


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *((1, 1), (1.5, 1.5), ("7", 7), (" 0.5 ", 0.5), (True, 1), ("x", None), ("", None), (None, None), ([], None)),
        *(("nan", None), ("1e999", None), (float("inf"), None), (2**60, None), (10**400, None)),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_numbers(value: Any, number: float | None) -> None:
    """Finite numbers that a double holds, also from text."""
    assert as_number(value) == number
    assert as_integer(value) == (None if number is None else int(number))


@pytest.mark.parametrize(
    ("value", "role"),
    [
        *((0, "system"), (1, "user"), (2, "assistant"), ("1", "user"), ("System", "system"), ("bot", "assistant")),
        *((3, None), ("bogus", None), (None, None), (True, None), (1.0, None)),
    ],
    ids=repr,
)
def test_roles(value: Any, role: str | None) -> None:
    """SillyTavern's numbers and every usual name."""
    assert as_role(value) == role


@given(value=values)
def test_every_getter_takes_any_value(value: Any) -> None:
    """Whatever stands in a field, each getter gives a value of its type, and a finding unless the type was right."""
    read = record(f=value)
    assert isinstance(read.text("f"), str)
    assert isinstance(read.flag("f"), bool)
    assert isinstance(read.integer("f", default=0), int)
    assert isinstance(read.number("f", default=0), (int, float))
    assert isinstance(read.role("f"), str)
    assert isinstance(read.mapping("f"), dict)
    assert isinstance(read.items("f"), list)
    assert all(isinstance(item, str) for item in read.texts("f"))
    assert all(isinstance(item, Record) for item in read.records("f"))
    assert bool(read.findings.done()) or value is None


def test_a_right_value_is_no_finding() -> None:
    """Values of the right type pass in silence, absent and null ones too."""
    read = record(t="x", f=True, i=3, n=0.5, m={}, l=["a"], none=None)
    assert (read.text("t"), read.flag("f"), read.integer("i"), read.number("n")) == ("x", True, 3, 0.5)
    assert (read.mapping("m"), read.texts("l"), read.text("none"), read.text("absent")) == ({}, ("a",), "", "")
    assert read.findings.done() == ()


def test_the_first_name_that_is_present_counts() -> None:
    """Other names of a field are looked at in turn; null counts as absent."""
    assert record(new=None, old=5).integer("new", "old") == 5
    assert record(new=1, old=5).integer("new", "old") == 1


def test_findings_say_the_path() -> None:
    """Each finding has the field's place in the document."""
    read = record(a=5, l=["x", 7, None], r=[{}, 3])
    read.text("a")
    assert read.texts("l") == ("x", "7", "")
    assert len(read.records("r")) == 1
    assert [finding.path for finding in read.findings.done()] == ["data.a", "data.l[1]", "data.l[2]", "data.r[1]"]


def test_one_text_counts_as_a_list_of_it() -> None:
    """Where a list of texts should be, one text is taken for it, unless it is empty."""
    assert record(f="a").texts("f") == ("a",)
    assert record(f="").texts("f") == ()


def test_findings_are_bounded() -> None:
    """Beyond their limit findings are only counted."""
    findings = FindingCollector(3)
    for index in range(10):
        findings.add("x", "odd", (index,))
    listed = findings.done()
    assert len(listed) == 4
    assert "7 more findings" in listed[-1].message


def test_items_beyond_the_findings_are_still_read() -> None:
    """A long list of wrong items costs no sentences beyond the limit, and loses no item."""
    read = Record({"l": list(range(50))}, (), FindingCollector(3))
    assert read.texts("l") == tuple(map(str, range(50)))
    assert "47 more findings" in read.findings.done()[-1].message
