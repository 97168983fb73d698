"""One file with its edits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from innkeeper.content.files.formats import card_bytes, open_card
from innkeeper.content.files.loading import load_asset
from innkeeper.prompt.errors import InputError, UnsupportedError, UsageError
from innkeeper.service.inspector.views.workspace import Edit
from innkeeper.service.inspector.workspace.picture import PNG
from innkeeper.service.inspector.workspace.saving import exported, formats_of, saved_bytes
from innkeeper.service.inspector.workspace.working import WorkingFile
from tests.service.inspector.opened import EXAMPLES

CARD = (EXAMPLES / "wenna.png").read_bytes()
BOOK = (EXAMPLES / "larks.lorebook.json").read_bytes()
CHAT = (EXAMPLES / "wenna.chat.jsonl").read_bytes()


def opened(data: bytes, name: str = "file") -> WorkingFile:
    """A file that is open."""
    return WorkingFile("f", name, data)


def change(file: WorkingFile, *path: Any, value: Any) -> WorkingFile:
    """The file with a value at a place."""
    file.apply(Edit(file="f", path=path), value)
    return file


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("wenna.png", "character"),
        ("tobin.json", "character"),
        ("larks.lorebook.json", "lorebook"),
        ("ansel.persona.json", "persona"),
        ("skerrow.preset.json", "preset"),
        ("plain.context.json", "preset"),
        ("wenna.chat.jsonl", "chat"),
        ("profile.toml", "profile"),
        ("README.md", "other"),
    ],
)
def test_content_decides_what_a_file_is(name: str, kind: str) -> None:
    """A name decides nothing but what a profile is."""
    file = opened((EXAMPLES / name).read_bytes(), name if kind == "profile" else "x")
    assert file.kind == kind
    assert not file.changed
    assert saved_bytes(file) == (EXAMPLES / name).read_bytes()
    assert (file.problem is None) is (kind != "other")


@pytest.mark.parametrize("data", [b"", b"{", b"\x89PNG\r\n\x1a\n", b"PK\3\4", b"[[[[", b"\xff" * 90, b'{"spec": 3}'])
def test_what_cannot_be_read_says_why(data: bytes) -> None:
    """It is of no known kind, with a finding, and is not edited."""
    file = opened(data)
    assert file.kind == "other"
    assert file.findings[0].level == "error"
    with pytest.raises(UsageError):
        change(file, "a", value=1)
    assert saved_bytes(file) == data


def test_a_book_keeps_all_that_was_not_edited() -> None:
    """Bytes outside the edited values are as they were, fields that nobody knows included."""
    data = BOOK.replace(b'"entries"', b'"nobody_knows": {"x":  [1,2]}, "entries"', 1)
    file = change(opened(data), "entries", "1", "content", value="New.")
    assert file.changed
    written = saved_bytes(file)
    before = json.loads(data)["entries"]["1"]["content"]
    assert written == data.replace(json.dumps(before, ensure_ascii=False).encode(), b'"New."')


def test_a_card_stays_in_its_picture() -> None:
    """The picture of what is saved is that of what was opened; both versions of the card have the edit."""
    file = change(opened(CARD), "data", "personality", value="Loud.")
    written = saved_bytes(file)
    again = open_card(written)
    assert again.character.personality == "Loud."
    assert opened(written).picture() == opened(CARD).picture()
    assert {**again.character.raw["data"], "personality": ""} == {
        **open_card(CARD).character.raw["data"],
        "personality": "",
    }


def test_lines_of_a_chat_that_were_not_edited_keep_their_bytes() -> None:
    """Only the line of the edited message is another; a removed one is gone, an added one is there."""
    file = change(opened(CHAT), "messages", 1, "mes", value="No.")
    before, after = CHAT.splitlines(), saved_bytes(file).splitlines()
    assert [one != other for one, other in zip(before, after, strict=True)] == [False, False, True, False]
    assert json.loads(after[2])["mes"] == "No."
    file.apply(Edit(file="f", path=("messages", 0), remove=True))
    file.apply(Edit(file="f", path=("messages", 0), insert=True), {"name": "A", "is_user": True, "mes": "First."})
    texts = [one.text for one in load_asset(saved_bytes(file)).messages]
    assert texts[:2] == ["First.", "No."]
    header = saved_bytes(change(opened(CHAT), "header", "user_name", value="Ada")).splitlines()
    assert header[1:] == before[1:]
    assert json.loads(header[0])["user_name"] == "Ada"


def test_a_chat_as_one_document_stays_one() -> None:
    """A list of messages of an API, or an object with them, is written in its own form."""
    for data in (
        b'[ {"role": "user",  "content": "Hi"}, {"role": "assistant", "content": "Ho"} ]',
        b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}',
    ):
        file = change(opened(data), "messages", 0, "content", value="Bye")
        assert file.kind == "chat"
        assert saved_bytes(file) == data.replace(b'"Hi"', b'"Bye"')


def test_the_system_text_of_a_document_is_its_first_message() -> None:
    """It is written where it stood; what the document has no place for is refused and not lost."""
    data = b'{"system": "Be kind.", "messages": [{"role": "user", "content": "Hi"}]}'
    file = opened(data)
    assert [message["content"] for message in file.tree["messages"]] == ["Be kind.", "Hi"]
    change(file, "messages", 0, "content", value="Be brief.")
    change(file, "messages", 1, "content", value="Bye")
    assert saved_bytes(file) == data.replace(b"kind", b"brief").replace(b"Hi", b"Bye")
    file.apply(Edit(file="f", path=("messages", 2)), {"role": "assistant", "content": "Ho"})
    assert [one.text for one in load_asset(saved_bytes(file)).messages] == ["Be brief.", "Bye", "Ho"]
    with pytest.raises(UnsupportedError):
        saved_bytes(change(file, "header", value={"user_name": "a", "character_name": "b"}))
    assert load_asset(exported(file, "jsonl")[1]).user_name == "a"


def test_while_an_edit_makes_it_unreadable_the_last_that_was_read_is_built_of() -> None:
    """A finding says so; saving is refused; the next good edit mends it."""
    file = opened(CARD)
    change(file, "data", "name", value="")
    assert file.asset.name == "Wenna Carrow"
    assert file.findings[0].level == "error"
    with pytest.raises(InputError):
        saved_bytes(file)
    change(file, "data", "name", value="Other")
    assert file.asset.name == "Other"
    assert not [one for one in file.findings if one.level == "error"]
    file.revert()
    assert not file.changed
    assert file.asset.name == "Wenna Carrow"


def test_an_edit_that_is_taken_back_is_none() -> None:
    """Typing what was there leaves the file as it was saved."""
    file = opened(CARD)
    before = file.tree["data"]["personality"]
    change(file, "data", "personality", value="x")
    change(file, "data", "personality", value=before)
    assert not file.changed
    assert saved_bytes(file) == CARD


@pytest.mark.parametrize(
    ("data", "formats"),
    [
        (CARD, ("v2", "v3", "png", "charx", "lorebook")),
        (BOOK, ("json", "world", "card_book")),
        (CHAT, ("jsonl",)),
        ((EXAMPLES / "skerrow.preset.json").read_bytes(), ("json",)),
    ],
)
def test_it_is_exported_in_every_form_that_there_is(data: bytes, formats: tuple[str, ...]) -> None:
    """What is written is read again as what it is, edits included."""
    file = opened(data, "a/b.png")
    assert formats_of(file) == formats
    for form in formats:
        name, written = exported(file, form)
        assert name.startswith("b.")
        asset = load_asset(written) if form != "card_book" else None
        assert asset is None or type(asset).__name__ in {"Character", "Lorebook", "ChatLog", "PresetFile"}
    with pytest.raises(UsageError):
        exported(file, "exe")


def test_an_export_has_the_edits() -> None:
    """Also in another version of the card."""
    file = change(opened(CARD), "data", "personality", value="Loud.")
    for form in ("v2", "v3", "png", "charx"):
        assert open_card(exported(file, form)[1]).character.personality == "Loud."


def test_a_picture_is_a_picture_and_nothing_else() -> None:
    """No text of the card, nothing behind its end; what is no PNG, or too large to unpack, is none."""
    picture = opened(CARD + b"<script>").picture()
    assert picture is not None
    assert picture.startswith(PNG)
    assert b"chara" not in picture
    assert b"<script>" not in picture
    assert len(picture) < len(CARD)
    huge = CARD.replace(CARD[16:24], b"\x00\x01\x00\x00\x00\x01\x00\x00", 1)
    assert WorkingFile("f", "x", huge).picture() is None
    card = open_card(CARD).character
    assert opened(card_bytes(open_card(CARD), "json")).picture() is None
    assert card.name == "Wenna Carrow"


def test_a_picture_that_is_only_named_is_none() -> None:
    """A card that names the picture it came in, and came in none, has none to ask for."""
    assets = [{"type": "icon", "name": "main", "uri": "ccdefault:", "ext": "png"}]
    card = {"spec": "chara_card_v3", "spec_version": "3.0", "data": {"name": "A", "assets": assets}}
    named = opened(json.dumps(card).encode())
    assert not named.has_picture
    assert opened(CARD).has_picture


def test_a_broken_file_is_mended_as_text() -> None:
    """It says where it is broken; written as JSON it is what it is, saved as written, edited, and taken back."""
    broken = b'{"spec": "chara_card_v2",\n "data": {"name": "Mira" "description": "Calm."}}'
    file = WorkingFile("f", "card.json", broken)
    (finding,) = file.findings
    assert (file.kind, finding.rule, finding.line, finding.column) == ("other", "json", 2, 26)
    mended = broken.decode().replace('"Mira" ', '"Mira", ')
    file.apply(Edit(file="f", path=()), mended)
    assert (file.kind, file.changed, saved_bytes(file)) == ("character", True, mended.encode())
    file.apply(Edit(file="f", path=("data", "name")), "Bram")
    assert saved_bytes(file) == mended.replace("Mira", "Bram").encode()
    file.revert()
    assert (file.kind, file.changed, saved_bytes(file)) == ("other", False, broken)


def test_json_lines_of_any_kind_are_no_fault() -> None:
    """They are shown as text; a line that is none is named."""
    assert WorkingFile("f", "rows.jsonl", b'{"id": 1}\n\n{"id": 2}\n').findings == ()
    (finding,) = WorkingFile("f", "rows.jsonl", b'{"id": 1}\n{"id":\n').findings
    assert (finding.rule, finding.line) == ("json", 2)
