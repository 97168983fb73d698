"""The automaton: always the answer of looking for each text by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.allowance import AllowanceError, BuildLimits, allowed
from innkeeper.text import automaton
from innkeeper.text.automaton import LONGEST_TEXT, Automaton, is_unspaced

ALPHABET = "ab艾\n\ud800\ufffd"
TEXTS = st.lists(st.text(ALPHABET, max_size=4), max_size=15, unique=True)


def occurrences(texts: list[str], text: str) -> set[tuple[int, int, int]]:
    """Every occurrence by brute force; an empty text occurs at the beginning."""
    return {
        (number, start, start + len(wanted))
        for number, wanted in enumerate(texts)
        for start in (range(len(text)) if wanted else (0,))
        if text.startswith(wanted, start)
    }


@given(TEXTS, st.text(ALPHABET, max_size=60))
def test_it_finds_what_is_there(texts: list[str], text: str) -> None:
    """Each occurrence once, overlapping ones too, of empty texts, halves of characters, few texts and many."""
    machine = Automaton(texts)
    finds = list(machine.find(text))
    assert len(finds) == len(set(finds))
    assert set(finds) == occurrences(texts, text)
    assert machine.contained(text) == {number for number, wanted in enumerate(texts) if wanted in text}


@given(st.lists(st.text("ab", max_size=6), max_size=20, unique=True), st.text("ab", max_size=200))
def test_across_segments(texts: list[str], text: str) -> None:
    """Texts that lie across segments are found, with a rule of what counts, and rebuilding loses none."""

    def rule(searched: str, start: int, end: int) -> bool:
        return start % 3 == 0 and searched[start:end] in texts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(automaton, "SEGMENT", 5)
        patch.setattr(automaton, "REBUILD_AFTER", 2)
        patch.setattr(automaton, "SLICE_BYTES", 20)
        assert Automaton(texts).contained(text) == {number for number, wanted in enumerate(texts) if wanted in text}
        ruled = Automaton(texts, [rule] * len(texts))
        counted = {find for find in occurrences(texts, text) if find[1] % 3 == 0}
        assert ruled.contained(text) == {number for number, _, _ in counted}
        assert set(ruled.find(text)) == counted


def test_texts_inside_one_another() -> None:
    """A text in which very many texts end at every place is searched all the same, long ones too."""
    texts = ["a" * length for length in (*range(1, 200), LONGEST_TEXT, LONGEST_TEXT + 1)] + ["b"]
    assert Automaton(texts).contained("a" * 100_000) == set(range(201))


@pytest.mark.parametrize("longest", [1, 4, LONGEST_TEXT])
@pytest.mark.parametrize("fewest", [0, 3, 99])
def test_limits_change_no_answer(longest: int, fewest: int) -> None:
    """Whatever is in the automaton and whatever is searched alone, the finds are the same."""
    texts, text = ["a", "ab", "abab", "babab", ""], "ababab"
    assert set(Automaton(texts, longest=longest, fewest=fewest).find(text)) == occurrences(texts, text)


@pytest.mark.parametrize(("text", "unspaced"), [("a", False), ("я", False), ("艾", True), ("の", True), ("ก", True)])
def test_scripts_without_spaces(text: str, unspaced: bool) -> None:
    """Letters of scripts that part no words are told from those that do."""
    assert is_unspaced(text) is unspaced


def test_many_texts_are_built_in_slices() -> None:
    """Texts of which the library would take time with their square are built piece by piece, and all are found."""
    texts = [f"k{number}" for number in range(30_000)]
    machine = Automaton(texts)
    assert machine.contained("k17 k29999") == {0 + 1, 17, 2, 29, 299, 2999, 29999}
    assert machine.size > sum(map(len, texts))


def test_the_text_before_all_others_is_never_found() -> None:
    """What keeps building quick changes no answer, even where a text has its character."""
    texts = [f"k{number}" for number in range(3_000)]
    machine = Automaton(texts)
    text = "k2\U0010ffff" + "\U0010ffff" * 2_000
    assert set(machine.find(text)) == {(2, 0, 2)}
    assert machine.contained(text) == {2}


def test_work_is_charged() -> None:
    """Building, searching and finding are charged: by the bytes of the texts, by what is searched, by each find."""
    spent = []
    for texts, text in (
        (["abc"] * 10, ""),
        (["abc"] * 100, ""),
        (["abc"] * 100, "x" * 9_000),
        (["abc"] * 100, "abc" * 3_000),
    ):
        with allowed() as allowance:
            Automaton([f"{number}{each}" for number, each in enumerate(texts)] + ["abc"]).contained(text)
        spent.append(allowance.spent["automata"])
    assert spent == sorted(set(spent))
    with pytest.raises(AllowanceError), allowed(BuildLimits(steps=10_000)):
        Automaton(["a" * 1000 + str(number) for number in range(100)])
