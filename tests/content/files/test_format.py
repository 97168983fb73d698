"""What a file format is: how it begins, what it holds, and the registry that chooses one."""

from __future__ import annotations

from contextlib import nullcontext

import msgspec
import pytest

from innkeeper.content.character import Character
from innkeeper.content.errors import LIMITS, WrongKindError
from innkeeper.content.files.format import CardFile, Format, Formats, OpenFile
from innkeeper.content.files.reader import Reader
from innkeeper.prompt.errors import LimitError
from tests.content import builders

PLAIN = Format(name="plain", magic=(b"AB", b"AC"))
JSON = Format(name="json", begins=lambda head: head.lstrip().startswith(b"{"), kind=lambda _: "anything")
BOX = Format(name="box", magic=(b"BX",), may_precede_archive=True)
ZIP = Format(name="zip", magic=(b"PK",))
CARDS = Format(name="cards", member="card.json")
FORMATS = Formats(PLAIN, BOX, ZIP, JSON, CARDS)
EMPTY_ZIP = b"PK\x05\x06" + bytes(18)


@pytest.mark.parametrize(
    ("form", "head", "begins"),
    [(PLAIN, b"AB..", True), (PLAIN, b"AC", True), (PLAIN, b"A", False), (JSON, b"  {", True), (CARDS, b"AB", False)],
)
def test_a_file_begins_with_a_format(form: Format, head: bytes, begins: bool) -> None:
    """One of its magic bytes, or its own test; a format with neither begins no file."""
    assert form.begins_with(head) is begins


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"AB", "plain"),
        (b"AB" + EMPTY_ZIP, "plain"),
        (b"BX", "box"),
        (b"BX" + EMPTY_ZIP, "zip"),
        (b"??" + EMPTY_ZIP, "zip"),
        (b"??", "json"),
        (b"", "json"),
    ],
    ids=["magic", "magic decides", "box", "archive behind a box", "archive behind anything", "unknown", "empty"],
)
def test_the_format_of_a_file(data: bytes, name: str) -> None:
    """The first format that begins so; an archive behind bytes that allow it comes first; what nothing knows may be JSON."""
    with Reader(data, LIMITS) as reader:
        assert OpenFile(reader, data, FORMATS).format.name == name


def test_files_that_are_not_read_are_named() -> None:
    """A format without a kind or a card raises `WrongKindError` with its name."""
    with Reader(b"AB", LIMITS) as reader:
        file = OpenFile(reader, b"AB", FORMATS)
        assert JSON.kind_of(file) == "anything"
        with pytest.raises(WrongKindError, match="plain"):
            PLAIN.kind_of(file)
        with pytest.raises(WrongKindError, match="plain"):
            PLAIN.card(file)


def test_a_card_is_read_within_the_formats_limit() -> None:
    """The whole file is held against the format's own limit before the card is opened."""
    opened: list[bool] = []
    card = CardFile(Character.of(builders.card()), "small")

    def open_card(_file: OpenFile, lenient: bool) -> CardFile:
        opened.append(lenient)
        return card

    form = Format(name="small", open_card=open_card, size_limit="archive_bytes")
    for allowed, error in ((2, nullcontext()), (1, pytest.raises(LimitError))):
        limits = msgspec.structs.replace(LIMITS, archive_bytes=allowed)
        with Reader(b"AB", limits) as reader, error:
            assert form.card(OpenFile(reader, b"AB", FORMATS), lenient=True) is card
    assert opened == [True]


def test_an_archive_is_of_the_format_whose_file_it_holds() -> None:
    """The archive's members tell its format; without any of them it is none."""
    for files, expected in (({"card.json": b"{}"}, CARDS), ({"other.json": b"{}"}, None)):
        data = builders.archive(files)
        with Reader(data, LIMITS) as reader:
            file = OpenFile(reader, data, FORMATS)
            assert FORMATS.inside(file.archive) is expected
            assert file.member(next(iter(files))) == b"{}"
