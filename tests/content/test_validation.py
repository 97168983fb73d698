"""The MUSTs of the card specifications, each broken once."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given

from innkeeper.content import ABSENT, Character, Difference, Level, diff, diff_trees, validate
from innkeeper.prompt.errors import InnkeeperError
from tests.content.builders import attempt, card, cards, values

TEXTS = (
    *("name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt"),
    *("post_history_instructions", "creator", "character_version"),
)
ENTRY = {"keys": ["a"], "content": "x", "extensions": {}, "enabled": True, "insertion_order": 1, "use_regex": False}


def sound(version: str = "v3") -> dict[str, Any]:
    """A card that follows its specification."""
    data: dict[str, Any] = dict.fromkeys(TEXTS, "x") | {"alternate_greetings": [], "tags": [], "extensions": {}}
    data["character_book"] = {"extensions": {}, "entries": [dict(ENTRY)]}
    if version == "v3":
        data["group_only_greetings"] = []
        data["assets"] = [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}]
    return {"spec": f"chara_card_{version}", "spec_version": f"{version[1]}.0", "data": data}


def put(tree: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The card with another value at a dotted path; numbers are indexes."""
    node: Any = tree
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in parents:
        node = node[part]
    if value is ABSENT:
        del node[last]
    else:
        node[last] = value
    return tree


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_a_sound_card(version: str) -> None:
    """A card that follows its specification has no finding."""
    assert validate(Character.of(sound(version))) == ()


@dataclass(frozen=True)
class Broken:
    """A card with one thing wrong, and where that is reported."""

    path: str
    value: Any
    reported: str
    level: Level = Level.ERROR
    version: str = "v3"


BROKEN = [
    *(
        Broken(f"data.{name}", ABSENT, f"data.{name}", version=version)
        for name in TEXTS[1:]
        for version in ("v2", "v3")
    ),
    *(Broken(f"data.{name}", 5, f"data.{name}") for name in TEXTS[1:]),
    Broken("data.name", 5, "data.name"),
    Broken("data.tags", ["a", 5], "data.tags"),
    Broken("data.alternate_greetings", "x", "data.alternate_greetings"),
    Broken("data.extensions", [], "data.extensions", version="v2"),
    Broken("data.group_only_greetings", ABSENT, "data.group_only_greetings"),
    Broken("spec_version", "2.1", "spec_version", version="v2"),
    Broken("spec_version", "3.1", "spec_version", Level.WARNING),
    Broken("data.nickname", 5, "data.nickname"),
    Broken("data.source", "x", "data.source"),
    Broken("data.creation_date", "now", "data.creation_date"),
    Broken("data.creator_notes_multilingual", {"en": 5}, "data.creator_notes_multilingual"),
    Broken("data.creator_notes_multilingual", {"en-GB": "x"}, "data.creator_notes_multilingual.en-GB"),
    Broken("data.character_book", 5, "data.character_book"),
    Broken("data.character_book.extensions", ABSENT, "data.character_book.extensions", version="v2"),
    Broken("data.character_book.scan_depth", "x", "data.character_book.scan_depth"),
    *(
        Broken(f"data.character_book.entries.0.{name}", ABSENT, f"data.character_book.entries[0].{name}")
        for name in ENTRY
        if name != "enabled"
    ),
    Broken("data.character_book.entries.0.position", 0, "data.character_book.entries[0].position"),
    Broken("data.character_book.entries.0.id", [], "data.character_book.entries[0].id"),
    Broken("data.assets.0.uri", ABSENT, "data.assets[0].uri"),
    Broken("data.assets.0.uri", "file:///etc/passwd", "data.assets[0].uri", Level.WARNING),
    Broken("data.assets.0.type", "voice", "data.assets[0].type", Level.WARNING),
    Broken("data.assets", [{"type": "icon", "uri": "embeded://a", "name": "a", "ext": ".PNG"}], "data.assets[0].ext"),
    Broken(
        "data.assets", [{"type": "icon", "uri": "ccdefault:", "name": n, "ext": "png"} for n in "ab"], "data.assets"
    ),
    Broken(
        "data.assets",
        [{"type": "background", "uri": "ccdefault:", "name": "main", "ext": "png"} for _ in "ab"],
        "data.assets",
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: f"{case.version} {case.path} {case.value!r}"[:60])
def test_each_rule(case: Broken) -> None:
    """One thing wrong is one finding, at its place and with its weight."""
    findings = validate(Character.of(put(sound(case.version), case.path, case.value)))
    assert [(finding.path, finding.level) for finding in findings] == [(case.reported, case.level)]


def test_v1_cards() -> None:
    """V1 demands six texts."""
    full = dict.fromkeys(TEXTS[:6], "x")
    assert validate(Character.of(full)) == ()
    assert [finding.path for finding in validate(Character.of({"name": "x", "description": "y"}))] == list(TEXTS[2:6])


def test_a_v1_card_with_a_specification() -> None:
    """A card whose data is missing is read from its V1 fields, and breaks its specification."""
    findings = validate(Character.of({"spec": "chara_card_v2", "name": "x", "description": "y"}))
    assert [finding.path for finding in findings] == ["data"]


@given(tree=cards())
def test_any_card(tree: dict[str, Any]) -> None:
    """Any card that can be read can be checked."""
    character = attempt(lambda: Character.of(tree))
    if not isinstance(character, InnkeeperError):
        assert isinstance(validate(character), tuple)


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_what_is_converted_is_sound(version: str) -> None:
    """A V1 card taken to another version follows that one's specification."""
    taken = Character.of({"name": "x", "description": "y"}).to_version(version)
    assert validate(taken) == ()


def test_differences_in_order() -> None:
    """Each place that differs, in the order of the first card, then what only the second has."""
    one = Character.of(card(tags=["a", "b"], creator="me"))
    two = Character.of(card(tags=["a"], description="Another.", nickname="Mi"))
    assert diff(one, two) == (
        Difference("data.description", "A clockmaker.", "Another."),
        Difference("data.tags[1]", "b", ABSENT),
        Difference("data.creator", "me", ABSENT),
        Difference("data.nickname", ABSENT, "Mi"),
    )
    assert [item.kind for item in diff(one, two)] == ["changed", "removed", "removed", "added"]


def test_a_difference_is_data() -> None:
    """What is absent is left out; null is not absent."""
    assert Difference("a", ABSENT, None).to_dict() == {"path": "a", "kind": "added", "after": None}
    assert Difference("a", 1, ABSENT).to_dict() == {"path": "a", "kind": "removed", "before": 1}


def test_types_count() -> None:
    """A number and a flag, and a whole number and a fraction, are not the same."""
    assert len(diff_trees({"a": 1, "b": 1}, {"a": True, "b": 1.0})) == 2


@given(one=values, two=values)
def test_no_difference_means_equal(one: Any, two: Any) -> None:
    """There is no difference exactly where the JSON is the same."""
    assert diff_trees(one, one) == ()
    same = json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)
    assert (diff_trees(one, two) == ()) is same
