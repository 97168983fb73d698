"""CHARX: the card, its assets, what is kept beside them, and writing one."""

import io
import json
import zipfile

import pytest
from hypothesis import given

from innkeeper.content import AssetError, CardFile, Character, JsonError, Level, card_bytes, open_card
from innkeeper.content.card_versions import asset_folder
from innkeeper.content.files.risu import RisuModule, module_bytes
from innkeeper.prompt.errors import InnkeeperError, UsageError
from tests import shared
from tests.content.builders import archive, attempt, card_json, card_png, cards

ICON = {"type": "icon", "uri": "embeded://assets/icon/images/main.png", "name": "main", "ext": "png"}
FILES = {
    "card.json": card_json("v3", assets=[ICON]),
    "assets/icon/images/main.png": b"picture",
    "module.risum": b"o\0module",
    "x_meta/main.json": b"{}",
    "notes.txt": b"spare",
}


@pytest.mark.parametrize("prefix", [b"", b"\xff\xd8\xff\xe0" + b"picture" * 200], ids=["bare", "behind a jpeg"])
def test_a_card_with_its_files(prefix: bytes) -> None:
    """The card is read, its assets are found, and other files are kept and said."""
    opened = open_card(archive(FILES, prefix=prefix))
    assert (opened.kind, opened.character.name, opened.icon()) == ("charx", "Mira", b"picture")
    assert opened.names == tuple(name for name in FILES if name != "card.json")
    assert opened.read("module.risum") == b"o\0module"
    assert [(finding.rule, finding.level) for finding in opened.findings] == [
        ("kept-not-read", Level.INFO),
        ("kept-not-read", Level.INFO),
        ("spare-file", Level.INFO),
    ]


def test_a_missing_asset_is_said() -> None:
    """An asset that is not in the archive costs only the asset."""
    opened = open_card(archive({"card.json": FILES["card.json"]}))
    assert opened.icon() is None
    assert [(finding.rule, finding.level) for finding in opened.findings] == [("missing-asset", Level.WARNING)]


def test_a_hundred_spare_files_are_said_briefly() -> None:
    """A long list of files is cut in the findings."""
    opened = open_card(archive({"card.json": card_json("v3"), **{f"f{n}.bin": b"x" for n in range(100)}}))
    assert len(opened.findings) == 21
    assert "and 80 more" in opened.findings[-1].message


def test_an_older_card_inside_is_read_and_said() -> None:
    """The format asks for V3; a V2 card is read all the same."""
    opened = open_card(archive({"card.json": card_json("v2")}))
    assert opened.character.version == "v2"
    assert [finding.rule for finding in opened.findings] == ["charx-version"]


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"other.json": b"{}"}, AssetError),
        ({"folder/card.json": b"{}"}, AssetError),
        ({"card.json": b"{"}, JsonError),
        ({"card.json": card_json("v3", name="")}, AssetError),
    ],
    ids=["no card", "card in a folder", "no json", "no name"],
)
def test_archives_that_are_refused(files: dict[str, bytes], error: type[Exception]) -> None:
    """An archive without a sound card at its root is a typed error."""
    with pytest.raises(error):
        open_card(archive(files))


def test_asking_for_a_file_that_is_not_there() -> None:
    """A name that the card file does not list is a caller's mistake."""
    opened = open_card(archive(FILES))
    for name in ("card.json", "../card.json", "nowhere"):
        with pytest.raises(UsageError):
            opened.read(name)


def test_what_is_written_is_read() -> None:
    """A CHARX written again has the same card and the same files, and equal bytes each time."""
    opened = open_card(archive(FILES))
    data = card_bytes(opened, "charx")
    again = open_card(data)
    assert again.character.to_json() == opened.character.to_json()
    assert {name: again.read(name) for name in again.names} == {name: opened.read(name) for name in opened.names}
    assert card_bytes(again, "charx") == data
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        assert made.testzip() is None
        assert {info.date_time[0] for info in made.infolist()} == {1980}


def test_an_image_becomes_the_main_icon() -> None:
    """The image that held the card goes into the archive, and the card says where."""
    data = card_png(card_json("v2"))
    made = open_card(card_bytes(open_card(data), "charx"))
    assert (made.character.version, made.icon()) == ("v3", data)
    assert json.loads(made.character.to_json())["data"]["assets"][0]["uri"] == "embeded://assets/icon/images/main.png"


def test_files_that_are_elsewhere_stay_there() -> None:
    """Addresses and data in the card itself are not touched."""
    assets = [{"type": "icon", "uri": "https://example.com/a.png", "name": "main", "ext": "png"}]
    made = open_card(card_bytes(open_card(card_json("v3", assets=assets)), "charx"))
    assert (made.character.assets[0].uri, made.names) == ("https://example.com/a.png", ())


@given(tree=cards())
def test_a_card_survives_an_archive(tree: dict[str, object]) -> None:
    """Any V3 card is in the archive byte for byte; any V2 card as V3."""
    character = attempt(lambda: Character.of(tree))
    if isinstance(character, InnkeeperError):
        return
    read = attempt(lambda: open_card(card_bytes(CardFile(character, "json"), "charx")))
    assert isinstance(read, CardFile)
    assert read.character.to_json() == character.to_version("v3").to_json()


@pytest.mark.parametrize(
    ("type_", "ext", "folder"),
    [
        ("icon", "png", "assets/icon/images"),
        ("x_voice", "mp3", "assets/x_voice/audio"),
        ("background", "webm", "assets/background/video"),
        ("other", "vrm", "assets/other/3d"),
        ("", "xyz", "assets/other/other"),
    ],
)
def test_folders_of_assets(type_: str, ext: str, folder: str) -> None:
    """Files are kept where the specification wants them."""
    assert asset_folder(type_, ext) == folder


@pytest.mark.parametrize(
    ("name", "entries", "files"),
    [("test_character.charx", 0, 2), ("test_character_with_lorebook.charx", 2, 1)],
)
def test_archives_made_by_others(name: str, entries: int, files: int) -> None:
    """Archives of another project give their card, book and files."""
    opened = open_card(shared.need(f"fixtures/tavern_kit/characters/{name}"))
    book = opened.character.book
    assert (len(book.entries) if book else 0, len(opened.names)) == (entries, files)
    assert (opened.icon() or b"").startswith(b"\x89PNG")


def test_names_inside_do_not_collide() -> None:
    """An asset whose place is taken gets another name."""
    icon = {"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}
    taken = card_json("v3", assets=[icon, {**icon, "type": "x", "uri": "data:image/png;base64,"}, icon])
    made = open_card(card_bytes(open_card(card_png(taken, "ccv3")), "charx"))
    assert made.names == ("assets/icon/images/main.png", "assets/icon/images/main-2.png")


MODULE = {
    "name": "Pier",
    "regex": [{"in": "a", "out": "b", "type": "editprocess"}],
    "trigger": [{"comment": "t", "type": "start"}],
    "lorebook": [{"key": "reef", "content": "A bell.", "comment": "Bell"}],
}


def test_a_module_replaces_scripts_and_lorebook() -> None:
    """As RisuAI has it; the files of the archive are as they were."""
    packed = module_bytes(RisuModule(MODULE))
    book = {"scan_depth": 3, "entries": [{"keys": ["old"], "content": "Old."}]}
    extensions = {"risuai": {"customScripts": [], "defaultVariables": "hp=3"}}
    opened = open_card(
        archive({"card.json": card_json("v3", character_book=book, extensions=extensions), "module.risum": packed})
    )
    own, lorebook = opened.character.extensions["risuai"], opened.character.book
    assert (own["customScripts"], own["triggerscript"]) == (MODULE["regex"], MODULE["trigger"])
    assert own["defaultVariables"] == "hp=3"
    assert lorebook is not None
    assert (lorebook.scan_depth, [entry.content for entry in lorebook.entries]) == (3, ["A bell."])
    assert opened.findings == ()
    assert opened.read("module.risum") == packed
    assert json.loads(opened.character.to_json())["data"]["extensions"] == extensions
