"""Note: one typed fact."""

import json

import pytest

from innkeeper.prompt import FrozenDict, Note, NoteKind, Where


def test_a_note_reads_as_its_sentence_with_its_place() -> None:
    """The place comes first, when it is known."""
    assert str(Note(NoteKind.WARNING, "odd")) == "odd"
    assert str(Note(NoteKind.WARNING, "odd", where=Where("book", "entries[3]"))) == "book: entries[3]: odd"


def test_a_notes_facts_are_json_without_the_absent_ones() -> None:
    """For reports: kind, sentence, step, place, hint and numbers."""
    note = Note(NoteKind.EVICTED, "gone", "trimming", data=FrozenDict(tokens=5, what=object))
    assert json.loads(json.dumps(note.to_dict())) == {
        "kind": "evicted",
        "message": "gone",
        "step": "trimming",
        "data": {"tokens": 5, "what": "<class 'object'>"},
    }


@pytest.mark.parametrize("kind", NoteKind)
def test_each_kind_is_a_word(kind: NoteKind) -> None:
    """Kinds go into JSON as lower-case words."""
    assert kind == kind.lower()
    assert kind.isalpha()
