"""Origins and pieces."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import BuildRequest, Origin, OriginAsset, Piece
from innkeeper.prompt.origin import join_pieces, strip_pieces
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
