"""Markup: tags found in one pass, without losing a character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.output_tags.markup import Tag, attributes, scan, write_attributes

TEXTS = st.text("<>/ab=\"' \n&b", max_size=60)


@given(TEXTS)
def test_nothing_is_lost(text: str) -> None:
    """The pieces, joined, are the text."""
    assert "".join(piece if isinstance(piece, str) else piece.text for piece in scan(text, {"b"})) == text


FOUND = {
    "open": ("<b>", Tag("<b>", "b")),
    "close": ("</b>", Tag("</b>", "b", closing=True)),
    "spaces": ("<\n / b >", Tag("<\n / b >", "b", closing=True, rest=" ")),
    "capitals": ("<B x=1>", Tag("<B x=1>", "B", rest=" x=1")),
    "empty": ("<b/>", Tag("<b/>", "b", rest="/")),
}


@pytest.mark.parametrize(("text", "tag"), FOUND.values(), ids=FOUND)
def test_tags(text: str, tag: Tag) -> None:
    """A tag has a name, a side, and the rest."""
    assert list(scan(f"x{text}y", {"b"})) == ["x", tag, "y"]


@pytest.mark.parametrize("text", ["<bb>", "< >", "<b", "a < b", "<1b>", "<c>", "<-b>", "b>"])
def test_no_tags(text: str) -> None:
    """Other names, open ends and comparisons are text."""
    assert "".join(str(piece) for piece in scan(text, {"b"}) if not isinstance(piece, Tag)) == text


ATTRIBUTES = {
    "none": ("", []),
    "plain": (" a=1 b=2", [("a", "1"), ("b", "2")]),
    "quoted": (" a=\"x y\" b='z'", [("a", '"x y"'), ("b", "'z'")]),
    "spaces": (" a = 1", [("a", "1")]),
    "bare": (" checked a=1", [("checked", None), ("a", "1")]),
    "quote_not_closed": (' a="x', [("a", None), ("x", None)]),
    "empty_tag": (" a=1/", [("a", "1")]),
}


@pytest.mark.parametrize(("rest", "pairs"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes(rest: str, pairs: list[tuple[str, str | None]]) -> None:
    """Names and values in order, values as they are written."""
    assert attributes(Tag(f"<b{rest}>", "b", rest=rest)) == pairs


def test_write_attributes() -> None:
    """Attributes are written with one space before each."""
    assert write_attributes([("a", '"1"'), ("b", None)]) == ' a="1" b'


@given(TEXTS)
def test_attributes_of_anything(rest: str) -> None:
    """Whatever stands in a tag, there are attributes, and writing them does not open or close one."""
    written = write_attributes(attributes(Tag("", "b", rest=rest.replace("<", "").replace(">", ""))))
    assert "<" not in written
    assert ">" not in written
