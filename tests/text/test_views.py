"""Views: what hides a word from a comparison is seen through, and the way back to the text is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.text.views import views_of

HIDDEN = {
    "upper case": "LANTERN",
    "full width": "ｌａｎｔｅｒｎ",
    "bold": "𝐥𝐚𝐧𝐭𝐞𝐫𝐧",
    "circled": "ⓛⓐⓝⓣⓔⓡⓝ",
    "squared": "🅻🅰🅽🆃🅴🆁🅽",
    "flag letters": "🇱🇦🇳🇹🇪🇷🇳",
    "small capitals": "ʟᴀɴᴛᴇʀɴ",
    "accents": "lántërñ",
    "stacked marks": "l\u0301\u0302a\u0303n\u0304tern",
    "zero width": "l\u200ban\u200dt\ufeffern",
    "soft hyphen": "lan\u00adtern",
    "variation selector": "lan\ufe0ftern",
    "hangul filler": "lan\u3164tern",
    "control": "lan\x01tern",
    "cyrillic": "lаntеrn",
    "mixed scripts": "lαntеrn",
    "leet": "l4n73rn",
    "leet and case": "L@NT3RN",
    "spaced": "l a n t e r n",
    "dotted": "l.a.n.t.e.r.n",
    "hyphened": "lan-tern",
    "starred": "lan*tern",
    "heart": "lan♥tern",
    "spaced leet": "l 4 n t 3 r n",
    "drawn out leet": "laaaant3rn",
    "drawn out": "laaaanterrrrn",
    "spaced over lines": "l\na\nn\nt\ne\nr\nn",
}


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("frame", ["{}", "the old {} was lit", "“{}”"], ids=["alone", "in a sentence", "quoted"])
def test_hidden_words_are_seen(text: str, frame: str) -> None:
    """However it is written, one view has the word, and says where it is."""
    whole = frame.format(text)
    places = []
    for view in views_of(whole):
        wanted = "iantern" if view.merged else "lantern"
        if (at := view.text.find(wanted)) >= 0:
            places.append(view.source_span(at, at + len(wanted)))
    start = whole.index(text)
    assert any(start <= first and last <= start + len(text) for first, last in places)
    assert any(last - first >= len(text) - 1 for first, last in places)


@given(st.text(max_size=60))
def test_places_are_places_of_the_text(text: str) -> None:
    """Whatever the text: every part of every view lies within the text."""
    for view in views_of(text):
        for at in range(len(view.text.rstrip())):
            if view.text[at] != " ":
                start, end = view.source_span(at, at + 1)
                assert 0 <= start < end <= len(text)


@given(st.text(alphabet=st.characters(codec="ascii", categories=["Lu", "Ll", "Zs"]), max_size=60))
def test_plain_words_keep_their_places(text: str) -> None:
    """In plain text each letter of the first view is the letter at its place."""
    view = next(views_of(text))
    assert view.text == " ".join(text.lower().split())
    for at, letter in enumerate(view.text):
        if letter != " ":
            assert text[slice(*view.source_span(at, at + 1))].lower() == letter


def test_ordinary_prose_has_few_views() -> None:
    """A text that hides nothing costs one view, and two where words are joined by a sign."""
    assert len(list(views_of("The lamp is lit, the traveller's bag lies open, and they didn't ask."))) == 1
    assert len(list(views_of("The lamp is lit, and the way-worn traveller sleeps."))) == 2
    assert len(list(views_of(""))) == 1


@pytest.mark.parametrize("text", ["lant't", "la'ntern", "lanter'n"])
def test_an_apostrophe_inside_another_word_is_looked_through(text: str) -> None:
    """What is no ending that English contracts may be one word."""
    assert text.replace("'", "") in {view.text for view in views_of(text)}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("uɹǝʇuɐl plo ǝɥʇ", "the old lantern"),
        ("room ١٥ and १६", "room 15 and 16"),
        ("ΜΗΝΥ ΙΝ", "mhny in"),
        ("հoոeս", "honeu"),
    ],
    ids=["on its head", "other digits", "great Greek letters", "Armenian"],
)
def test_other_letters_and_digits(text: str, read: str) -> None:
    """Letters that stand on their heads, digits of any script, and look-alikes are read as what they look like."""
    view = next(view for view in views_of(text) if view.text == read)
    start, end = view.source_span(0, len(view.text))
    assert 0 <= start < end <= len(text)


def test_long_words_are_looked_through() -> None:
    """A word of more than 255 letters does not hide single letters elsewhere."""
    assert any(view.loose for view in views_of("x" * 300 + " l a n t e r n"))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("l&#97;ntern", "lantern"),
        ("x &#x6C;antern &#9999999;", "x lantern"),
        ("%6Cantern", "lantern"),
        ("\\u006cantern \\u{6c}\\x6c", "lantern ll"),
    ],
)
def test_characters_by_their_numbers(text: str, read: str) -> None:
    """References are read as what they refer to, and places are places of the text with the references in it."""
    view = next(view for view in views_of(text) if view.text == read)
    start, end = view.source_span(0, len(view.text))
    assert 0 == start < end <= len(text)
    assert "lantern" in {word for seen in views_of(text) for word in seen.text.split()}


@pytest.mark.parametrize("text", ["01101110 0111010A n.u.d.", "a b c d\\u0063%c3", "十 五 岁 x", "nud %e5%b2%81"])
def test_a_view_begins_in_the_text(text: str) -> None:
    """Also where a view ends with what stands for nothing in the text."""
    for view in views_of(text):
        assert 0 <= view.source_span(0, len(view.text))[0] < len(text)


@pytest.mark.parametrize("letter", ["n", "ñ", "я", "ん", "中", "𐌰"])
def test_letters_of_any_size_are_drawn_out(letter: str) -> None:
    """A letter that stands three times in a row is read as one too, however many bytes it takes; two are as they are."""
    assert any(view.shortened for view in views_of(f"a{letter * 3}b"))
    assert not any(view.shortened for view in views_of(f"a{letter * 2}b"))
