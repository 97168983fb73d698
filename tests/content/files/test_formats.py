"""What a file is, by its content; and by which fields JSON is told apart."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content import LIMITS, AssetError, CardFile, Character, Sniffed, card_bytes, open_card, save_card, sniff
from innkeeper.content.files.format import Format, OpenFile
from innkeeper.content.files.formats import FORMATS
from innkeeper.content.json.json_asset import kind_of_json
from innkeeper.prompt.errors import LimitError, UsageError
from tests import shared
from tests.content.builders import archive, card, card_json, card_png, png, values


@pytest.mark.parametrize(
    ("data", "container", "kind"),
    [
        (card_json(), "json", "character"),
        (b" \n\t" + card_json(), "json", "character"),
        (b"\xef\xbb\xbf" + card_json(), "json", "character"),
        (card_json().decode().encode("utf-16"), "json", "character"),
        (card_png(), "png", "character"),
        (png(), "png", "image"),
        (b"\xff\xd8\xff\xe0" + b"x" * 99, "jpeg", "image"),
        (b"\xff\xd8\xff\xe0" + archive({"card.json": b"{}"}), "zip", "character"),
        (archive({"manifest.json": b"{}"}), "zip", "character"),
        (archive({"a.txt": b"x"}), "zip", "archive"),
        (b'{"user_name":"a","character_name":"b"}\n{"mes":"x"}', "json", "chat"),
        (b'{"mes":"x","is_user":true}\n{"mes":"y"}', "json", "chat"),
        (b"o\0\0\0", "risum", "unknown"),
        (b"", "json", "unknown"),
        (b"hello", "json", "unknown"),
        (b"\x89PNG\r\n\x1a\n", "png", "unknown"),
        (b"PK\3\4broken", "zip", "unknown"),
    ],
    ids=range(17),
)
def test_files(data: bytes, container: str, kind: str) -> None:
    """Container and kind, whatever the name; what cannot be read says why."""
    found = sniff(data)
    assert (found.container, found.kind) == (container, kind)
    assert (found.reason is not None) == (kind == "unknown")


@pytest.mark.parametrize(
    ("tree", "kind"),
    [
        (card(), "character"),
        ({"name": "x", "description": "y", "first_mes": "z"}, "character"),
        ({"char_name": "x", "char_persona": "y"}, "character"),
        ({"name": "x", "description": "y", "type": "threaded", "message": []}, "character"),
        ({"name": "x", "message": [], "world_book": {}}, "character"),
        ({"entries": {}}, "lorebook"),
        ({"spec": "lorebook_v3", "data": {}}, "lorebook"),
        ({"type": "risu", "data": []}, "lorebook"),
        ({"lorebookVersion": 5, "entries": []}, "lorebook"),
        ({"prompts": []}, "chat preset"),
        ({"input_sequence": "", "output_sequence": ""}, "instruct template"),
        ({"story_string": ""}, "context template"),
        ({"name": "x", "content": "y"}, "system prompt"),
        ({"prefix": "", "suffix": "", "separator": ""}, "reasoning template"),
        ({"temp": 1, "top_p": 1, "top_k": 1}, "text preset"),
        ({"instruct": {}, "context": {}}, "master export"),
        ({"personas": {}, "persona_descriptions": {}}, "persona"),
        ({"name": "x", "description": "y"}, "persona"),
        ({"tavernkit_preset_version": 1}, "tavernkit preset"),
        ({"user_name": "", "character_name": ""}, "chat header"),
        ({"mes": "", "is_user": True}, "chat message"),
        ({"messages": []}, "chat"),
        ([{"role": "user", "content": ""}], "chat"),
        ([{"mes": ""}], "chat"),
        ([{"keys": []}], "lorebook"),
        ([], "unknown"),
        ({}, "unknown"),
        (5, "unknown"),
        (None, "unknown"),
    ],
    ids=json.dumps,
)
def test_kinds(tree: Any, kind: str) -> None:
    """Each kind of JSON is told by its fields."""
    assert kind_of_json(tree) == kind


@given(tree=values)
def test_any_json(tree: Any) -> None:
    """Every JSON value has a kind."""
    assert isinstance(kind_of_json(tree), str)


@given(data=st.binary(max_size=100), start=st.sampled_from([b"", b"PK\3\4", b"{", png(end=False), b"\xff\xd8\xff"]))
def test_any_bytes(data: bytes, start: bytes) -> None:
    """Looking at bytes never fails."""
    assert isinstance(sniff(start + data), Sniffed)


def test_a_file_beyond_the_limits_says_so() -> None:
    """What is too large to be read has a reason, and is not read."""
    small = msgspec.structs.replace(LIMITS, file_bytes=50, chat_bytes=50, archive_bytes=50)
    for data in (card_json(), card_png()):
        found = sniff(data, limits=small)
        assert found.kind == "unknown"
        assert "limit" in (found.reason or "") or "exceeds" in (found.reason or "")


def test_files_made_by_others() -> None:
    """The fixtures are what their folders say."""
    for path in shared.files("fixtures/tavern_kit/characters"):
        if path.name != "base.png":
            assert sniff(path).kind == "character", path
    for path in shared.files("fixtures/tavern_kit/world_info"):
        assert sniff(path) == Sniffed("json", "lorebook")


# ------------------------------------------------------------------------------------------------------ the registry


def _open_note(file: OpenFile, lenient: bool) -> CardFile:
    name = file.reader.all().decode().partition(" ")[2]
    return CardFile(Character.of({**card(), "name": name, "data": {**card()["data"], "name": name}}), "note")


NOTE = Format(
    name="note",
    magic=(b"NOTE",),
    kind=lambda _file: "character",
    open_card=_open_note,
    extensions=("note",),
    write_card=lambda card, _image, _form: b"NOTE " + card.character.name.encode(),
)


def test_a_format_of_ones_own_works_as_the_built_in_ones(tmp_path: Path) -> None:
    """It is sniffed, opened, limited, written and saved by the registry that has it; the one of everybody stays."""
    formats, data = FORMATS.with_(NOTE), b"NOTE Mara"
    assert sniff(data, formats=formats) == Sniffed("note", "character")
    file = open_card(data, formats=formats)
    assert (file.kind, file.character.name) == ("note", "Mara")
    assert card_bytes(file, "note", formats=formats) == data
    save_card(tmp_path / "mara.note", file, formats=formats)
    assert (tmp_path / "mara.note").read_bytes() == data
    with pytest.raises(LimitError):
        open_card(data, limits=msgspec.structs.replace(LIMITS, file_bytes=5), formats=formats)
    assert sniff(data).kind == "unknown"
    with pytest.raises(UsageError, match="not written as 'note'"):
        card_bytes(file, "note")
    with pytest.raises(UsageError, match="no card is written to a note file"):
        save_card(tmp_path / "other.note", file)


def test_an_archive_is_told_by_a_file_in_it() -> None:
    """A format with a member: found behind other bytes too, and named where none of them is there."""
    boxed = Format(
        name="box", member="box.txt", size_limit="archive_bytes", kind=lambda _file: "character",
        open_card=lambda file, _lenient: CardFile(
            Character.of(card()), "box", names=file.archive.names, read=file.member
        ),
    )  # fmt: skip
    formats, data = FORMATS.with_(boxed), b"\xff\xd8\xff" + archive({"box.txt": b"text"})
    file = open_card(data, formats=formats)
    assert (file.kind, file.names, file.read("box.txt")) == ("box", ("box.txt",), b"text")
    with pytest.raises(AssetError, match=r"no card.json \(CHARX\) and no manifest.json \(BYAF\)"):
        open_card(data)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_each_format_is_known_by_how_it_begins_or_by_a_member(name: str) -> None:
    """What is written says so by its extension, and nothing is read that has no limit."""
    each = FORMATS[name]
    assert bool(each.magic) + bool(each.begins) + bool(each.member) == 1
    assert bool(each.extensions) == (each.write_card is not None)
    assert hasattr(LIMITS, each.size_limit)
