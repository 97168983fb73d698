"""An answer that is trimmed while it comes."""

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from innkeeper.conversation.reply import ReplyRules, ReplyStream

PIECES = st.sampled_from(["Wenna", ":", " ", "\n", "Ada", "Ada:", "\nAda", "Wenna:", "Yes.", "W", "A", "\t", "no"])


@given(st.lists(PIECES, max_size=12), st.booleans(), st.lists(st.integers(0, 60), max_size=6))
@example(["Wenna:", " "], False, [])
@example(["Yes.", "\n", "Ada", ":", "Yes."], False, [4])
def test_a_stream_gives_what_the_whole_would(pieces: list[str], continues: bool, cuts: list[int]) -> None:
    """However an answer is cut into pieces, what is said of it is the trimmed answer."""
    rules = ReplyRules("Wenna", ("Ada", "Bo"), continues=continues)
    text, stream = "".join(pieces), ReplyStream(rules)
    places = [0, *sorted(place for place in cuts if place < len(text)), len(text)]
    said = [stream.feed(text[start:end]) for start, end in pairwise(places)]
    assert "".join([*said, stream.end()]) == rules.trimmed(text)


def test_it_comes_as_it_can() -> None:
    """Words are said as soon as they are sure, and nothing more once somebody else speaks."""
    stream = ReplyStream(ReplyRules("Wenna", ("Ada",)))
    assert [stream.feed(piece) for piece in ["Wen", "na: ", "Hello", " there.\n", "Ad", "am came.\nAda:", " Hi"]] == [
        "",
        "",
        "Hello",
        " there.",
        "",
        "\nAdam came.",
        "",
    ]
    assert stream.is_cut
    assert stream.end() == ""
