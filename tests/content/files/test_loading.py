"""Loading: one reader for each kind of asset, from a path or from bytes."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content import (
    LIMITS,
    Character,
    JsonError,
    Lorebook,
    MissingFileError,
    WrongKindError,
    load_asset,
    load_character,
    load_chat,
    load_lorebook,
    load_persona,
    load_personas,
    load_preset,
    load_preset_file,
    open_card,
)
from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError
from tests import shared
from tests.content.builders import archive, attempt, card, card_json, card_png, png

LOADERS: list[Callable[[Any], Any]] = [
    load_character,
    load_chat,
    load_lorebook,
    load_persona,
    load_personas,
    load_preset,
    load_preset_file,
]
BOOK = {"name": "B", "entries": [{"keys": ["a"], "content": "x", "enabled": True}]}


@pytest.mark.parametrize("load", [load_asset, *LOADERS], ids=lambda load: load.__name__)
def test_a_missing_file(load: Callable[[Any], Any], tmp_path: Path) -> None:
    """Every loader says which file it could not open."""
    with pytest.raises(MissingFileError) as caught:
        load(tmp_path / "nowhere.json")
    assert caught.value.where is not None
    assert caught.value.where.asset == str(tmp_path / "nowhere.json")


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
def test_errors_name_the_file(load: Callable[[Any], Any], tmp_path: Path) -> None:
    """Text that is not JSON is an error with the file's name, in every loader."""
    path = tmp_path / "broken.json"
    path.write_bytes(b'{"name": oops}')
    with pytest.raises(FormatError) as caught:
        load(path)
    assert caught.value.where is not None
    assert (caught.value.where.asset, caught.value.where.line) == (str(path), 1)


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
@given(data=st.binary(max_size=80))
def test_any_bytes(load: Callable[[Any], Any], data: bytes) -> None:
    """Whatever the bytes are, the answer is a value or an error of ours."""
    assert attempt(lambda: load(data)) is not None


@pytest.mark.parametrize(
    "data",
    [
        card_json(),
        card_png(),
        archive({"card.json": card_json("v3")}),
        b"\xff\xd8\xff" + archive({"card.json": card_json()}),
    ],
    ids=["json", "png", "charx", "charx behind a jpeg"],
)
def test_a_character_from_every_container(data: bytes, tmp_path: Path) -> None:
    """The content decides what a file is, its name does not matter."""
    path = tmp_path / "card.txt"
    path.write_bytes(data)
    for source in (path, str(path), data, bytearray(data)):
        assert load_character(source).name == "Mira"


def test_a_lorebook_from_every_place() -> None:
    """A book on its own, the one in a card, and the one in an image or archive."""
    inside = card_json("v3", character_book=BOOK)
    for data in (json.dumps(BOOK).encode(), inside, card_png(inside, "ccv3"), archive({"card.json": inside})):
        book = load_lorebook(data)
        assert (book.name, book.entries[0].keys) == ("B", ("a",))
    with pytest.raises(WrongKindError, match="the card has no lorebook"):
        load_lorebook(card_json())
    assert json.loads(load_lorebook(inside).to_json()) == BOOK


def test_other_images_hold_no_card() -> None:
    """A picture in another format is named for what it is."""
    for data, found in (
        (b"\xff\xd8\xff\xe0" + b"x" * 50, "jpeg"),
        (b"GIF89a" + b"x" * 20, "gif"),
        (b"RIFFxxxxWEBPVP8 ", "webp"),
    ):
        with pytest.raises(WrongKindError) as caught:
            load_character(data)
        assert caught.value.found == found


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", JsonError),
        (b"\xff\xfe\x00", JsonError),
        ('{"name": "é"}'.encode("cp1252"), JsonError),
        (b"%PDF-1.4", JsonError),
    ],
    ids=["empty", "broken utf-16", "cp1252", "pdf"],
)
def test_text_that_cannot_be_read(data: bytes, error: type[Exception]) -> None:
    """Text in another encoding, and no text at all, are typed errors."""
    with pytest.raises(error):
        load_character(data)


def test_the_size_of_a_card_is_limited() -> None:
    """An image or text beyond the limit is refused, an archive has its own."""
    small = msgspec.structs.replace(LIMITS, file_bytes=100)
    for data in (card_png(), card_json(description="x" * 100), png(b"x" * 100)):
        with pytest.raises(LimitError) as caught:
            load_character(data, limits=small)
        assert caught.value.limit == "file_bytes"
    with pytest.raises(LimitError) as caught:
        open_card(archive({"card.json": card_json()}), limits=msgspec.structs.replace(LIMITS, archive_bytes=50))
    assert caught.value.limit == "archive_bytes"


def test_what_is_loaded_equals_what_is_given() -> None:
    """A file and the same data give equal fields."""
    assert load_character(card_json()).description == Character.of(card()).description
    assert load_lorebook(json.dumps(BOOK).encode()).entries == Lorebook.of(BOOK).entries


@pytest.mark.parametrize(
    "path", shared.files("fixtures/tavern_kit"), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_every_file_made_by_others(path: Path) -> None:
    """Each file of the fixtures is read by its own loader or refused with a typed error by every other."""
    read = [load.__name__ for load in LOADERS if not isinstance(attempt(partial(load, path)), InnkeeperError)]
    folder = path.parent.name
    broken = "invalid" in path.name or path.name in {"base.png", "LICENSE.txt"}
    wanted = {"characters": "load_character", "presets": "load_preset", "lorebooks": "load_lorebook"}.get(folder)
    wanted = "load_lorebook" if folder == "world_info" else wanted
    if broken:
        assert read == []
    elif wanted:
        assert wanted in read


FILES = {
    "card": (card_json(), "Character"),
    "card in a picture": (card_png(), "Character"),
    "card in an archive": (archive({"card.json": card_json()}), "Character"),
    "lorebook": (json.dumps(BOOK).encode(), "Lorebook"),
    "persona": (b'{"name": "Ann", "description": "A tall woman."}', "Persona"),
    "chat": (b'{"user_name": "A", "character_name": "B"}\n{"name": "B", "is_user": false, "mes": "Hi"}', "ChatLog"),
    "context template": (b'{"name": "C", "story_string": "{{description}}"}', "PresetFile"),
    "something of the caller's": (b'{"message": "Hello"}', "bytes"),
}


@pytest.mark.parametrize(("data", "kind"), FILES.values(), ids=FILES)
def test_an_asset_is_told_by_its_content(data: bytes, kind: str, tmp_path: Path) -> None:
    """A file of any kind, from a path and from bytes, gives its asset; JSON of no known kind goes to who asked for it."""
    path = tmp_path / "file"
    path.write_bytes(data)
    for source in (data, path):
        assert type(load_asset(source, unknown=lambda given: given)).__name__ == kind


def test_a_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much has to be looked at to tell what it is."""
    path, plain = tmp_path / "card.png", Path.open
    opened: list[Path] = []

    def noted(self: Path, *mode: Any) -> Any:
        opened.append(self)
        return plain(self, *mode)

    path.write_bytes(card_png())
    monkeypatch.setattr(Path, "open", noted)
    load_asset(path)
    assert opened == [path]


@pytest.mark.parametrize(
    ("data", "words"),
    [(png(), r"no card, persona, lorebook, preset or chat \(image\)"), (b'{"a": 1}', "unknown")],
    ids=["picture", "unknown"],
)
def test_what_is_no_asset_says_why(data: bytes, words: str, tmp_path: Path) -> None:
    """An error with the file's name and the reason."""
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(WrongKindError, match=words) as caught:
        load_asset(path)
    assert caught.value.where is not None
    assert caught.value.where.asset == str(path)


def test_where_a_file_stops_to_be_json() -> None:
    """Whatever the file was meant to be, the place is told."""
    with pytest.raises(JsonError) as caught:
        load_asset(b'{"name": "A"\n"description": ""}')
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (2, 1)


def test_a_book_without_a_name_is_called_by_its_file(tmp_path: Path) -> None:
    """SillyTavern's books have no name inside; one that has keeps it, and the bytes stay as they are."""
    entries = {"entries": {"0": {"uid": 0, "key": ["a"], "content": "b"}}}
    for name, raw in (("Barrels", entries), ("Named", {**entries, "name": "Own"})):
        (tmp_path / f"{name}.json").write_text(json.dumps(raw))
    book = load_lorebook(tmp_path / "Barrels.json")
    assert (book.name, book.raw) == ("Barrels", entries)
    assert load_asset(tmp_path / "Barrels.json").name == "Barrels"
    assert load_lorebook(tmp_path / "Named.json").name == "Own"
