"""Verbatim zones: found, kept apart, and put back as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.text.verbatim import ALL_ZONES, CODE_ZONES, Escape, Zone, mask, unmask

TEXTS = st.one_of(st.text(), st.text(alphabet="`~<>{}%[]()\\!\"' \nabhtps:/.\x00v0", max_size=120))


def _zones(text: str) -> list[str]:
    return [original for _, original in mask(text).spans]


@pytest.mark.parametrize(
    ("text", "zones"),
    [
        ("a `b` c", ["`b`"]),
        ("a ``b ` c`` d", ["``b ` c``"]),
        ("a ` b", []),
        ("```py\nx = '<b>'\n```\nafter", ["```py\nx = '<b>'\n```"]),
        ("   ~~~\nx\n~~~~", ["~~~\nx\n~~~~"]),
        ("```\nnever closed <b>", ["```\nnever closed <b>"]),
        ("    ```\nindented", []),
        ("{{ char }} {% if x %}", ["{{ char }}", "{% if x %}"]),
        ("{{ never closed", []),
        ("<b>x</b> <br/> <a href='x>y'>", ["<b>", "</b>", "<br/>", "<a href='x>y'>"]),
        ("<!-- a > b -->", ["<!-- a > b -->"]),
        ("1 < 2 > 1", []),
        ("see https://a.example/b?c=d.", ["https://a.example/b?c=d"]),
        ('[text](https://a.example) ![i](i.png "t")', ["[text](https://a.example)", '![i](i.png "t")']),
        ("[no link] (x)", []),
    ],
)
def test_finds(text: str, zones: list[str]) -> None:
    """Each kind of zone is found, and nothing that only looks like one."""
    assert _zones(text) == zones


@given(TEXTS, st.sets(st.sampled_from(sorted(set(Zone) - {Zone.ESCAPE}))))
def test_round_trip(text: str, zones: set[Zone]) -> None:
    """Unmasking gives back the text, whatever it is and whatever was masked."""
    masked = mask(text, zones)
    assert unmask(masked.text, masked.spans) == text


@given(TEXTS, st.text(alphabet="\\1g<0>&x", max_size=10))
def test_zones_survive_a_change_around_them(text: str, other: str) -> None:
    """What is done to the rest of the text is not done to a zone."""
    masked = mask(text)
    for placeholder, original in masked.spans:
        assert masked.text.count(placeholder) == 1
        assert unmask(f"{other}{placeholder}{other}", masked.spans) == f"{other}{original}{other}"


def test_defect_b17_backslashes_are_not_interpreted() -> None:
    """Backslashes in a zone come back as they were (B17)."""
    text = r"`\1 \g<0> \\ \' \0` and <b>"
    masked = mask(text, CODE_ZONES)
    assert unmask(masked.text.replace("<b>", r"\1"), masked.spans) == r"`\1 \g<0> \\ \' \0` and \1"


@pytest.mark.parametrize(
    "text", ["{{ 'a `b` c' }}", "`{{ a }}`", "[`a`](http://x.example/`b`)", "<a title='`x`'>", "```\n{{ a }} `b`\n```"]
)
def test_defect_b18_nested_zones_leave_no_placeholder(text: str) -> None:
    """A zone inside a zone is part of the outer one (B18)."""
    masked = mask(text)
    assert len(masked.spans) == 1
    assert unmask(masked.text, masked.spans) == text


def test_only_wanted_zones() -> None:
    """Tags stay open to change where only code is masked."""
    assert mask("`<b>` <b>", CODE_ZONES).text.endswith(" <b>")
    assert Zone.ESCAPE not in ALL_ZONES


@pytest.mark.parametrize(
    ("escape", "text"), [(Escape.HTML_ENTITY, "&lt;"), (Escape.LITERAL, "<"), (Escape.KEEP_BACKSLASH, r"\<")]
)
def test_escape(escape: Escape, text: str) -> None:
    r"""``\<`` becomes what its mode says, except within code."""
    masked = mask(r"\<lang> `\<`", {*CODE_ZONES, Zone.ESCAPE}, escape)
    assert unmask(masked.text, masked.spans) == rf"{text}lang> `\<`"


def test_placeholders_of_others_are_text() -> None:
    """A text that has something like a placeholder in it keeps it."""
    text = "\0v0:0\0 `a` \0v1:0\0"
    masked = mask(text)
    assert masked.spans[0][0] not in text
    assert unmask(masked.text, masked.spans) == text


@pytest.mark.parametrize(
    "unit",
    [
        "`",
        "``` \n",
        "<a ",
        "<a '",
        "[",
        "[](",
        "{{",
        "\\<",
        "`a``b```c",
        "<!--",
        "\0v0:",
        "~~~\n```\n",
        "```x ",
        "http://",
    ],
)
def test_hostile_text_takes_one_pass(unit: str) -> None:
    """Text that makes backtracking start over is masked like any other: this test ends."""
    text = unit * (200_000 // len(unit))
    masked = mask(text)
    assert unmask(masked.text, masked.spans) == text
