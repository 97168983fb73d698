"""Report: equal facts become one note, in the order in which they were first found."""

from innkeeper.dialects.report import Report
from innkeeper.prompt import NoteKind


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
