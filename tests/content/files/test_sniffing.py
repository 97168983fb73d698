"""What a file is, by its content; and by which fields JSON is told apart."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.content import LIMITS, Sniffed, sniff
from innkeeper.content.json.kinds import kind_of_json
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


@settings(max_examples=60)
@given(tree=values)
def test_any_json(tree: Any) -> None:
    """Every JSON value has a kind."""
    assert isinstance(kind_of_json(tree), str)


@settings(max_examples=100)
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
