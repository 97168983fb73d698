"""The cache: bounded in items and bytes, the least recently used goes first."""

from collections.abc import Callable
from threading import Thread

from innkeeper.content.cache import Cache


def make(value: str, calls: list[str]) -> Callable[[], str]:
    """A maker that notes that it was asked."""

    def build() -> str:
        calls.append(value)
        return value

    return build


def test_a_value_is_made_once() -> None:
    """The second request for a key gives the same object."""
    cache, calls = Cache[str](), list[str]()
    assert cache.get("k", 1, make("v", calls)) is cache.get("k", 1, make("w", calls))
    assert calls == ["v"]


def test_the_number_of_items_is_bounded() -> None:
    """What was not used for longest goes."""
    cache, calls = Cache[str](items=2), list[str]()
    for key in ("a", "b", "a", "c", "a", "b"):
        cache.get(key, 1, make(key, calls))
    assert calls == ["a", "b", "c", "b"]
    assert len(cache) == 2


def test_the_number_of_bytes_is_bounded() -> None:
    """The sum of sizes stays below the bound, and a value above it is not kept at all."""
    cache, calls = Cache[str](size=10), list[str]()
    for key, size in (("a", 6), ("b", 6), ("big", 11), ("b", 6)):
        cache.get(key, size, make(key, calls))
    assert calls == ["a", "b", "big"]
    assert len(cache) == 1


def test_clear_forgets() -> None:
    """After `clear` everything is made anew."""
    cache, calls = Cache[str](), list[str]()
    cache.get("a", 1, make("a", calls))
    cache.clear()
    cache.get("a", 1, make("a", calls))
    assert calls == ["a", "a"]


def test_threads_may_share_it() -> None:
    """Concurrent use keeps the bounds and gives right values."""
    cache, wrong = Cache[str](items=3), list[str]()

    def work() -> None:
        for number in range(500):
            key = str(number % 7)
            if cache.get(key, 1, make(key, [])) != key:
                wrong.append(key)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(cache) <= 3
