"""Markup: tags found in one pass, without losing a character."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.output_tags.markup import (
    LangSpans,
    Tag,
    attributes,
    language_code,
    sanitize_lang_spans,
    scan,
    write_attributes,
)

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


CODES = {
    "ja-jp": "ja-JP",
    "ja_JP": "ja-JP",
    "ZH-hans-cn": "zh-Hans-CN",
    "yue": "yue",
    "es-419": "es-419",
    "sl-rozaj-biske": "sl-rozaj-biske",
    "x-inn": "x-inn",
    " en-US ": "en-US",
    "de-1996": "de-1996",
    "en-": None,
    "": None,
    "not a tag": None,
    "a": None,
    "x": None,
    "1234": None,
    "en--US": None,
    "toolongalanguage": None,
    "ja-toolongsubtag": None,
    "日本": None,
}


@pytest.mark.parametrize(("text", "code"), CODES.items(), ids=repr)
def test_language_code(text: str, code: str | None) -> None:
    """Valid tags get BCP 47's casing; anything else is none."""
    assert language_code(text) == code


def sanitized(text: str, **options: Any) -> str:
    """The text only."""
    return sanitize_lang_spans(text, LangSpans(**options))[0]


CASES = {
    "the_documented_case": (
        'Outside: < lang  code="ja-jp" >ありがとう',
        'Outside: <lang code="ja-JP">ありがとう</lang>',
        {},
    ),
    "invalid_is_stripped": ('A<lang code="not a tag">X</lang>B', "AXB", {}),
    "invalid_is_kept": ('A<lang code="?">X</lang>B', 'A<lang code="?">X</lang>B', {"on_invalid_code": "keep"}),
    "invalid_is_dropped": ('A<lang code="?">X</lang>B', "AB", {"on_invalid_code": "drop"}),
    "missing_code": ("A<lang>X</lang>B", "AXB", {}),
    "valid_in_dropped": (
        '<lang code="?">a<lang code="ja">b</lang>c</lang>d',
        "d",
        {"on_invalid_code": "drop"},
    ),
    "dropped_in_valid": (
        '<lang code="ja">a<lang code="?">b</lang>c</lang>d',
        '<lang code="ja">ac</lang>d',
        {"on_invalid_code": "drop"},
    ),
    "invalid_unchecked": ('<lang code="Klingon!">x</lang>', '<lang code="Klingon!">x</lang>', {"validate_code": False}),
    "missing_unchecked": ("<lang>x</lang>", "x", {"validate_code": False}),
    "other_attributes": ("<LANG id=1 code=ja_jp>x</LANG>", '<lang code="ja-JP" id=1>x</lang>', {}),
    "stray_closer": ("a</lang>b", "ab", {}),
    "nested_not_closed": (
        '<lang code="ja">a<lang code="ko">b',
        '<lang code="ja">a<lang code="ko">b</lang></lang>',
        {},
    ),
    "not_closed_left": ('<lang code="ja">a', '<lang code="ja">a', {"auto_close": False}),
    "empty": ('a<lang code="ja"/>b', 'a<lang code="ja"/>b', {}),
}


@pytest.mark.parametrize(("text", "expected", "options"), CASES.values(), ids=CASES)
def test_spans(text: str, expected: str, options: dict[str, Any]) -> None:
    """Each defect is mended as the options say; applied again, nothing changes."""
    assert sanitized(text, **options) == expected
    assert sanitized(expected, **options) == expected


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a</lang>", {}, "without an opening one"),
        ("<lang>a</lang>", {}, "without a valid code"),
        ('<lang code="ja">a', {"auto_close": False}, "1 lang tags are not closed"),
    ],
)
def test_warnings(text: str, options: dict[str, Any], words: str) -> None:
    """What was wrong is told."""
    assert words in sanitize_lang_spans(text, LangSpans(**options))[1][0]


@given(
    st.lists(
        st.sampled_from(
            ['<lang code="ja">', "<lang>", '<lang code="?">', "</lang>", "a", "<", ">", '<lang code="ko"/>']
        )
    ),
    st.sampled_from(["strip", "keep", "drop"]),
)
def test_spans_balance(pieces: list[str], on_invalid: Any) -> None:
    """Whatever comes, spans open as often as they close."""
    text = sanitized("".join(pieces), on_invalid_code=on_invalid)
    opened = text.count("<lang") - text.count("/>")
    assert opened == text.count("</lang>")
