"""Plain data: anything becomes JSON, nothing nests without end, tool arguments become objects."""

from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given

from innkeeper.dialects import convert
from innkeeper.dialects.report import MAX_DATA_DEPTH, Report, compact, jsonable, object_of
from innkeeper.prompt import FrozenDict, LimitError, Message, NoteKind
from tests.prompt.doubles import ANY_TEXT, JSON, nested


@given(value=JSON)
def test_json_stays_json(value: Any) -> None:
    """Any JSON value gives an equal one that encodes, lone surrogates aside, and is fresh."""
    found = jsonable(value)
    assert jsonable(found) == found
    assert msgspec.json.decode(msgspec.json.encode(found)) == found


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (FrozenDict(a=(1, {2})), {"a": [1, [2]]}),
        ({1: "\ud800"}, {"1": "\ufffd"}),
        (date(2026, 1, 15), "2026-01-15"),
        (float("nan"), None),
        (True, True),
    ],
)
def test_other_values(value: Any, expected: Any) -> None:
    """Frozen data thaws, keys become text, other objects become their text."""
    assert jsonable(value) == expected


def test_depth() -> None:
    """Data may nest so deep and no deeper."""
    jsonable(nested(MAX_DATA_DEPTH - 1))
    with pytest.raises(LimitError) as caught:
        jsonable(nested(MAX_DATA_DEPTH))
    assert caught.value.limit == "MAX_DATA_DEPTH"


def test_deep_metadata_is_a_typed_error() -> None:
    """Metadata that a provider would get raises when it nests too deep, as does a list that holds itself."""
    endless: list[Any] = []
    endless.append(endless)
    for value in (nested(500), endless):
        with pytest.raises(LimitError):
            convert([Message("user", "Hi", metadata=FrozenDict(refusal=value or [value]))])


@given(text=ANY_TEXT)
def test_any_arguments_are_an_object_or_none(text: str) -> None:
    """Reading arguments never fails, whatever text a model wrote."""
    found = object_of(text)
    assert found is None or type(found) is dict


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, {}),
        (" ", {}),
        (' {"a": [1, {"b": null}]} ', {"a": [1, {"b": None}]}),
        ({"a": (1,)}, {"a": [1]}),
        ("[1]", None),
        ('{"a": 1', None),
        ('{"a": Infinity}', None),
        ('{"a":' * 500 + "1" + "}" * 500, None),
        ('{"a":' * 90 + "1" + "}" * 90, ...),
        ("{" * 100_000, None),
        (7, None),
    ],
    ids=["none", "blank", "object", "mapping", "list", "cut", "infinity", "too-deep", "deep", "bomb", "number"],
)
def test_arguments(value: Any, expected: Any) -> None:
    """An object is what is one or spells one; too deep is as good as broken."""
    found = object_of(value)
    assert found == expected or (expected is ... and found is not None)


def test_compact() -> None:
    """JSON text without spaces."""
    assert compact({"a": (1, "é")}) == '{"a":[1,"é"]}'


def test_notes() -> None:
    """A sentence about several messages is one note; a message is named once; what was put in has no number."""
    report = Report("d")
    report.loss("first", 1)
    report.repair("second", 4, "hint")
    report.loss("first", 2)
    report.loss("first", 2)
    report.repair("third", -1)
    report.add(NoteKind.WARNING, "fourth")
    notes = report.notes()
    assert [str(note) for note in notes] == [
        "d: first (messages 1, 2)",
        "messages: [4]: d: second (message 4)",
        "d: third",
        "d: fourth",
    ]
    assert [note.kind for note in notes] == ["loss", "repair", "repair", "warning"]
    assert notes[1].hint == "hint"
    assert notes[2].data == {"dialect": "d"}
