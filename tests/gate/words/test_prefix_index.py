"""PrefixIndex: the longest word at a place, up to a border."""

import pytest

from innkeeper.gate.words.prefix_index import PrefixIndex


@pytest.mark.parametrize(
    ("text", "place", "end", "meaning"),
    [
        ("15 years old", 2, 12, ["age"]),
        ("15 years", 2, 8, ["time"]),
        ("15 years oldest", 2, 8, ["time"]),
        ("15 years ol", 2, 8, ["time"]),
        ("15 yearsold", 2, -1, []),
        ("15летняя", 2, 6, ["open"]),
        ("15岁半", 2, 3, ["unspaced"]),
        ("15f", 2, 3, ["one"]),
        ("15", 2, -1, []),
    ],
)
def test_the_longest_word_counts(text: str, place: int, end: int, meaning: list[str]) -> None:
    """One space may stand before it; an open word, and one of a script without spaces, may go on."""
    words: PrefixIndex[str] = PrefixIndex(loose=False)
    for word, what in (("years old", "age"), ("years", "time"), ("岁", "unspaced"), ("f", "one")):
        words.add(word, what, is_open=False)
    words.add("летн*", "open", is_open=True)
    assert words.at(text, place) == (end, meaning)
