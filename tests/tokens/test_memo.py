"""The memo: bounded, shared, and never wrong."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.tokens.limits import DIGEST_ABOVE
from innkeeper.tokens.memo import Memo, key


def test_remembers_by_tokenizer_and_text() -> None:
    """The same text under another tokenizer is another entry."""
    memo = Memo()
    memo.put(key("a", "x"), 1)
    memo.put(key("b", "x"), 2)
    assert (memo.get(key("a", "x")), memo.get(key("b", "x")), memo.get(key("c", "x"))) == (1, 2, None)


@pytest.mark.parametrize(("length", "kind"), [(DIGEST_ABOVE, str), (DIGEST_ABOVE + 1, bytes)])
def test_long_texts_are_kept_as_digests(length: int, kind: type) -> None:
    """Up to the limit a key holds the text, above it 20 bytes."""
    assert isinstance(key("a", "x" * length)[1], kind)


def test_digests_take_lone_surrogates() -> None:
    """A text that is no UTF-8 has a digest too, and not that of another."""
    assert key("a", "\ud800" * 2000) != key("a", "\ud801" * 2000)


@given(st.lists(st.integers(0, 60), max_size=300), st.integers(2, 20))
def test_never_more_than_its_entries(texts: list[int], entries: int) -> None:
    """Whatever is put in, the number of entries stays within the limit, and what is found is right."""
    memo = Memo(entries=entries)
    for text in texts:
        memo.put(key("a", str(text)), text)
        assert len(memo) <= entries
        assert memo.get(key("a", str(text))) == text


def test_never_more_than_its_bytes() -> None:
    """Keys stay within the byte limit, and a key that is larger than all of it is not kept."""
    memo = Memo(size=20_000)
    for number in range(1000):
        memo.put(key("a", f"{number:0500}"), number)
    assert sum(sys.getsizeof(text) for _, text in {**memo._old, **memo._young}) <= 20_000
    tiny = Memo(size=100)
    tiny.put(key("a", "x" * 1000), 1)
    assert len(tiny) == 0


def test_what_is_used_stays() -> None:
    """An entry that is asked for again and again outlives many that are not."""
    memo = Memo(entries=10)
    memo.put(key("a", "kept"), 7)
    for number in range(100):
        memo.put(key("a", str(number)), number)
        assert memo.get(key("a", "kept")) == 7
    assert memo.get(key("a", "3")) is None


def test_clear_forgets() -> None:
    """After `clear` nothing is known."""
    memo = Memo()
    memo.put(key("a", "x"), 1)
    memo.clear()
    assert len(memo) == 0
    assert memo.get(key("a", "x")) is None


def test_threads_share_it() -> None:
    """Many threads that read and write at once see only right counts, and the bound holds."""
    memo = Memo(entries=50)

    def work(seed: int) -> bool:
        for number in range(2000):
            text = str((number * seed) % 97)
            memo.put(key("a", text), int(text))
            if memo.get(key("a", text)) not in {None, int(text)}:
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, [3, 5, 7, 11]))
    assert len(memo) <= 50
