"""The memo: bounded in items and bytes, shared between threads, and never wrong."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.bounded_cache import ITEM_OVERHEAD, BoundedCache, stored_bytes, trim_stores


@given(st.lists(st.integers(0, 60), max_size=300), st.integers(2, 20))
def test_never_more_than_its_items(keys: list[int], items: int) -> None:
    """Whatever is put in, the number of items stays within the bound, and what is returned is right."""
    memo: BoundedCache[int, str] = BoundedCache(items=items)
    for key in keys:
        assert memo.get(key) in {None, str(key)}
        assert memo.put(key, str(key), 1) == memo.get(key)
        assert len(memo) <= items


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 700)), max_size=200))
def test_never_more_than_its_bytes(puts: list[tuple[int, int]]) -> None:
    """Whatever is put in, also again with another size, the bytes stay within the bound; a value above half is not kept."""
    memo: BoundedCache[int, int] = BoundedCache(size=2000)
    for key, size in puts:
        memo.put(key, size, size)
        assert memo.size <= 2000
        assert (memo.get(key) == size) or size > 1000 - ITEM_OVERHEAD


def test_what_is_used_stays() -> None:
    """A value that is asked for again and again outlives many that are not."""
    memo: BoundedCache[str, int] = BoundedCache(items=10)
    memo.put("kept", 7, 1)
    for number in range(100):
        memo.put(str(number), number, 1)
        assert memo.get("kept") == 7
    assert memo.get("3") is None


def test_a_value_is_made_once() -> None:
    """`get_or_make` makes what is not kept, and gives the same object from then on."""
    memo: BoundedCache[str, list[int]] = BoundedCache()
    first = memo.get_or_make("k", lambda: [1], 8)
    assert memo.get_or_make("k", lambda: [2], 8) is first


def test_an_identity_stays_alive() -> None:
    """What a key names by its ``id`` lives as long as its value, so no other object can take its ``id``."""
    memo: BoundedCache[int, str] = BoundedCache()
    keys = [memo.put(id(value), "x", 1, alive=value) and id(value) for value in ([number] for number in range(50))]
    assert len(set(keys)) == 50


def test_it_holds_more_when_told() -> None:
    """What was too large is kept then; it never holds less."""
    memo: BoundedCache[str, int] = BoundedCache(size=2_000)
    memo.put("large", 1, 5_000)
    assert memo.get("large") is None
    memo.grow(20_000)
    memo.grow(10)
    memo.put("large", 1, 5_000)
    assert memo.get("large") == 1


def test_clear_forgets() -> None:
    """After `clear` nothing is kept."""
    memo: BoundedCache[str, int] = BoundedCache()
    memo.put("x", 1, 10)
    memo.clear()
    assert (len(memo), memo.size, memo.get("x")) == (0, 0, None)


def test_threads_share_it() -> None:
    """Many threads that read and write at once see only right values, and the bound holds."""
    memo: BoundedCache[str, int] = BoundedCache(items=50)

    def work(seed: int) -> bool:
        for number in range(2000):
            key = str((number * seed) % 97)
            if memo.get_or_make(key, lambda key=key: int(key), 1) != int(key):  # type: ignore[misc]
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, [3, 5, 7, 11]))
    assert len(memo) <= 50


def test_all_stores_share_one_ceiling() -> None:
    """Above the ceiling, what was used longest ago goes first, whichever store has it; what is used again stays."""
    early: BoundedCache[int, int] = BoundedCache(size=4_000_000)
    late: BoundedCache[int, int] = BoundedCache(size=4_000_000)
    trim_stores(0)  # what other tests left would go first
    before = stored_bytes()
    early.put(1, 1, 1_000_000)
    early.turn()
    late.put(1, 1, 1_000_000)
    assert stored_bytes() == before + early.held + late.held
    trim_stores(stored_bytes() - 1_000_000)
    assert (early.get(1), late.get(1)) == (None, 1)
    trim_stores(0)
    assert stored_bytes() == early.held == late.held == 0


def test_a_store_that_fills_looks_at_the_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to call for it: a store that takes in values trims them all now and then."""
    calls: list[bool] = []
    monkeypatch.setattr("innkeeper.prompt.bounded_cache.trim_stores", lambda: calls.append(True))
    memo: BoundedCache[int, int] = BoundedCache()
    for number in range(100):
        memo.put(number, number, 100_000)
    assert 30 <= len(calls) <= 40


def test_a_store_that_is_gone_counts_no_more() -> None:
    """The ceiling keeps no store alive."""
    before = stored_bytes()
    memo: BoundedCache[int, int] = BoundedCache()
    memo.put(1, 1, 1_000_000)
    assert stored_bytes() > before
    del memo
    assert stored_bytes() == before


@given(st.lists(st.lists(st.integers(0, 30), max_size=30), max_size=20), st.integers(2, 40))
def test_many_are_what_each_is(rounds: list[list[int]], items: int) -> None:
    """`get_all` returns what `get` does, also of values that are about to be forgotten."""
    memo: BoundedCache[int, str] = BoundedCache(items=items)
    for keys in rounds:
        singles, values = [memo.get(key) for key in keys], memo.get_all(keys)
        assert all(value in {None, str(key)} for key, value in zip(keys, values, strict=True))
        assert len(set(keys)) > items // 2 or singles == values
        for key in keys:
            memo.put(key, str(key), 1)


def test_what_is_made_of_each_object_is_kept() -> None:
    """Those that are missing are made at once, in their order; others stay as they are."""
    memo: BoundedCache[int, str] = BoundedCache()
    objects, made = [[number] for number in range(5)], list[int]()

    def make(new: list[list[int]]) -> list[str]:
        made.append(len(new))
        return [str(item[0]) for item in new]

    assert memo.of_each(objects[:3], make, len) == ["0", "1", "2"]
    assert memo.of_each([objects[4], *objects], make, len) == ["4", "0", "1", "2", "3", "4"]
    assert memo.of_each(objects, make, len) == ["0", "1", "2", "3", "4"]
    assert made == [3, 3]
