"""Specs of tokenizers: what measures a text, how far it may be off, and limits that leave room."""

import pytest

from innkeeper.library.models.measure import CLIP, Measure, TokenizerSpec
from innkeeper.prompt.errors import ConfigError
from innkeeper.tokens import VOCABULARIES, Counter
from innkeeper.tokens.table.vocabulary import Vocabularies

BARE = Counter(vocabularies=Vocabularies(*(v for v in VOCABULARIES.values() if v.name != "clip")))
"""A counter without the vocabulary of CLIP."""


def test_characters_are_counted_as_such() -> None:
    """A provider that limits characters is measured in them."""
    measure = TokenizerSpec("chars", limit_usable=8000).measure()
    assert (measure.count("naïve"), measure.exact) == (5, True)


def test_chat_models_are_counted_by_their_own() -> None:
    """A byte-pair spec counts as its model does."""
    assert TokenizerSpec("bpe", "gpt-4o", 1000).measure().count("The lamp is lit.") == 5


def test_an_estimate_says_how_far_it_may_be_off() -> None:
    """Without the vocabulary a named estimate with its error counts, and budgets use its upper edge."""
    measure = CLIP.measure(BARE)
    assert (measure.exact, measure.error_percent) == (False, 30)
    assert measure.name.startswith("heuristic")
    text = "a quiet harbour at dawn, soft light, wide view"
    assert measure.most(text) == -(-measure.count(text) * 130 // 100)


def test_an_unknown_error_adds_nothing() -> None:
    """Where nobody knows the error, the count is all there is."""
    assert Measure("mine", len, None).most("four") == 4


@pytest.mark.parametrize(("limit", "reserve"), [(0, 0), (75, 75), (75, -1)])
def test_limits_must_leave_room(limit: int, reserve: int) -> None:
    """A spec without room is refused when it is made."""
    with pytest.raises(ConfigError):
        TokenizerSpec("clip", "clip", limit, reserve)


def test_windows() -> None:
    """Only a runtime that reads several windows has more than one."""
    assert [CLIP.windows(size) for size in (0, 75, 76)] == [1, 1, 1]
    compel = TokenizerSpec("clip", "clip", 75, chunking="compel")
    assert [compel.windows(size) for size in (0, 75, 76, 151)] == [1, 1, 2, 3]
