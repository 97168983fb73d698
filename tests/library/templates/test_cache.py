"""The cache of rendered texts: what its key holds, its bounds, and how it forgets."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.tier import Tier
from innkeeper.library.prepare.conversation import template_values
from innkeeper.library.templates.cache import RenderedCache, RenderedKey, content_digest
from innkeeper.library.templates.rendering import RENDERER_VERSION, RenderedTemplate, render
from tests.library.making import made

KEY = RenderedKey(template_version_id="t@1", character_content_hash="c", user_persona_hash="p")


def _text(text: str) -> RenderedTemplate:
    return RenderedTemplate(text=text, version_id="t@1")


class Ticks:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    "change",
    [
        {"template_version_id": "t@2"},
        {"character_content_hash": "d"},
        {"user_persona_hash": "q"},
        {"scene_hash": "s"},
        {"settings_hash": "s"},
        {"tier": Tier.NSFW},
        {"renderer_version": RENDERER_VERSION + 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_part_of_the_key_counts(change: dict[str, object]) -> None:
    """Whatever goes into a text is part of its key: with any of it changed there is no text."""
    cache = RenderedCache()
    cache.put(KEY, _text("x"))
    assert cache.get(KEY) == _text("x")
    assert cache.get(msgspec.structs.replace(KEY, **change)) is None


def test_counters_do_not_count() -> None:
    """A character that was only talked to has the same digest, so every turn after the first is a hit."""
    cache, version = RenderedCache(), made("t", "{{character_name}}", variables="character_name")
    for turn in range(100):
        row = {"name": "Mira", "interaction_count": turn, "updated_at": str(turn)}
        values = template_values(row)
        key = msgspec.structs.replace(KEY, character_content_hash=content_digest(values))
        if (cached := cache.get(key)) is None:
            cache.put(key, cached := render(version, values))
        assert cached.text == "Mira"
    figures = cache.figures()
    assert (figures.hits, figures.misses, figures.hit_rate) == (99, 1, 0.99)


def test_digests() -> None:
    """Equal data have equal digests whatever their order; nothing has none."""
    assert content_digest({"a": 1, "b": 2}) == content_digest({"b": 2, "a": 1}) != content_digest({"a": 1})
    assert content_digest(None) == ""


def test_least_recently_used_goes_first() -> None:
    """Beyond its entries the cache forgets what was not asked for the longest."""
    cache = RenderedCache(entries=2)
    keys = [msgspec.structs.replace(KEY, scene_hash=name) for name in "abc"]
    cache.put(keys[0], _text("a"))
    cache.put(keys[1], _text("b"))
    cache.get(keys[0])
    cache.put(keys[2], _text("c"))
    assert [cache.get(key) is not None for key in keys] == [True, False, True]


def test_age() -> None:
    """A text is kept for its time and no longer."""
    clock = Ticks()
    cache = RenderedCache(seconds=10, clock=clock)
    cache.put(KEY, _text("x"))
    clock.now = 9.9
    assert cache.get(KEY)
    clock.now = 10
    assert cache.get(KEY) is None
    assert cache.figures().entries == 0
    assert RenderedCache().figures().hit_rate == 0


def test_too_long_is_not_kept() -> None:
    """A text longer than the whole cache, or a cache for nothing, keeps nothing."""
    small, none = RenderedCache(chars=3), RenderedCache(entries=0)
    for cache in (small, none):
        cache.put(KEY, _text("xxxx"))
        assert cache.get(KEY) is None


@pytest.mark.parametrize(
    ("given", "gone"),
    [
        ({"template_version_id": "t@1"}, 2),
        ({"character": "c"}, 1),
        ({"persona": "p"}, 2),
        ({"persona": "x"}, 0),
        ({}, 2),
    ],
    ids=["template", "character", "persona", "other", "all"],
)
def test_forgetting(given: dict[str, str], gone: int) -> None:
    """A publication or a saved character throws out what was made from it, and only that."""
    cache = RenderedCache()
    cache.put(KEY, _text("x"))
    cache.put(msgspec.structs.replace(KEY, character_content_hash="d"), _text("y"))
    assert cache.forget(**given) == gone
    assert cache.figures().entries == 2 - gone


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.text(max_size=20)), max_size=40))
def test_bounds_hold(puts: list[tuple[str, str]]) -> None:
    """Whatever is put in, entries and characters stay within bounds, and the size is that of what is kept."""
    cache = RenderedCache(entries=3, chars=30)
    for name, text in puts:
        cache.put(msgspec.structs.replace(KEY, scene_hash=name), _text(text))
        figures = cache.figures()
        assert figures.entries <= 3
        assert figures.chars == sum(len(kept.rendered.text) for kept in cache._entries_by_key.values()) <= 30
