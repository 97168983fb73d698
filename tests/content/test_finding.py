"""Findings: what is not as it should be, though it was read."""

import pytest

from innkeeper.content import Finding, Level, refuse_findings
from innkeeper.content.finding import show_path, shown
from innkeeper.prompt.errors import StrictModeError
from innkeeper.prompt.note import NoteKind

ODD = Finding("wrong-type", "5 is not a text", path="data.tags[3]", hint="quote it")


def test_a_finding_says_where() -> None:
    """The path or the line stands before the sentence."""
    assert str(ODD) == "data.tags[3]: 5 is not a text"
    assert str(Finding("bad-line", "kept", line=7)) == "line 7: kept"
    assert str(Finding("x", "nothing to say about the place")) == "nothing to say about the place"


def test_a_finding_becomes_a_note() -> None:
    """A plan's notes take the sentence, the place and the hint."""
    note = ODD.to_note("card.png")
    assert (note.kind, note.message, note.hint) == (NoteKind.WARNING, ODD.message, ODD.hint)
    assert note.where is not None
    assert (note.where.asset, note.where.path) == ("card.png", "data.tags[3]")


def test_a_finding_is_data() -> None:
    """`to_dict` has every fact that is there, the level too."""
    facts = {"rule": "wrong-type", "message": "5 is not a text", "path": "data.tags[3]"}
    assert ODD.to_dict() == facts | {"hint": "quote it", "level": "warning"}


def test_strict_mode_refuses_warnings_and_lets_information_pass() -> None:
    """The first warning or error is raised with its place; what is merely worth knowing is not."""
    info = Finding("x", "kept", level=Level.INFO)
    refuse_findings([info])
    with pytest.raises(StrictModeError, match="5 is not a text") as caught:
        refuse_findings([info, ODD], "card.png")
    assert caught.value.where is not None
    assert caught.value.where.asset == "card.png"
    assert caught.value.details["rule"] == "wrong-type"


def test_paths_are_shown_as_people_write_them() -> None:
    """Keys with dots between them, indexes in brackets."""
    assert show_path(("data", "book", "entries", 3, "keys", 0)) == "data.book.entries[3].keys[0]"
    assert show_path((2,)) == "[2]"
    assert show_path(()) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), ("a", '"a"'), (1.5, "1.5"), ([1], "a list"), ({}, "an object")],
    ids=str,
)
def test_values_are_quoted_as_json(value: object, text: str) -> None:
    """A message shows scalars as JSON does, and the rest by its kind."""
    assert shown(value) == text


def test_long_values_are_cut() -> None:
    """A message never quotes a whole card."""
    assert len(shown("x" * 10_000)) == 80
