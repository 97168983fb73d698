"""Encodings: what is written by codes is written out in its place, and nothing else is touched."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.text.encodings import decoded, rot13
from innkeeper.text.views import turned_views, views_of

TEXT = "the old lantern"
MORSE = "- .... . / --- .-.. -.. / .-.. .- -. - . .-. -."

CODED = {
    "base64": base64.b64encode(TEXT.encode()).decode(),
    "base64 without padding": base64.b64encode(b"lantern").decode().rstrip("="),
    "base64 for addresses": base64.urlsafe_b64encode(TEXT.encode()).decode(),
    "base64 over lines": base64.encodebytes((TEXT * 6).encode()).decode(),
    "base32": base64.b32encode(TEXT.encode()).decode(),
    "hex": TEXT.encode().hex(),
    "hex with spaces": TEXT.encode().hex(" "),
    "hex with signs": " ".join(f"0x{byte:02x}" for byte in TEXT.encode()),
    "quoted printable": "".join(f"={byte:02X}" for byte in TEXT.encode()),
    "binary": " ".join(f"{byte:08b}" for byte in TEXT.encode()),
    "decimal": " ".join(map(str, TEXT.encode())),
    "octal": " ".join(f"{byte:o}" for byte in TEXT.encode()),
    "places in the alphabet": "20-8-5 15-12-4 12-1-14-20-5-18-14",
    "base64 of wide characters": base64.b64encode(TEXT.encode("utf-16-le")).decode(),
    "humps": "TheOldLanternHangs",
    "morse": MORSE,
    "twice": base64.b64encode(TEXT.encode().hex().encode()).decode(),
    "percent": "".join(f"%{byte:02X}" for byte in TEXT.encode()),
}


@pytest.mark.parametrize("code", CODED.values(), ids=CODED)
@pytest.mark.parametrize("frame", ["{}", "say {} now"], ids=["alone", "in a sentence"])
def test_codes_are_read(code: str, frame: str) -> None:
    """Some view has the word, and its place lies within the code."""
    whole = frame.format(code)
    start = whole.index(code)
    places = [
        view.source_span(at, at + len("lantern")) for view in views_of(whole) if (at := view.text.find("lantern")) >= 0
    ]
    assert any(start <= first < last <= start + len(code) for first, last in places)


@pytest.mark.parametrize("back", [False, True])
def test_turned_texts_are_read(back: bool) -> None:
    """Letters thirteen further on, and a text from its end to its beginning; places are those of the text as it was given."""
    turned = TEXT[::-1] if back else rot13(TEXT)
    view = next(turned_views(turned, "back" if back else "rot13"))
    assert view.text == TEXT
    start, end = view.source_span(8, 15)
    assert turned[start:end] == ("nretnal" if back else rot13("lantern"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "understanding extraordinary responsibilities",
        "3f2a9c81d4e5b6a7 0f1e",
        "call 555 123 4567 or 555 765 4321",
        "wait... no - yes...",
        "2024-01-15, 2024-02-16",
        "commit deadbeefcafe",
        "ABCDEFGHIJKLMNOP",
    ],
)
def test_what_is_no_code_stays(text: str) -> None:
    """Long words, numbers, hashes and dots are none."""
    assert decoded(text) is None


@given(st.text(alphabet="0123456789abcdefABCDEF.- %=/+\n", max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Whatever the text: every new character comes from one of it."""
    if (plain := decoded(text)) is not None:
        assert len(plain.starts) == len(plain.olds)
        assert plain.starts == sorted(plain.starts)
        assert all(0 <= old <= len(text) for old in plain.olds)
