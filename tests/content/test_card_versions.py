"""Edits that change a card in its own words, and those that make it one of another version."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.content.card_versions import (
    FIELDS,
    SPECS,
    V2_DEFAULTS,
    CardAsset,
    CardVersion,
)
from innkeeper.content.character import Character, field_edits, version_edits
from innkeeper.content.json import ABSENT
from innkeeper.content.lorebook import Lorebook
from innkeeper.prompt.errors import UnknownNameError, UsageError
from tests.content.builders import card

V1 = {"name": "Mira", "char_persona": "A clockmaker.", "first_mes": "Hi", "own": 1}

EDITS: list[tuple[str, dict[str, Any], dict[str, Any], dict[tuple[str, ...], Any]]] = [
    ("V2", card(), {"name": "Ann"}, {("data", "name"): "Ann"}),
    ("mirror", card() | {"name": "Mira"}, {"name": "Ann"}, {("data", "name"): "Ann", ("name",): "Ann"}),
    ("mirror of another value", card() | {"name": "Other"}, {"name": "Ann"}, {("data", "name"): "Ann"}),
    ("none takes away", card(), {"description": None}, {("data", "description"): ABSENT}),
    ("tuple is a list", card(), {"tags": ("a", "b")}, {("data", "tags"): ["a", "b"]}),
    ("V1", V1, {"first_mes": "Hello"}, {("first_mes",): "Hello"}),
    ("V1 name that is there", V1, {"description": "x"}, {("char_persona",): "x"}),
    ("V1 name that is not there", V1, {"scenario": "x"}, {("scenario",): "x"}),
]


@pytest.mark.parametrize(("raw", "fields", "edits"), [case[1:] for case in EDITS], ids=[case[0] for case in EDITS])
def test_a_field_is_edited_where_the_card_has_it(
    raw: dict[str, Any], fields: dict[str, Any], edits: dict[tuple[str, ...], Any]
) -> None:
    """A field stands under the name its version has; the copy of it for old readers follows where it was equal."""
    assert field_edits(Character.of(raw), fields) == edits


def test_books_and_assets_are_written_as_json() -> None:
    """A lorebook is written as a card book, assets as objects."""
    asset = CardAsset(type="icon", uri="ccdefault:", name="main", ext="png")
    edits = field_edits(Character.of(card("v3")), {"book": Lorebook.of({"entries": []}), "assets": (asset,)})
    assert edits["data", "character_book"]["entries"] == []
    assert edits["data", "assets"] == [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}]


def test_unknown_fields_are_refused() -> None:
    """A name that is not a field of a card, or not one of a V1 card, raises and says what can be done."""
    with pytest.raises(UnknownNameError):
        field_edits(Character.of(card()), {"colour": "red"})
    with pytest.raises(UsageError, match="tags") as info:
        field_edits(Character.of(V1), {"tags": ["a"]})
    assert "to_version" in str(info.value.hint)


def test_every_field_can_be_read() -> None:
    """What can be replaced is an attribute of a character."""
    character = Character.of(card("v3"))
    assert all(hasattr(character, name) for name in FIELDS)


def test_v1_fields_move_into_data() -> None:
    """What V1 readers know goes into ``data`` under V2's names; anything else stays where it is."""
    edits = version_edits(Character.of(V1), CardVersion.V2)
    data = edits["data",]
    assert (edits["spec",], edits["spec_version",]) == ("chara_card_v2", "2.0")
    assert (data["name"], data["description"], data["first_mes"]) == ("Mira", "A clockmaker.", "Hi")
    assert {path for path, value in edits.items() if value is ABSENT} == {("name",), ("char_persona",), ("first_mes",)}
    assert V2_DEFAULTS.keys() <= data.keys()


@pytest.mark.parametrize("raw", [V1, card(), card("v3")], ids=["v1", "v2", "v3"])
@pytest.mark.parametrize("version", [CardVersion.V2, CardVersion.V3])
def test_a_converted_card_says_the_same(raw: dict[str, Any], version: CardVersion) -> None:
    """After the edits a card is of the version, with the same texts, and the same edits change nothing more."""
    before = Character.of(raw)
    after = Character.of(before.document.replace(version_edits(before, version)).tree)
    assert after.version is SPECS[after.raw["spec"]] is version
    assert (after.name, after.description, after.first_mes) == (before.name, before.description, before.first_mes)
    again = after.document.replace(version_edits(after, version)).tree
    assert again == after.document.tree


def test_no_card_goes_back_to_v1() -> None:
    """V1 as the aim raises `UsageError`."""
    with pytest.raises(UsageError):
        version_edits(Character.of(card()), CardVersion.V1)
