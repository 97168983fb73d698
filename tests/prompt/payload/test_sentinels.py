"""Sentinels: tokens in the place of texts, from which the texts can be told again."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from innkeeper.prompt import Attachment, Block, FrozenDict, Origin, Piece
from innkeeper.prompt.payload.sentinels import Sentinels, strings
from innkeeper.prompt.text import scalar_text

CARD = Origin("character", "description")


@given(st.lists(st.text("aZqx0 \n\u205f\u2000é", max_size=6), min_size=1, max_size=5))
@example(["\u205f\u2000\u205f"])
@example([" ", "\u205f\u2000\u205f"])
@example([" ", "\u2000"])
def test_tokens_tell_their_texts(texts: list[str]) -> None:
    """Joined tokens split into the sources of the texts in order, whatever the texts and what is between them."""
    sentinels = Sentinels(tuple(Block(role="user", content=text) for text in texts), ["Zq0x1xqZ"])
    replaced = [block.content for block in sentinels.blocks]
    literals, sources = sentinels.split("|".join(replaced))
    filled = [literals[0]]
    for literal, source in zip(literals[1:], sources, strict=True):
        filled += [source.text, literal]
    assert "".join(filled) == "|".join(scalar_text(text) for text in texts)
    assert [source.blocks for source in sources] == [
        frozenset({place}) for place, (old, new) in enumerate(zip(texts, replaced, strict=True)) if old != new
    ]


def test_no_token_stands_in_a_text() -> None:
    """A text that looks like a token is not taken for one."""
    sentinels = Sentinels((Block(role="user", content="Zq0x0xqZ"), Block(role="user", content="b")), "Zq1x")
    assert sentinels.split("Zq0x0xqZ Zq1x0xqZ") == (["Zq0x0xqZ Zq1x0xqZ"], [])
    assert sentinels.split(sentinels.blocks[1].content)[1][0].text == "b"


@pytest.mark.parametrize("blank", [" ", "\n", "\t \n"], ids=repr)
def test_white_space_stays_white_space(blank: str) -> None:
    """The token of a blank text is blank, and that of another is not; an empty text stays empty."""
    sentinels = Sentinels(tuple(Block(role="user", content=text) for text in (blank, "a", "")), None)
    first, second, third = (block.content for block in sentinels.blocks)
    assert first.isspace()
    assert second.strip() == second != "a"
    assert third == ""
    assert sentinels.split(first)[1][0].text == blank


def test_equal_values_stay_equal() -> None:
    """Names, ids and addresses have a token a value, which says all blocks that hold it; contents have one a block."""
    picture = Attachment("image", url="https://example.test/a.png")
    blocks = (
        Block(role="user", content="a", name="Bo", attachments=(picture,)),
        Block(role="tool", content="a", name="Bo", message_metadata=FrozenDict({"id": "k", "type": "function"})),
    )
    sentinels = Sentinels(blocks, None)
    one, two = sentinels.blocks
    assert one.content != two.content
    assert one.name == two.name != "Bo"
    assert one.name is not None
    (source,) = sentinels.split(one.name)[1]
    assert (source.text, source.blocks, source.field) == ("Bo", frozenset({0, 1}), "name")
    (address,) = sentinels.split(one.attachments[0].url or "")[1]
    assert (address.text, address.field) == ("https://example.test/a.png", "attachments.url")
    assert two.message_metadata["type"] == "function"
    assert sentinels.split(two.message_metadata["id"])[1][0].field == "metadata.id"


def test_pieces() -> None:
    """A content's pieces go with its token; where they are not the content, it is one piece of the block's origin."""
    pieces = (Piece("a", CARD), Piece("b", Origin("history")))
    blocks = (Block(role="user", content="ab", pieces=pieces), Block(role="user", content="c", origin=CARD))
    sentinels = Sentinels(blocks, None)
    whole, other = sentinels.content(" ab\n"), sentinels.content("c")
    assert whole is not None
    assert other is not None
    assert whole.pieces == pieces
    assert other.pieces == (Piece("c", CARD),)
    assert sentinels.content("d") is None


def test_strings_of_data() -> None:
    """Every string value of plain data is found, and no key."""
    assert list(strings({"a": ["b", {"c": ("d", 1, None)}], "e": "f"})) == ["b", "d", "f"]
