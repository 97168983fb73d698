"""Detection lists: versioned, checked entry by entry, and the packaged one is small and neutral."""

import json
from typing import Any

import msgspec
import pytest

from innkeeper.gate.evidence import ABSOLUTE
from innkeeper.gate.limits import MAX_LEXICON_BYTES, MAX_LEXICON_ENTRIES, MAX_LEXICON_PATTERN
from innkeeper.gate.words.languages import LANGUAGES
from innkeeper.gate.words.lexicon import Lexicon, LexiconEntry, builtin_lexicon, load_lexicon
from innkeeper.prompt.errors import FormatError, LimitError

GOOD = {"id": "a", "pattern": "amber", "category": "mine", "weight": 0.5}


def data(*entries: Any, **more: Any) -> str:
    """A list as JSON."""
    return json.dumps({"name": "mine", "version": "1", "entries": entries, **more})


def test_a_list_is_read() -> None:
    """Fields that are left out have their defaults."""
    lexicon = load_lexicon(data(GOOD))
    assert lexicon.label == "mine@1"
    assert lexicon.entries == (LexiconEntry(id="a", pattern="amber", category="mine", weight=0.5),)


@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"pattern": ""},
        {"pattern": "..."},
        {"category": "No!"},
        {"weight": 0},
        {"weight": 1.5},
        {"kind": "regex", "pattern": "("},
        {"kind": "glob"},
        {"allow_contexts": ["-"]},
        {"unknown": 1},
    ],
    ids=str,
)
def test_faulty_entries_are_refused(change: dict[str, Any]) -> None:
    """Each fault is a typed error that says where."""
    with pytest.raises(FormatError) as caught:
        load_lexicon(data(GOOD | {"id": "first"}, GOOD | change), asset="list.json")
    assert caught.value.where is not None
    assert caught.value.where.asset == "list.json"


def test_ids_are_given_once() -> None:
    """The second entry of one id is named."""
    with pytest.raises(FormatError, match="given twice") as caught:
        load_lexicon(data(GOOD, GOOD))
    assert caught.value.where is not None
    assert caught.value.where.path == "entries[1]"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": "x"}', b"\xff", data(name="")], ids=repr)
def test_what_is_no_list_is_refused(text: str | bytes) -> None:
    """Broken JSON and missing names are typed errors."""
    with pytest.raises(FormatError):
        load_lexicon(text)


def test_limits_hold() -> None:
    """Size, number and length of what a list may hold."""
    with pytest.raises(LimitError, match="MAX_LEXICON_BYTES"):
        load_lexicon(" " * (MAX_LEXICON_BYTES + 1), asset="x")
    with pytest.raises(LimitError, match="MAX_LEXICON_PATTERN"):
        load_lexicon(data(GOOD | {"pattern": "x" * (MAX_LEXICON_PATTERN + 1)}))
    many = LexiconEntry("a", "amber", "mine", 0.5, allow_contexts=("x",) * MAX_LEXICON_ENTRIES)
    with pytest.raises(LimitError, match="MAX_LEXICON_ENTRIES"):
        Lexicon("mine", "1", (many,)).checked()


def test_the_packaged_words_have_the_form_of_a_list() -> None:
    """They read as a list does, in ten languages, and every absolute category that words can tell of has some."""
    lexicon = builtin_lexicon()
    assert {language for entry in lexicon.entries for language in entry.languages} == set(LANGUAGES)
    assert {"age", "age_setting", "romantic", "sexual", "educational"} <= {entry.category for entry in lexicon.entries}
    for language in LANGUAGES:
        spoken = {entry.category for entry in lexicon.entries if language in entry.languages}
        assert ABSOLUTE - {"age_ambiguous"} <= spoken
    assert load_lexicon(msgspec.json.encode(lexicon)) == lexicon
    assert builtin_lexicon() is lexicon
