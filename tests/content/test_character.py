"""Characters: every version, tolerant of types, nothing lost, edited in place."""

import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from innkeeper.content import (
    AssetError,
    CardAsset,
    CardVersion,
    Character,
    DepthPrompt,
    Document,
    Lorebook,
    WrongKindError,
)
from innkeeper.content.character import read_character
from innkeeper.prompt.errors import FormatError, LimitError, UnknownNameError, UsageError
from innkeeper.prompt.request import BuildRequest
from tests import shared
from tests.content.builders import attempt, card, cards, values

V1 = {"name": "Mira", "description": "A clockmaker.", "first_mes": "Come in.", "unknown": [1]}


def of(**data: Any) -> Character:
    """A V3 character with these fields."""
    return Character.of(card("v3", **data))


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_fields_of_v2_and_v3(version: str) -> None:
    """Texts, lists and extensions stand under ``data``."""
    character = Character.of(
        card(version, tags=["a", "b"], alternate_greetings=["Hm?"], creator="me", extensions={"x": 1})
    )
    assert (character.name, character.description, character.version) == ("Mira", "A clockmaker.", version)
    assert (character.tags, character.alternate_greetings, character.creator) == (("a", "b"), ("Hm?",), "me")
    assert character.extensions == {"x": 1}
    assert character.findings == ()


def test_fields_of_v3_only() -> None:
    """What V3 added."""
    character = of(
        nickname="Mi",
        group_only_greetings=["All!"],
        creator_notes_multilingual={"de": "Hallo"},
        source=["https://example.com/1"],
        creation_date=1_700_000_000,
        modification_date=0,
        assets=[{"type": "icon", "uri": "embeded://a.png", "name": "main", "ext": "png"}],
    )
    assert (character.nickname, character.display_name, character.name) == ("Mi", "Mi", "Mira")
    assert (character.group_only_greetings, character.source) == (("All!",), ("https://example.com/1",))
    assert (character.creation_date, character.modification_date) == (1_700_000_000, 0)
    assert character.assets == (CardAsset("icon", "embeded://a.png", "main", "png"),)
    assert of(nickname="  ").display_name == "Mira"


def test_v1_cards_are_read() -> None:
    """Early cards have their fields at the top; so do those of other programs, under other names."""
    character = Character.of(V1 | {"creatorcomment": "note", "tags": "a, b", "talkativeness": "0.7"})
    assert (character.version, character.name, character.first_mes) == (CardVersion.V1, "Mira", "Come in.")
    assert (character.creator_notes, character.tags, character.talkativeness) == ("note", ("a", "b"), 0.7)
    other = Character.of({"char_name": "Mira", "char_persona": "D", "char_greeting": "Hi", "world_scenario": "S"})
    assert (other.name, other.description, other.first_mes, other.scenario) == ("Mira", "D", "Hi", "S")


@dataclass(frozen=True)
class Refused:
    """JSON that is no card, and what it is refused with."""

    name: str
    value: Any
    error: type[Exception]
    path: str | None = None


REFUSED = [
    Refused("not an object", "[]", AssetError),
    Refused("a number", "5", AssetError),
    Refused("empty object", {}, AssetError),
    Refused("only a name", {"name": "x"}, AssetError),
    Refused("no name", card() | {"data": {"description": "x"}}, AssetError, "data.name"),
    Refused("blank name", card(name=" \n"), AssetError, "data.name"),
    Refused("v1 without a name", {"description": "x", "first_mes": "y"}, AssetError, "name"),
    Refused("no spec", {"data": {"name": "x", "description": "y"}}, AssetError, "spec"),
    Refused("unknown version", card() | {"spec": "chara_card_v9"}, WrongKindError, "spec"),
    Refused("no data", {"spec": "chara_card_v2", "data": 5}, AssetError, "data"),
    Refused("a lorebook", {"name": "x", "description": "y", "entries": {}}, WrongKindError),
    Refused("a preset", {"prompts": [], "prompt_order": []}, WrongKindError),
    Refused("a chat", {"user_name": "a", "character_name": "b"}, WrongKindError),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_is_no_card(case: Refused) -> None:
    """Each refusal is a typed error that says where, and mostly what to do."""
    with pytest.raises(case.error) as caught:
        Character.of(case.value)
    where = getattr(caught.value, "where", None)
    assert (where.path if where else None) == case.path


def test_of_takes_cards_only() -> None:
    """A number or path object is a caller's mistake."""
    with pytest.raises(UsageError):
        Character.of(5)


def test_lenient_reading_of_the_spec() -> None:
    """A missing or unknown specification is tolerated on demand, and said."""
    for value in ({"data": {"name": "x"}}, card() | {"spec": "chara_card_v9"}):
        character = read_character(Document.of(value), lenient=True)
        assert character.version is CardVersion.V3
        assert "unknown-spec" in {finding.rule for finding in character.findings}


def test_a_newer_minor_version_is_read_and_said() -> None:
    """V3.1 is read as V3; a version that is no number is said too."""
    for number in ("3.1", "soon"):
        character = Character.of(card("v3") | {"spec_version": number})
        assert len(character.findings) == 1
        assert character.findings[0].path == "spec_version"


def test_wrong_types_are_read_as_well_as_they_can_be() -> None:
    """A card is not refused for a number where a text should be; each such place is a finding."""
    character = of(
        description=5, tags="one", alternate_greetings=["a", 7, None], extensions=[], creation_date="12", assets=[1]
    )
    assert (character.description, character.tags, character.alternate_greetings) == ("5", ("one",), ("a", "7", ""))
    assert (character.extensions, character.creation_date, character.assets) == ({}, 12, ())
    paths = {finding.path for finding in character.findings}
    assert {
        "data.description",
        "data.tags",
        "data.alternate_greetings[1]",
        "data.extensions",
        "data.assets[0]",
    } <= paths


def test_null_counts_as_absent() -> None:
    """Programs write null for what is not set; that is no finding."""
    character = of(nickname=None, character_book=None, assets=None, tags=None, description=None)
    assert (character.nickname, character.book, character.tags, character.findings) == ("", None, (), ())


def test_v1_fields_beside_the_data_fill_gaps() -> None:
    """Cards that mirror the V1 fields are read from ``data`` first, and said where that has a gap."""
    tree = card(description="in data") | {"description": "outside", "personality": "outside"}
    character = Character.of(tree)
    assert (character.description, character.personality) == ("in data", "outside")
    assert [finding.rule for finding in character.findings] == ["v1-fallback"]
    assert Character.of({"spec": "chara_card_v2", **V1}).first_mes == "Come in."


def test_the_embedded_book_is_read() -> None:
    """The book is a typed lorebook with paths into the card; one that is no book costs only the book."""
    character = of(character_book={"entries": [{"id": 1, "keys": ["a"], "content": "x", "enabled": "yes"}]})
    assert character.book is not None
    assert character.book.entries[0].id == 1
    assert [finding.path for finding in character.findings] == ["data.character_book.entries[0].enabled"]
    broken = of(character_book={"entries": 5})
    assert (broken.book, [finding.rule for finding in broken.findings]) == (None, ["bad-lorebook"])


def test_greetings() -> None:
    """Index 0 and -1 are the first message, then the alternatives; those for groups come last, in groups only."""
    character = of(first_mes="one", alternate_greetings=["two", "three"], group_only_greetings=["all"])
    assert [character.greeting(index) for index in (0, -1, 1, 2)] == ["one", "one", "two", "three"]
    assert character.greetings(group=True) == ("one", "two", "three", "all")
    assert character.greeting(3, group=True) == "all"
    for index in (3, -2):
        with pytest.raises(UsageError, match=f"no greeting {index}"):
            character.greeting(index)


@dataclass(frozen=True)
class Extension:
    """Extensions, and what is read from them."""

    name: str
    extensions: dict[str, Any]
    expected: dict[str, Any] = field(default_factory=dict)


EXTENSIONS = [
    Extension("none", {}, {"depth_prompt": None, "talkativeness": 0.5, "world": None}),
    Extension(
        "note",
        {"depth_prompt": {"prompt": "p", "depth": 2, "role": "user"}},
        {"depth_prompt": DepthPrompt("p", 2, "user")},
    ),
    Extension("emptied depth", {"depth_prompt": {"prompt": "p", "depth": ""}}, {"depth_prompt": DepthPrompt("p", 0)}),
    Extension("note defaults", {"depth_prompt": {"prompt": "p"}}, {"depth_prompt": DepthPrompt("p", 4, "system")}),
    Extension("bogus role", {"depth_prompt": {"prompt": "p", "role": "bogus"}}, {"depth_prompt": DepthPrompt("p")}),
    Extension("empty note", {"depth_prompt": {"prompt": "", "depth": 1}}, {"depth_prompt": None}),
    Extension("odd note", {"depth_prompt": "p"}, {"depth_prompt": None}),
    Extension(
        "depth zero as text", {"depth_prompt": {"prompt": "p", "depth": "0"}}, {"depth_prompt": DepthPrompt("p", 0)}
    ),
    Extension("talkative", {"talkativeness": "0.9"}, {"talkativeness": 0.9}),
    Extension("silent", {"talkativeness": 0}, {"talkativeness": 0.0}),
    Extension("odd talkativeness", {"talkativeness": "much"}, {"talkativeness": 0.5}),
    Extension("world", {"world": "Town"}, {"world": "Town"}),
    Extension("empty world", {"world": ""}, {"world": None}),
]


@pytest.mark.parametrize("case", EXTENSIONS, ids=lambda case: case.name)
def test_extensions(case: Extension) -> None:
    """What taverns need from ``extensions``, typed and with defaults."""
    character = of(extensions=case.extensions)
    assert {name: getattr(character, name) for name in case.expected} == case.expected


def test_creator_notes_by_language() -> None:
    """The language asked for, else English, else what there is; regions do not matter."""
    character = of(creator_notes="plain", creator_notes_multilingual={"de": "deutsch"})
    assert [character.creator_notes_for(tag) for tag in ("de", "de-AT", "DE_at", "en", "fr")] == ["deutsch"] * 3 + [
        "plain"
    ] * 2
    assert of(creator_notes_multilingual={"ja": "日本語"}).creator_notes_for("fr") == "日本語"
    assert of().creator_notes_for() == ""


def test_main_assets() -> None:
    """The one named main, else the first of its type; a card without assets has its default icon."""
    icons = [{"type": "icon", "uri": f"embeded://{name}.png", "name": name, "ext": "png"} for name in ("other", "main")]
    main = of(assets=icons).main_asset()
    assert main is not None
    assert (main.name, main.path, main.is_default) == ("main", "main.png", False)
    first = of(assets=icons[:1]).main_asset()
    assert first is not None
    assert first.name == "other"
    default = of().main_asset()
    assert default is not None
    assert (default.is_default, default.path) == (True, None)
    assert of(assets=[]).main_asset() is None


def test_a_character_can_be_played() -> None:
    """As somebody to play, a character is its description and personality."""
    assert of(description="D", personality="P").persona_text == "D\n\nP"
    assert of(description="D", personality=" ").persona_text == "D"


@given(tree=cards())
def test_any_card_is_read_and_written_back(tree: dict[str, Any]) -> None:
    """Any values in any fields, unknown ones included, give a character whose card is byte for byte as it was."""
    for text in (json.dumps(tree), json.dumps(tree, indent=2, ensure_ascii=False)):
        character = attempt(partial(Character.of, text))
        assert isinstance(character, (Character, FormatError, LimitError))
        if isinstance(character, Character):
            assert character.to_json() == text.encode()
            assert character.to_dict() == tree


@given(tree=cards(), description=values.map(str))
def test_an_edit_changes_one_field_only(tree: dict[str, Any], description: str) -> None:
    """After `replace` the card differs in that field and nowhere else."""
    character = attempt(lambda: Character.of(json.dumps(tree)))
    if not isinstance(character, Character):
        return
    edited = character.replace(description=description)
    expected = json.loads(json.dumps(tree))
    old = character.description
    expected["data"]["description"] = description
    if "description" in expected and expected["description"] == old:
        expected["description"] = description
    assert json.loads(edited.to_json()) == expected
    assert edited.description == description


@given(tree=cards())
def test_there_and_back_between_versions(tree: dict[str, Any]) -> None:
    """A card taken to the other version and back has lost nothing."""
    character = attempt(lambda: Character.of(json.dumps(tree)))
    if not isinstance(character, Character):
        return
    other = CardVersion.V3 if character.version is CardVersion.V2 else CardVersion.V2
    back = character.to_version(other).to_version(character.version).to_dict()
    for key, value in tree["data"].items():
        assert back["data"][key] == value
    assert {key: value for key, value in back.items() if key not in {"data", "spec_version"}} == {
        key: value for key, value in tree.items() if key not in {"data", "spec_version"}
    }


def test_edits_of_each_kind() -> None:
    """Lists, assets, books and absent values are written as the specification has them."""
    book = Lorebook.of({"entries": {"0": {"uid": 0, "key": ["k"], "content": "x"}}})
    edited = of().replace(
        tags=("a",), nickname="Mi", assets=(CardAsset("icon", "ccdefault:", "main", "png"),), book=book, creation_date=5
    )
    data = edited.to_dict()["data"]
    assert (data["tags"], data["nickname"], data["creation_date"]) == (["a"], "Mi", 5)
    assert data["assets"] == [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}]
    assert data["character_book"]["entries"][0]["keys"] == ["k"]
    assert "nickname" not in edited.replace(nickname=None).to_dict()["data"]
    with pytest.raises(UnknownNameError):
        of().replace(nickmane="x")


def test_mirrored_v1_fields_follow() -> None:
    """Where a V2 card repeats a field for old readers, the copy follows the edit; one that differs is left."""
    character = Character.of(card(description="same", scenario="in data") | {"description": "same", "scenario": "own"})
    tree = character.replace(description="new", scenario="other").to_dict()
    assert (tree["description"], tree["data"]["description"], tree["scenario"]) == ("new", "new", "own")


def test_v1_cards_are_edited_and_taken_to_v2() -> None:
    """A V1 card has V1 fields only; as V2 or V3 it has all that is demanded, and what was unknown."""
    character = Character.of(json.dumps(V1 | {"talkativeness": 0.2}))
    assert character.replace(description="new").to_dict() == V1 | {"talkativeness": 0.2, "description": "new"}
    with pytest.raises(UsageError, match="no field 'system_prompt'"):
        character.replace(system_prompt="x")
    for version in ("v2", "v3"):
        taken = character.to_version(version)
        assert (taken.version, taken.first_mes, taken.talkativeness) == (version, "Come in.", 0.2)
        assert taken.to_dict()["unknown"] == [1]
        assert taken.findings == ()
    assert character.to_version("v1") is character
    with pytest.raises(UsageError):
        of().to_version("v1")


def test_of_remembers_and_passes_through() -> None:
    """Equal content gives the same object, a character itself; equal data hash alike."""
    tree = card(description="remembered")
    character = Character.of(tree)
    assert Character.of(json.loads(json.dumps(tree))) is character
    assert Character.of(character) is character
    assert character.digest == Character.of(tree).digest


def test_a_character_in_a_request_is_its_card() -> None:
    """Requests write typed assets as the JSON they were read from, and read it back."""
    character, book = Character.of(card()), Lorebook.of({"entries": []})
    request = BuildRequest(character=character, lorebooks=(book,), group={"members": [character]})
    told = request.to_dict()
    assert told["character"] == card()
    assert told["lorebooks"] == ({"entries": []},)
    assert Character.of(BuildRequest.of(told).character) == character
    assert BuildRequest.of(told).to_json() == request.to_json()


GOOD = [path for path in shared.files("fixtures/tavern_kit/characters", "*.json") if "invalid" not in path.name]


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_cards_made_by_others(path: Path) -> None:
    """Sound cards of another project are read without complaint and written as they were."""
    character = Character.of(path.read_bytes())
    assert character.name
    assert character.findings == ()
    assert character.to_json() == path.read_bytes()


@pytest.mark.parametrize(
    ("name", "error"), [("invalid_missing_name.json", AssetError), ("invalid_missing_spec.json", AssetError)]
)
def test_broken_cards_made_by_others(name: str, error: type[Exception]) -> None:
    """Broken cards of another project are refused for what is wrong with them."""
    with pytest.raises(error):
        Character.of(shared.need(f"fixtures/tavern_kit/characters/{name}").read_bytes())


def test_flat_cards_keep_the_fields_of_later_versions() -> None:
    """A card whose fields stand on the card itself has those of V2 and V3 too, and keeps them when it becomes one."""
    flat = {
        "name": "Mira",
        "system_prompt": "SP",
        "post_history_instructions": "PHI",
        "alternate_greetings": ["Hm."],
        "character_book": {"entries": [{"keys": ["reef"], "content": "A bell."}]},
        "extensions": {"depth_prompt": {"prompt": "Low.", "depth": 2, "role": "user"}},
        "nickname": "Mi",
    }
    card = Character.of(flat)
    later = card.to_version("v3")
    for each in (card, later):
        assert (each.system_prompt, each.post_history_instructions, each.nickname) == ("SP", "PHI", "Mi")
        assert each.alternate_greetings == ("Hm.",)
        assert each.book is not None
        assert [entry.content for entry in each.book.entries] == ["A bell."]
        assert each.depth_prompt is not None
        assert (each.depth_prompt.prompt, each.depth_prompt.depth) == ("Low.", 2)
    assert later.raw.keys() == {"spec", "spec_version", "data"}
    assert card.replace(system_prompt="S2").system_prompt == "S2"
