"""BYAF archives: told as a card, with nothing lost."""

import json
from typing import Any

import pytest
from hypothesis import given

from innkeeper.content import AssetError, Character, DamagedFileError, Document, Level, open_card
from innkeeper.prompt.errors import FormatError, LimitError
from tests import shared
from tests.content.builders import archive, attempt, objects, values

MANIFEST = {
    "schemaVersion": 1,
    "createdAt": "2024-03-21T12:00:00Z",
    "author": {"name": "Ann", "backyardURL": "https://example.com/ann"},
    "characters": ["characters/m/character.json"],
    "scenarios": ["scenarios/1.json", "scenarios/2.json"],
}
CHARACTER = {
    "schemaVersion": 1,
    "id": "m",
    "name": "Mira",
    "displayName": "Mira of Lantern Street",
    "isNSFW": False,
    "persona": "{character} mends clocks for {user}. {{user}} stays.",
    "createdAt": "2024-03-21T12:00:00Z",
    "updatedAt": "2024-03-21T14:00:00+02:00",
    "loreItems": [{"key": "inn, /gate,s/i", "value": "An inn for {user}."}, {"key": "", "value": "no key"}],
    "images": [{"path": "images/a.png", "label": "day"}, {"path": "images/gone.png", "label": "night"}],
}
FIRST = {
    "title": "Shop",
    "narrative": "{user} comes in.",
    "formattingInstructions": "Write as {character}.",
    "exampleMessages": [{"characterID": "m", "text": "#{user}: Hi"}, {"characterID": "m", "text": "#{character}: Ho"}],
    "firstMessages": [{"characterID": "m", "text": "{character} looks up."}],
    "messages": [{"type": "human", "text": "Hello"}],
    "backgroundImage": "images/bg.jpg",
    "temperature": 0.7,
}
SECOND = {"narrative": "Elsewhere.", "firstMessages": [{"text": "Rain."}]}


def byaf(**changes: Any) -> bytes:
    """A sound archive, with other JSON in some places."""
    trees: dict[str, Any] = {
        "manifest.json": MANIFEST,
        "characters/m/character.json": CHARACTER,
        "scenarios/1.json": FIRST,
        "scenarios/2.json": SECOND,
    }
    names = {"manifest": "manifest.json", "character": "characters/m/character.json", "first": "scenarios/1.json"}
    trees |= {names[key]: value for key, value in changes.items()}
    files = {name: json.dumps(tree).encode() for name, tree in trees.items()}
    return archive(files | {"characters/m/images/a.png": b"picture", "scenarios/images/bg.jpg": b"background"})


def test_the_character() -> None:
    """Every part of the archive stands in its field of the card."""
    opened = open_card(byaf())
    character = opened.character
    assert (opened.kind, character.name, character.version, character.creator) == ("byaf", "Mira", "v3", "Ann")
    assert character.description == "{{char}} mends clocks for {{user}}. {{user}} stays."
    assert character.scenario == "{{user}} comes in."
    assert character.system_prompt == "Write as {{char}}."
    assert character.mes_example == "<START>\n{{user}}: Hi\n{{char}}: Ho"
    assert character.greetings() == ("{{char}} looks up.", "Rain.")
    assert (character.creation_date, character.modification_date) == (1_711_022_400, 1_711_022_400)
    assert character.tags == ()
    assert character.book is not None
    assert [(entry.keys, entry.order) for entry in character.book.entries] == [(("inn", "/gate,s/i"), 0), ((), 1)]
    assert character.book.entries[0].content == "An inn for {{user}}."


def test_the_files() -> None:
    """Pictures and backgrounds are assets; one that is not there is said."""
    opened = open_card(byaf())
    assert [(asset.type, asset.name) for asset in opened.character.assets] == [("icon", "main"), ("background", "main")]
    assert opened.icon() == b"picture"
    background = opened.character.main_asset("background")
    assert background is not None
    assert opened.read_asset(background) == b"background"
    assert [(finding.rule, finding.level) for finding in opened.findings if finding.rule != "no-keys"] == [
        ("kept-not-read", Level.INFO),
        ("missing-asset", Level.WARNING),
    ]


def test_nothing_is_lost() -> None:
    """Manifest, character and scenarios stay in the card as they were."""
    kept = open_card(byaf()).character.extensions["byaf"]
    assert kept == {"manifest": MANIFEST, "character": CHARACTER, "scenarios": [FIRST, SECOND]}


def test_marks_and_repeats() -> None:
    """A mark for adults becomes a tag; a greeting that repeats is there once."""
    scenarios = MANIFEST | {"scenarios": ["scenarios/1.json", "scenarios/1.json"]}
    character = open_card(byaf(manifest=scenarios, character=CHARACTER | {"isNSFW": True})).character
    assert (character.tags, character.alternate_greetings) == (("NSFW",), ())


def test_no_scenario_is_needed() -> None:
    """A character without scenarios has no greeting."""
    character = open_card(byaf(manifest=MANIFEST | {"scenarios": []})).character
    assert (character.first_mes, character.scenario, character.mes_example) == ("", "", "")


@pytest.mark.parametrize(
    ("manifest", "rule"),
    [
        (MANIFEST | {"schemaVersion": 2}, "newer-spec"),
        (MANIFEST | {"characters": ["characters/m/character.json"] * 2}, "more-characters"),
        (MANIFEST | {"scenarios": ["scenarios/9.json"]}, "missing-scenario"),
    ],
    ids=["newer", "two characters", "missing scenario"],
)
def test_what_is_said(manifest: dict[str, Any], rule: str) -> None:
    """A newer version, a second character and a missing scenario are findings."""
    assert rule in {finding.rule for finding in open_card(byaf(manifest=manifest)).findings}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"manifest": []}, AssetError),
        ({"manifest": MANIFEST | {"characters": []}}, AssetError),
        ({"manifest": MANIFEST | {"characters": ["../x.json"]}}, AssetError),
        ({"character": CHARACTER | {"name": "", "displayName": ""}}, AssetError),
        ({"first": "text"}, AssetError),
    ],
    ids=["manifest", "no character", "character elsewhere", "no name", "scenario"],
)
def test_archives_that_are_refused(changes: dict[str, Any], error: type[Exception]) -> None:
    """An archive that does not say who is in it is a typed error."""
    with pytest.raises(error):
        open_card(byaf(**changes))


@given(manifest=objects, character=objects, first=values)
def test_any_values(manifest: Any, character: Any, first: Any) -> None:
    """Whatever stands in the JSON, the answer is a card or an error of ours."""
    found = attempt(
        lambda: open_card(byaf(manifest=MANIFEST | manifest, character=CHARACTER | character, first=first)).character
    )
    assert isinstance(found, (Character, FormatError, LimitError, DamagedFileError))


def test_an_archive_made_by_others() -> None:
    """The archive of another project is read as they read it."""
    character = open_card(shared.need("fixtures/tavern_kit/characters/sample.byaf")).character
    assert (character.name, character.creator) == ("Test Character", "Test Author")
    assert character.description == "This is {{char}}. Talking to {{user}}."
    assert character.mes_example == "<START>\n{{user}}: Example line 1\n{{char}}: Example line 2"
    assert character.greetings() == (
        "{{user}}: Hello {{char}}!\n{{char}}: Hi {{user}}.",
        "{{user}} says hi again to {{char}}.",
    )
    assert character.book is not None
    assert character.book.entries[0].keys == ("alpha", "beta")
    assert Document.parse(character.to_json()).tree == character.to_dict()


def test_findings_about_its_json_name_the_file() -> None:
    """A byte order mark in one of its files is said, with the file."""
    files = {"manifest.json": b"\xef\xbb\xbf" + json.dumps(MANIFEST | {"scenarios": []}).encode()}
    files["characters/m/character.json"] = json.dumps(CHARACTER).encode()
    found = {finding.rule: finding.path for finding in open_card(archive(files)).findings}
    assert found["byte-order-mark"] == "manifest.json"
