"""Origins and pieces."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import (
    Attachment,
    Block,
    BudgetGroup,
    BuildRequest,
    FrozenDict,
    InsertionPoint,
    Message,
    Origin,
    OriginAsset,
    Piece,
    Plan,
    UsageError,
)
from innkeeper.prompt.block import join_pieces, strip_pieces
from innkeeper.taverns import build

A, B = Origin("a"), Origin("b")
PIECES = st.lists(st.builds(Piece, st.text(alphabet=" \n\tab", max_size=4), st.sampled_from([A, B])), max_size=5)


def _text(pieces: object) -> str:
    return "".join(piece.text for piece in pieces)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class OriginCase:
    text: str
    origin: Origin


@pytest.mark.parametrize(
    "case",
    [
        OriginCase("history", Origin("history")),
        OriginCase("character.description", Origin("character", "description")),
        OriginCase("lorebook[7]", Origin("lorebook", entry="7")),
        OriginCase("lorebook(Harbour).content[7] {{user}}", Origin("lorebook", "content", "7", "user", "Harbour")),
    ],
    ids=lambda case: case.text,
)
def test_origins_are_read_aloud(case: OriginCase) -> None:
    """An origin's text names asset, name, field, entry and macro, as far as they are known."""
    assert str(case.origin) == case.text


@given(st.lists(PIECES, max_size=4))
def test_joined_pieces_say_what_joined_text_says(parts: list[list[Piece]]) -> None:
    """Joining pieces gives the same text as joining the parts that have any."""
    joined = join_pieces(parts, "\n", Origin("separator"))
    assert _text(joined) == "\n".join(text for text in map(_text, parts) if text)
    assert all(piece.text for piece in joined)


@given(PIECES)
def test_stripped_pieces_say_what_stripped_text_says(pieces: list[Piece]) -> None:
    """Stripping pieces gives the same text as stripping their text."""
    assert _text(strip_pieces(pieces)) == _text(pieces).strip()


REQUEST = {
    "character": {"name": "Mara", "description": "A smith of {{user}}.", "mes_example": "<START>\n{{user}}: Hi"},
    "user": {"name": "Ann", "description": "A sailor."},
    "history": [{"role": "user", "content": "The forge?"}, {"role": "assistant", "content": "It is hot."}],
    "message": "Tell me more of the forge.",
    "lorebooks": [{"name": "Town", "entries": {"0": {"uid": 0, "key": ["forge"], "content": "It is old."}}}],
    "authors_note": "Be brief.",
    "now": "2026-01-02T03:04:05Z",
}
BUILDS_FROM_ASSETS = ("vibe", "silly", "smart")


@pytest.mark.parametrize("tavern", BUILDS_FROM_ASSETS)
def test_taverns_keep_to_the_vocabulary(tavern: str) -> None:
    """Whatever a built-in tavern puts in a plan comes from an asset of the one list, and somebody said from which."""
    plan = build(BuildRequest.of({**REQUEST, "tavern": tavern}))
    origins = [piece.origin for block in plan.enabled_blocks for piece in block.ranges()]
    assert origins
    assert {origin.asset for origin in origins} <= set(OriginAsset) - {OriginAsset.UNKNOWN}


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "text"])
@pytest.mark.parametrize("tavern", BUILDS_FROM_ASSETS)
def test_a_payload_is_laid_back_to_its_assets(tavern: str, dialect: str) -> None:
    """Of each tavern's payload, every range equals its slice, is exact, and names what its text came from."""
    plan = build(BuildRequest.of({**REQUEST, "tavern": tavern}))
    laid = plan.source_map(dialect)
    assert laid.exact
    for pointer in {each.pointer for each in laid.ranges}:
        ranges = laid.leaf(pointer)
        text = "".join(each.text for each in ranges)
        assert all(text[each.start : each.end] == each.text for each in ranges)
    assets = {each.origin.asset for each in laid.ranges}
    assert {"character", "message", "history"} <= assets <= set(OriginAsset) - {OriginAsset.UNKNOWN}


BLOCK_A, BLOCK_B = Origin("a"), Origin("b")


def test_defaults_are_those_of_the_reference() -> None:
    """Enabled, removable, relative, order and priority 100, group default (tavernkit §3.2)."""
    block = Block(role="user", content="x")
    assert (block.enabled, block.removable, block.depth, block.order, block.priority) == (True, True, 0, 100, 100)
    assert (block.insertion_point, block.group, block.slot) == (InsertionPoint.RELATIVE, BudgetGroup.DEFAULT, None)


def test_a_block_becomes_its_message() -> None:
    """Name, attachments and message metadata reach the message; everything else stays with the block."""
    message = Message("tool", "1", "add", (Attachment("image", url="u"),), FrozenDict(tool_call_id="c"))
    block = Block.of_message(message, slot="history", group=BudgetGroup.HISTORY)
    assert block.message() == message
    assert block.slot == "history"


@pytest.mark.parametrize(
    "fields",
    [
        {"role": None, "content": "x"},
        {"role": "user", "content": None},
        {"role": "user", "content": "x", "depth": -1},
        {"role": "user", "content": "x", "priority": "low"},
        {"role": "user", "content": "x", "removable": "no"},
        {"role": "user", "content": "x", "enabled": 1},
        {"role": "user", "content": "x", "insertion_point": "in_chatt"},
    ],
    ids=["role", "content", "depth", "priority", "removable", "enabled", "insertion_point"],
)
def test_wrong_fields_are_refused_at_once(fields: dict[str, Any]) -> None:
    """A step's mistake shows where it is made."""
    with pytest.raises(UsageError):
        Block(**fields)
    with pytest.raises(UsageError):
        Block(role="user", content="x").with_(**{**fields, "role": fields.get("role")})


def test_an_insertion_point_may_be_given_by_its_name() -> None:
    """The text means the same as the value: such blocks become one message."""
    named, typed = (
        Block(role="user", content="x", insertion_point=point)  # type: ignore[arg-type]
        for point in ("in_chat", InsertionPoint.IN_CHAT)
    )
    assert named == typed
    assert named.with_(insertion_point="relative").insertion_point is InsertionPoint.RELATIVE
    assert len(Plan(blocks=(named, named)).sent_blocks()) == 1


def test_blocks_are_frozen_and_copied_with_changes() -> None:
    """A change is a copy; a field that does not exist is a usage error that lists the fields."""
    block = Block(role="user", content="x")
    with pytest.raises(AttributeError):
        block.enabled = False  # type: ignore[misc]
    assert block.with_(enabled=False) == Block(role="user", content="x", enabled=False)
    with pytest.raises(UsageError) as caught:
        block.with_(colour="red")
    assert "slot" in (caught.value.hint or "")


def test_metadata_is_frozen_whatever_was_given() -> None:
    """A dict that a step keeps and changes later does not change the block."""
    given: dict[str, Any] = {"source": "history", "list": [1]}
    block = Block(role="user", content="x", metadata=given, message_metadata={"tool_call_id": "c"})  # type: ignore[arg-type]
    given["source"] = "other"
    assert (block.source, block.metadata["list"]) == ("history", (1,))
    assert type(block.message_metadata) is FrozenDict


def test_source_and_bundle_are_read_from_metadata() -> None:
    """The two keys that the contracts give a meaning."""
    block = Block(role="user", content="x", metadata=FrozenDict(source="examples", eviction_bundle="ex1"))
    assert (block.source, block.bundle) == ("examples", "ex1")
    assert Block(role="user", content="x").bundle is None


def test_new_content_has_no_old_pieces() -> None:
    """Changing the text drops the pieces of the old one, unless new ones come with it."""
    block = Block(role="user", content="ab", pieces=(Piece("a", BLOCK_A), Piece("b", BLOCK_B)))
    assert block.with_(content="c").pieces == ()
    assert block.with_(content="c", pieces=(Piece("c", BLOCK_A),)).pieces == (Piece("c", BLOCK_A),)
    assert block.with_(enabled=False).pieces == block.pieces


@given(st.lists(st.builds(Piece, st.text(min_size=1, max_size=3), st.sampled_from([BLOCK_A, BLOCK_B])), max_size=5))
def test_ranges_say_what_the_content_says(pieces: list[Piece]) -> None:
    """The ranges, joined, are the content, and each character has the origin of its range."""
    block = Block(role="user", content="".join(piece.text for piece in pieces), pieces=tuple(pieces), origin=BLOCK_A)
    assert "".join(piece.text for piece in block.ranges()) == block.content
    origins = [piece.origin for piece in block.ranges() for _ in piece.text]
    assert [block.origin_at(index) for index in range(len(block.content))] == origins


def test_a_block_without_pieces_is_one_range() -> None:
    """Text of one origin needs no pieces; without an origin it is said to be unknown."""
    assert Block(role="user", content="x", origin=BLOCK_A).ranges() == (Piece("x", BLOCK_A),)
    assert Block(role="user", content="x").ranges() == (Piece("x", Origin("unknown")),)
    assert Block(role="user", content="").ranges() == ()
    assert Block(role="user", content="x", origin=BLOCK_A).origin_at(0) == BLOCK_A
    assert Block(role="user", content="ab", pieces=(Piece("ab", BLOCK_B),)).origin_at(9) == BLOCK_B
