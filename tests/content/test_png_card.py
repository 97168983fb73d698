"""Cards in images: which one counts, how it may be coded, how it is put in."""

from base64 import b64encode, urlsafe_b64encode
from dataclasses import dataclass

import pytest
from hypothesis import given, settings

from innkeeper.content import (
    CardNameError,
    Character,
    JsonError,
    Level,
    NoCardError,
    PngChecksumError,
    PngError,
    TruncatedError,
    blank_png,
    embed_in_png,
    open_card,
)
from innkeeper.prompt.errors import InnkeeperError, UsageError
from tests import shared
from tests.content.builders import attempt, card, card_json, card_png, cards, chunk, png, text_chunk

V2 = b64encode(card_json("v2", name="Two"))
V3 = b64encode(card_json("v3", name="Three"))


@dataclass(frozen=True)
class Case:
    """Text chunks, and whose card counts."""

    name: str
    chunks: tuple[bytes, ...]
    expected: str
    rules: tuple[str, ...] = ()


CASES = [
    Case("v2", (text_chunk("chara", V2),), "Two"),
    Case("v3", (text_chunk("ccv3", V3),), "Three"),
    Case("v3 wins behind", (text_chunk("chara", V2), text_chunk("ccv3", V3)), "Three"),
    Case("v3 wins in front", (text_chunk("ccv3", V3), text_chunk("chara", V2)), "Three"),
    Case(
        "the last one wins", (text_chunk("chara", V2), text_chunk("chara", b64encode(card_json(name="Last")))), "Last"
    ),
    Case("keyword in capitals", (text_chunk("CHARA", V2),), "Two"),
    Case("compressed", (text_chunk("chara", V2, "zTXt"),), "Two"),
    Case("international", (text_chunk("ccv3", V3, "iTXtz"),), "Three"),
    Case("broken v3 falls back", (text_chunk("ccv3", b"!!!!"), text_chunk("chara", V2)), "Two", ("unreadable-card",)),
    Case("v2 under ccv3", (text_chunk("ccv3", V2),), "Two", ("keyword",)),
    Case("v3 under chara", (text_chunk("chara", V3),), "Three", ("keyword",)),
    Case("plain json", (text_chunk("chara", card_json(name="Plain")),), "Plain", ("plain-json",)),
    Case("base64 in lines", (text_chunk("chara", b"\n".join([V2[:40], V2[40:]])),), "Two", ("loose-base64",)),
    Case("base64 without padding", (text_chunk("chara", V2.rstrip(b"=")),), "Two"),
    Case(
        "base64 for addresses",
        (text_chunk("chara", urlsafe_b64encode(card_json(name="ÿ~~?>"))),),
        "ÿ~~?>",
        ("loose-base64",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_which_card_counts(case: Case) -> None:
    """V3 before V2, the last of several, the other one where the first is broken; codings by decreasing strictness."""
    opened = open_card(png(*case.chunks))
    assert (opened.kind, opened.character.name) == ("png", case.expected)
    rules = [finding.rule for finding in opened.findings]
    assert rules == list(case.rules) or (case.name == "base64 without padding" and set(rules) <= {"loose-base64"})


@dataclass(frozen=True)
class Refused:
    """An image and what it is refused with."""

    name: str
    data: bytes
    error: type[Exception]


REFUSED = [
    Refused("no card", png(), NoCardError),
    Refused("other texts", png(text_chunk("comment", b"x")), NoCardError),
    Refused("empty card", png(text_chunk("chara", b"")), JsonError),
    Refused("base64 of nothing", png(text_chunk("chara", b"====")), JsonError),
    Refused("no json", png(text_chunk("chara", b64encode(b"hello"))), JsonError),
    Refused("no name", png(text_chunk("chara", b64encode(card_json(name="")))), CardNameError),
    Refused("damaged", png(chunk(b"tEXt", b"chara\0" + V2, crc=5)), PngChecksumError),
    Refused("cut", card_png()[:-20], TruncatedError),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_images_that_are_refused(case: Refused) -> None:
    """An image without a card, or with a broken one, is a typed error."""
    with pytest.raises(case.error):
        open_card(case.data)


def test_a_damaged_image_on_demand() -> None:
    """Leniently read, a wrong checksum is a finding and the card is there."""
    opened = open_card(png(chunk(b"tEXt", b"chara\0" + V2, crc=5)), lenient=True)
    assert opened.character.name == "Two"
    assert [(finding.rule, finding.level) for finding in opened.findings] == [("checksum", Level.WARNING)]


def test_errors_name_the_chunk() -> None:
    """An error in the JSON says in which chunk it is."""
    with pytest.raises(JsonError) as caught:
        open_card(png(text_chunk("ccv3", b64encode(b'{"a": }'))))
    assert caught.value.where is not None
    assert (caught.value.where.asset, caught.value.where.column) == ("image (ccv3)", 7)


@settings(max_examples=40)
@given(tree=cards())
def test_a_card_survives_an_image(tree: dict[str, object]) -> None:
    """Any card that is embedded is read back: its own version byte for byte, the other one for other readers."""
    character = attempt(lambda: Character.of(tree))
    if isinstance(character, InnkeeperError):
        return
    for form in ("both", character.version.value):
        read = open_card(embed_in_png(blank_png(1, 1), character, form)).character
        assert read.name == character.name
        if character.version in {form, "v3"}:
            assert read.to_json() == character.to_json()


def test_embedding_replaces_and_keeps() -> None:
    """Cards of every kind of chunk are removed, every other chunk stays where it was."""
    others = (text_chunk("comment", b"x"), text_chunk("chara-ext-asset_:1", b64encode(b"asset")), chunk(b"abCD", b"y"))
    old = [text_chunk(keyword, V2, kind) for keyword in ("chara", "CCV3") for kind in ("tEXt", "zTXt", "iTXt")]
    made = embed_in_png(png(others[0], *old[:3], others[1], *old[3:], others[2]), Character.of(card(name="New")), "v2")
    assert made.count(b"chara\0") == 1
    assert made.lower().count(b"ccv3\0") == 0
    assert made == png(*others, text_chunk("chara", b64encode(Character.of(card(name="New")).to_json())))
    opened = open_card(made)
    assert (opened.character.name, opened.names, opened.read("1")) == ("New", ("1",), b"asset")


def test_forms() -> None:
    """``both`` writes a card for old and for new readers; another form is refused."""
    character = Character.of(card("v2"))
    made = embed_in_png(blank_png(), character)
    assert made.index(b"chara\0") < made.index(b"ccv3\0") < made.index(b"IEND")
    assert open_card(made).character.version == "v3"
    assert open_card(embed_in_png(blank_png(), character, "v2")).character.version == "v2"
    with pytest.raises(UsageError):
        embed_in_png(blank_png(), character, "v4")
    with pytest.raises(PngError):
        embed_in_png(b"\xff\xd8\xff", character)


def test_the_default_picture_is_the_image_itself() -> None:
    """The icon of an image card without assets is the image."""
    data = card_png()
    assert open_card(data).icon() == data


def test_compressed_assets_are_read() -> None:
    """An asset may stand in a chunk of any kind."""
    for kind in ("tEXt", "zTXt", "iTXt"):
        data = png(text_chunk("chara", V2), text_chunk("chara-ext-asset_:a/b.png", b64encode(b"data"), kind))
        assert open_card(data).read("a/b.png") == b"data"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ccv3_over_chara.png", "V3"),
        ("test_character.png", "Test Character"),
        ("test_character_v2.png", "V2 Test Character"),
    ],
)
def test_images_made_by_others(name: str, expected: str) -> None:
    """Images of another project give their card."""
    assert open_card(shared.need(f"fixtures/tavern_kit/characters/{name}")).character.name == expected


def test_an_image_without_a_card_made_by_others() -> None:
    """A plain image of another project has none."""
    with pytest.raises(NoCardError):
        open_card(shared.need("fixtures/tavern_kit/characters/base.png"))
