"""Lorebooks: every spelling, every field, nothing lost; the defects of others are not ours."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given

from innkeeper.content import (
    LIMITS,
    AssetError,
    CharacterFilter,
    Document,
    Lorebook,
    LorebookEntry,
    LorePosition,
    SelectiveLogic,
    Spelling,
    split_keys,
)
from innkeeper.content.lorebook import read_lorebook
from innkeeper.prompt.errors import FormatError, LimitError, UnknownNameError, UsageError
from tests import shared
from tests.content.builders import attempt, books


def only(entry: dict[str, Any]) -> LorebookEntry:
    """The one entry of a book."""
    return Lorebook.of({"entries": [entry]}).entries[0]


@dataclass(frozen=True)
class Case:
    """An entry as written, and fields it must be read into."""

    name: str
    raw: dict[str, Any]
    expected: dict[str, Any] = field(default_factory=dict)


WORLD = {"uid": 7, "key": ["inn"], "keysecondary": ["ale"], "content": "x", "disable": False, "order": 10}
CARD = {
    "keys": ["inn"],
    "secondary_keys": ["ale"],
    "content": "x",
    "enabled": True,
    "insertion_order": 10,
    "extensions": {},
}

CASES = [
    Case("world keys", WORLD, {"keys": ("inn",), "secondary_keys": ("ale",), "order": 10, "id": 7, "enabled": True}),
    Case("card keys", CARD, {"keys": ("inn",), "secondary_keys": ("ale",), "order": 10, "enabled": True}),
    Case("world disabled", WORLD | {"disable": True}, {"enabled": False}),
    Case("card disabled", CARD | {"enabled": False}, {"enabled": False}),
    Case(
        "world defaults",
        WORLD,
        {"selective": False, "depth": 4, "role": "system", "probability": None, "group_weight": 100},
    ),
    Case("world never rolls unless told", WORLD, {"use_probability": False}),
    Case("card defaults", CARD, {"probability": 100, "use_probability": True, "position": LorePosition.AFTER_CHAR}),
    Case("card before", CARD | {"position": "before_char"}, {"position": LorePosition.BEFORE_CHAR}),
    Case("card after", CARD | {"position": "after_char"}, {"position": LorePosition.AFTER_CHAR}),
    Case(
        "card extension position wins",
        CARD | {"position": "before_char", "extensions": {"position": 4, "depth": 1, "role": 1}},
        {"position": LorePosition.AT_DEPTH, "depth": 1, "role": "user"},
    ),
    *(
        Case(f"world position {number}", WORLD | {"position": number}, {"position": position})
        for number, position in enumerate(LorePosition)
    ),
    *(
        Case(f"position word {word}", CARD | {"position": word}, {"position": position})
        for word, position in (
            ("after_char_defs", "after_char"),
            ("top_of_an", "an_top"),
            ("@D", "at_depth"),
            ("4", "at_depth"),
        )
    ),
    *(
        Case(f"logic {number}", WORLD | {"selectiveLogic": number}, {"selective_logic": logic})
        for number, logic in enumerate(SelectiveLogic)
    ),
    Case(
        "card camel",
        CARD | {"extensions": {"selectiveLogic": 3, "useProbability": False}},
        {"selective_logic": "and_all"},
    ),
    Case(
        "card snake",
        CARD | {"extensions": {"selective_logic": 2, "use_probability": False}},
        {"use_probability": False},
    ),
    Case(
        "timed",
        WORLD | {"sticky": 3, "cooldown": 2, "delay": 1},
        {"sticky": 3, "cooldown": 2, "delay": 1},
    ),
    Case("timed null", WORLD | {"sticky": None, "cooldown": None}, {"sticky": None, "cooldown": None, "delay": None}),
    Case("recursion level true", WORLD | {"delayUntilRecursion": True}, {"delay_until_recursion": 1}),
    Case("recursion level 3", WORLD | {"delayUntilRecursion": 3}, {"delay_until_recursion": 3}),
    Case("recursion level false", WORLD | {"delayUntilRecursion": False}, {"delay_until_recursion": 0}),
    Case("role null", WORLD | {"role": None}, {"role": "system"}),
    Case("role 2", WORLD | {"role": 2}, {"role": "assistant"}),
    Case("no order", {"uid": 1, "key": ["a"]}, {"order": None}),
    Case("outlet", WORLD | {"position": 7, "outletName": "notes"}, {"position": "outlet", "outlet_name": "notes"}),
    Case(
        "group",
        WORLD | {"group": "a, b", "groupOverride": True, "groupWeight": 30},
        {"groups": ("a", "b"), "group_weight": 30},
    ),
    Case("triggers", WORLD | {"triggers": ["normal", "swipe"]}, {"triggers": ("normal", "swipe")}),
    Case(
        "filter",
        WORLD | {"characterFilter": {"isExclude": True, "names": ["mira"], "tags": ["t1"]}},
        {"character_filter": CharacterFilter(("mira",), ("t1",), exclude=True)},
    ),
    Case(
        "flat filter",
        WORLD | {"characterFilterNames": ["mira"], "characterFilterExclude": False},
        {"character_filter": CharacterFilter(("mira",))},
    ),
    Case(
        "matching",
        WORLD | {"matchScenario": True, "matchWholeWords": False, "caseSensitive": True},
        {"match_scenario": True},
    ),
    Case("budget", WORLD | {"ignoreBudget": True, "vectorized": True}, {"ignore_budget": True, "vectorized": True}),
    Case(
        "card case sensitivity is the specification's",
        CARD | {"case_sensitive": True, "use_regex": True, "priority": 5, "name": "N"},
        {"case_sensitive": None, "spec_case_sensitive": True, "use_regex": True, "priority": 5, "name": "N"},
    ),
    Case(
        "card case sensitivity in extensions is SillyTavern's",
        CARD | {"case_sensitive": True, "extensions": {"case_sensitive": False}},
        {"case_sensitive": False, "spec_case_sensitive": True},
    ),
    Case("numeric id", CARD | {"id": 3}, {"id": 3}),
    Case("text id", CARD | {"id": "three"}, {"id": "three"}),
    Case("whole float id", CARD | {"id": 3.0}, {"id": 3}),
    Case("no id", CARD, {"id": 0}),
    Case(
        "keyless constant",
        {"keys": [], "constant": True, "content": "x", "enabled": True},
        {"constant": True, "keys": ()},
    ),
    Case("keys in one text", WORLD | {"key": "inn, /a,b/i , ale"}, {"keys": ("inn", "/a,b/i", "ale")}),
    Case("numbers as keys", WORLD | {"key": [5, "x"]}, {"keys": ("5", "x")}),
    Case("text for a number", WORLD | {"order": "12", "depth": "3"}, {"order": 12, "depth": 3}),
    Case("words for flags", WORLD | {"constant": "yes", "selective": 1}, {"constant": True, "selective": True}),
    Case(
        "nonsense",
        WORLD | {"depth": [], "role": {}, "position": "nowhere", "sticky": "x"},
        {"depth": 4, "role": "system"},
    ),
    Case("huge number", WORLD | {"order": 10**30, "depth": 10**30}, {"order": None, "depth": 4}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fields(case: Case) -> None:
    """Each field is read from its place in its spelling, with the right default."""
    entry = only(case.raw)
    assert {name: getattr(entry, name) for name in case.expected} == case.expected


def test_a_wrong_type_is_a_finding_with_its_path() -> None:
    """What had to be coerced is said, with its place; what is right is not."""
    findings = Lorebook.of({"entries": {"3": {**WORLD, "depth": "x", "key": "a,b"}}}).findings
    assert sorted(finding.path for finding in findings) == ["entries.3.depth", "entries.3.key"]
    assert (
        Lorebook.of(
            {"entries": [WORLD | {"position": 4, "role": None, "delayUntilRecursion": 2, "order": 1.5}]}
        ).findings
        == ()
    )


def test_entries_come_in_the_order_of_javascript() -> None:
    """Of an object, whole-number keys come first and ascending, then the others as written."""
    entries = {key: {"key": ["k"], "content": key} for key in ("10", "b", "2", "a", "007", "4294967295", "0")}
    book = Lorebook.of({"entries": entries})
    assert [entry.content for entry in book.entries] == ["0", "2", "10", "b", "a", "007", "4294967295"]
    assert [entry.id for entry in book.entries][:4] == [0, 2, 10, "b"]
    assert [entry.index for entry in book.entries] == list(range(7))


def test_no_entry_is_dropped_for_its_id_keys_or_spelling() -> None:
    """Numeric ids, keyless constants, objects of entries and mixed spellings are all read (others lose whole books)."""
    book = Lorebook.of({"entries": {"0": {"uid": 0, "constant": True, "content": "a"}, "1": {**CARD, "id": 9}}})
    assert [(entry.id, entry.spelling) for entry in book.entries] == [(0, Spelling.WORLD), (9, Spelling.CARD)]


def test_what_is_no_entry_is_left_out_and_said() -> None:
    """An entry that is not an object is a finding; the others are read."""
    book = Lorebook.of({"entries": [None, WORLD, "x"]})
    assert [entry.index for entry in book.entries] == [1]
    assert [finding.path for finding in book.findings] == ["entries[0]", "entries[2]"]


def test_ids_that_stand_twice_are_said() -> None:
    """Two entries with one id are both read."""
    book = Lorebook.of({"entries": [WORLD, WORLD]})
    assert len(book.entries) == 2
    assert [finding.rule for finding in book.findings] == ["duplicate-id"]


@pytest.mark.parametrize(
    "value", [{}, [], "[]", {"entries": 5}, {"entries": None}, "[]x", "5", '"text"', "null"], ids=json.dumps
)
def test_what_is_no_lorebook(value: Any) -> None:
    """JSON without entries, and text that is no JSON, are typed errors."""
    with pytest.raises(FormatError):
        Lorebook.of(value)


def test_of_takes_values_only() -> None:
    """A path or number is a caller's mistake."""
    with pytest.raises(UsageError):
        Lorebook.of(5)


def test_of_remembers_and_passes_through() -> None:
    """Equal content gives the same object; a book is itself."""
    raw = {"entries": [WORLD], "name": "once"}
    book = Lorebook.of(raw)
    assert Lorebook.of(dict(raw)) is book
    assert Lorebook.of(book) is book
    assert Lorebook.of(json.dumps(raw)).digest == book.digest


def test_book_fields() -> None:
    """The book's own settings are read in both spellings."""
    for raw in (
        {"scan_depth": 3, "token_budget": 500, "recursive_scanning": True},
        {"scanDepth": 3, "tokenBudget": 500, "recursiveScanning": True},
    ):
        book = Lorebook.of({**raw, "name": "N", "description": "D", "extensions": {"a": 1}, "entries": []})
        assert (book.name, book.description, book.scan_depth, book.token_budget) == ("N", "D", 3, 500)
        assert (book.recursive_scanning, book.extensions) == (True, {"a": 1})
    bare = Lorebook.of({"entries": {}})
    assert (bare.scan_depth, bare.token_budget, bare.recursive_scanning) == (None, None, None)


def test_a_book_on_its_own_in_v3() -> None:
    """The specification's own export has the book under ``data``; a bare list of entries is a book too."""
    book = Lorebook.of({"spec": "lorebook_v3", "data": {"name": "N", "entries": [CARD]}})
    assert (book.name, len(book.entries), book.path) == ("N", 1, ("data",))
    assert len(Lorebook.of([CARD, WORLD]).entries) == 2


@given(raw=books())
def test_any_book_is_read_and_written_back(raw: dict[str, Any]) -> None:
    """Any values in any fields give a book or a typed error; the book is written byte for byte as it was."""
    text = json.dumps(raw, indent=1)
    book = attempt(lambda: Lorebook.of(text))
    if isinstance(book, Lorebook):
        assert book.to_json() == text.encode()
        assert book.to_dict() == raw
        assert msgspec.convert(msgspec.to_builtins(book.entries), tuple[LorebookEntry, ...]) == book.entries
    else:
        assert isinstance(book, (FormatError, LimitError))


@given(raw=books())
def test_telling_a_book_in_the_other_spelling_keeps_what_is_said(raw: dict[str, Any]) -> None:
    """As world info and as a card book an entry means the same."""
    book = attempt(lambda: Lorebook.of(raw))
    if not isinstance(book, Lorebook):
        return
    for told in (Lorebook.of(book.to_world()), Lorebook.of(book.to_card_book())):
        assert len(told.entries) == len(book.entries)
        for before, after in zip(book.entries, told.entries, strict=True):
            for name in (
                "keys",
                "secondary_keys",
                "content",
                "constant",
                "enabled",
                "position",
                "role",
                "depth",
                "triggers",
            ):
                assert getattr(after, name) == getattr(before, name), name
            for name in ("selective_logic", "sticky", "delay_until_recursion", "group", "character_filter"):
                assert getattr(after, name) == getattr(before, name), name


@pytest.mark.parametrize("raw", [WORLD, CARD], ids=["world", "card"])
def test_an_entry_is_edited_in_its_own_spelling(raw: dict[str, Any]) -> None:
    """Each field that is replaced reads back; nothing else changes."""
    text = json.dumps({"x": 1, "entries": {"a": {**raw, "unknown": [1]}}}, indent=3)
    book = Lorebook.of(text)
    values: dict[str, Any] = {
        "keys": ("new", "keys"),
        "content": "other",
        "enabled": False,
        "position": LorePosition.AT_DEPTH,
        "depth": 2,
        "role": "assistant",
        "selective_logic": SelectiveLogic.NOT_ANY,
        "use_probability": True,
        "probability": 30,
        "delay_until_recursion": 2,
        "character_filter": CharacterFilter(("mira",), exclude=True),
        "sticky": 4,
        "order": 99,
    }
    for name, value in values.items():
        edited = book.replace_entry(book.entries[0].id, **{name: value})
        assert getattr(edited.entries[0], name) == value
        assert edited.entries[0].raw["unknown"] == [1]
        others = {n for n in LorebookEntry.__struct_fields__ if n not in {name, "raw", "extensions"}}
        assert all(getattr(edited.entries[0], n) == getattr(book.entries[0], n) for n in others)
    assert book.to_json() == text.encode()


def test_a_book_is_edited() -> None:
    """The book's fields keep their spelling; an unknown name is refused."""
    book = Lorebook.of('{"scanDepth": 2, "entries": {}}')
    assert book.replace(scan_depth=9, name="N").to_json() == b'{"scanDepth": 9, "entries": {}, "name": "N"}'
    with pytest.raises(UnknownNameError):
        book.replace(scanDepth=3)
    with pytest.raises(UsageError):
        book.replace_entry(5, content="x")
    with pytest.raises(UnknownNameError):
        Lorebook.of({"entries": [CARD]}).replace_entry(0, contents="x")


FOREIGN = [
    Case(
        "novelai",
        {
            "lorebookVersion": 5,
            "entries": [
                {
                    "text": "The gate.",
                    "displayName": "Gate",
                    "keys": ["gate", "/doors?/i"],
                    "enabled": True,
                    "forceActivation": True,
                    "contextConfig": {"budgetPriority": 400},
                    "searchRange": 1000,
                }
            ],
        },
        {"keys": ("gate", "/doors?/i"), "content": "The gate.", "comment": "Gate", "constant": True, "order": 400},
    ),
    Case(
        "agnai",
        {
            "kind": "memory",
            "name": "M",
            "entries": [
                {
                    "name": "Gate",
                    "entry": "The gate.",
                    "keywords": ["gate"],
                    "priority": 3,
                    "weight": 7,
                    "enabled": False,
                }
            ],
        },
        {"keys": ("gate",), "content": "The gate.", "name": "Gate", "priority": 3, "order": 7, "enabled": False},
    ),
    Case(
        "risu",
        {
            "type": "risu",
            "ver": 1,
            "data": [
                {
                    "key": "gate, door",
                    "secondkey": "iron",
                    "comment": "Gate",
                    "content": "The gate.",
                    "mode": "normal",
                    "insertorder": 50,
                    "alwaysActive": False,
                    "selective": True,
                }
            ],
        },
        {"keys": ("gate", "door"), "secondary_keys": ("iron",), "selective": True, "order": 50, "comment": "Gate"},
    ),
]


@pytest.mark.parametrize("case", FOREIGN, ids=lambda case: case.name)
def test_books_of_other_applications(case: Case) -> None:
    """NovelAI, Agnai and RisuAI books are read; entries keep what they came from."""
    book = Lorebook.of(case.raw)
    entry = book.entries[0]
    assert (book.spelling, entry.spelling, entry.position) == (case.name, case.name, LorePosition.BEFORE_CHAR)
    assert {name: getattr(entry, name) for name in case.expected} == case.expected
    assert entry.raw == (case.raw.get("entries") or case.raw["data"])[0]
    assert [finding.rule for finding in book.findings] == ["foreign-lorebook"]
    assert book.to_dict() == case.raw
    with pytest.raises(UsageError):
        book.replace_entry(entry.id, content="x")
    assert Lorebook.of(book.to_world()).entries[0].keys == case.expected["keys"]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            {
                "mode": "conditional",
                "condition": "<<keywords:any::gate,door>>",
                "position": "user",
                "depth": 2,
                "order": 7,
            },
            {
                "keys": ("gate", "door"),
                "position": "at_depth",
                "depth": 2,
                "role": "user",
                "order": 7,
                "constant": False,
            },
        ),
        (
            {"mode": "conditional", "condition": "{{python:1}}", "keys": ["k"], "position": "after_char"},
            {"keys": ("k",), "position": "after_char", "enabled": True},
        ),
        (
            {"mode": "always", "position": 5, "enabled": False, "name": "Gate", "id": 4},
            {
                "keys": (),
                "constant": True,
                "position": "at_depth",
                "role": "system",
                "comment": "Gate",
                "enabled": False,
            },
        ),
    ],
    ids=["keywords", "another condition", "always"],
)
def test_books_of_smarttavern(entry: dict[str, Any], expected: dict[str, Any]) -> None:
    """Keywords of a condition are keys; a role as the position is a place in the chat."""
    book = Lorebook.of({"entries": [{"content": "The gate.", **entry}]})
    (found,) = book.entries
    assert (book.spelling, found.content) == ("smarttavern", "The gate.")
    assert {name: getattr(found, name) for name in expected} == expected
    assert book.to_dict()["entries"][0] == found.raw


def test_a_risu_regex_is_one_key_and_a_folder_is_off() -> None:
    """With a regex the comma belongs to it; folders have no text to insert."""
    data = [{"key": "a,b", "useRegex": True, "content": "x"}, {"key": "\uf000id", "mode": "folder", "content": ""}]
    book = Lorebook.of({"type": "risu", "data": data})
    assert (book.entries[0].keys, book.entries[0].use_regex, book.entries[1].enabled) == (("a,b",), True, False)


@pytest.mark.parametrize(
    ("limit", "raw"),
    [
        ("lore_entries", {"entries": [{}] * 5}),
        ("lore_keys", {"entries": [{"key": ["k"] * 33}]}),
        ("lore_content_bytes", {"entries": [{"key": ["k"], "content": "é" * 81}]}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_limits_warn_and_then_refuse(limit: str, raw: dict[str, Any]) -> None:
    """Above a limit there is a finding; far above it an error with its name."""
    small = msgspec.structs.replace(LIMITS, lore_entries=2, lore_keys=2, lore_content_bytes=10)
    with pytest.raises(LimitError) as caught:
        read_lorebook(Document(raw), limits=small)
    assert caught.value.limit == limit
    roomier = msgspec.structs.replace(
        small, **{limit: {"lore_entries": 4, "lore_keys": 20, "lore_content_bytes": 100}[limit]}
    )
    assert "beyond-limit" in {finding.rule for finding in read_lorebook(Document(raw), limits=roomier).findings}


def test_a_book_may_have_more_keys_than_other_json() -> None:
    """Twenty thousand entries with all fields are within the limits of a lorebook."""
    entries = {str(n): {"uid": n, "key": ["k"], **{f"f{i}": n for i in range(40)}} for n in range(20_000)}
    assert len(Lorebook.of({"entries": entries}).entries) == 20_000


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", ()),
        (" a , b ", ("a", "b")),
        ("a,,b,", ("a", "b")),
        ("/x,y/gi,z", ("/x,y/gi", "z")),
        (r"/a\/b,c/, d", (r"/a\/b,c/", "d")),
        ("/not a regex, b", ("/not a regex", "b")),
        ("and/or, b", ("and/or", "b")),
    ],
    ids=repr,
)
def test_keys_in_one_text_are_split(text: str, keys: tuple[str, ...]) -> None:
    """At commas, but not inside a regex."""
    assert split_keys(text) == keys


def test_an_entry_has_a_title_and_decorators() -> None:
    """People see the comment, the name, the first key or the id, in that order."""
    assert only(WORLD | {"comment": "C"}).title == "C"
    assert only(CARD | {"name": "N"}).title == "N"
    assert only(WORLD).title == "inn"
    assert only({"uid": 4, "constant": True}).title == "4"
    assert only(WORLD | {"content": "@@depth 2\nx"}).decorators[0].argument == "2"


def test_a_book_in_a_card_stands_on_its_own() -> None:
    """`entry` finds by id, as number or text."""
    book = Lorebook.of({"entries": [CARD | {"id": 3}]})
    assert book.entry("3") is book.entry(3) is book.entries[0]


@pytest.mark.parametrize("path", shared.files("fixtures/tavern_kit/world_info", "*.json"), ids=lambda path: path.name)
def test_books_made_by_others(path: Path) -> None:
    """World info written for another engine is read whole and without complaint."""
    book = Lorebook.of(path.read_bytes())
    assert book.entries
    assert book.findings == ()
    assert len(book.entries) == len(json.loads(path.read_bytes())["entries"])
    assert book.to_json() == path.read_bytes()


def test_lorebook_error_has_a_hint() -> None:
    """The error says what a lorebook has."""
    with pytest.raises(AssetError) as caught:
        Lorebook.of({"name": "x"})
    assert "entries" in (caught.value.hint or "")


@pytest.mark.parametrize("raw", [WORLD, CARD, {"keys": ["a"], "enabled": True}], ids=["world", "card", "bare card"])
def test_other_edits_of_an_entry(raw: dict[str, Any]) -> None:
    """The id and the extensions of an entry can be replaced too."""
    book = Lorebook.of({"entries": [raw]})
    entry = book.entries[0]
    assert book.replace_entry(entry.id, id=42).entries[0].id == 42
    assert book.replace_entry(entry.id, extensions={"a": 1}).entries[0].extensions == {"a": 1}
    assert book.replace_entry(entry.id, depth=9).entries[0].depth == 9
    with pytest.raises(UnknownNameError):
        book.replace_entry(entry.id, nothing=1)


def test_entries_are_found_past_others() -> None:
    """The first entry with an id, wherever it stands."""
    book = Lorebook.of({"entries": [CARD | {"id": 1}, CARD | {"id": 2}]})
    assert book.entry(2).index == 1
    assert only(WORLD | {"selectiveLogic": "and_all"}).selective_logic is SelectiveLogic.AND_ALL


def test_a_card_knows_what_is_wrong_with_its_book() -> None:
    """Fields of the book itself as well as its entries."""
    from innkeeper.content.character import Character

    book = {"name": ["x"], "scan_depth": "deep", "entries": [], "extensions": {}}
    card = Character.of({"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "C", "character_book": book}})
    paths = {finding.path for finding in card.findings}
    assert {"data.character_book.name", "data.character_book.scan_depth"} <= paths
