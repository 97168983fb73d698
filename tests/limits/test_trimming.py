"""Trimming, counting, dialects and the forms of texts: what long chats and texts of one letter cost."""

from __future__ import annotations

import pytest

from innkeeper.budget.strategies import STRATEGIES
from innkeeper.budget.trim import trim
from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Block
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.plan import Plan
from innkeeper.text.bm25 import Bm25
from innkeeper.text.views import views_of
from innkeeper.tokens import default_counter
from tests.limits.growth import Family, fresh, held, spending


class Letters:
    """Counts a token a letter."""

    def count(self, text: str, model: str | None = None) -> int:
        """The letters of the text."""
        return len(text)

    def describe(self, model: str | None = None) -> dict[str, str]:
        """How it counts."""
        return {"tokenizer": "letters"}


def _trim(strategy: str, blocks: list[Block]) -> None:
    trim(blocks, counter=Letters(), strategy=strategy, max_tokens=100, on_overflow="return")


def _chat(count: int) -> list[Block]:
    return [Block(role="user", content=f"m{number}", group="history") for number in range(count)]


def _chain(count: int) -> list[Block]:
    """Each block linked to the one before it in the order that makes the longest chain of links."""
    ids = [*range(count // 2), *(number // 2 for number in range(count - count // 2, 0, -1))]
    return [
        Block(role="user", content="m", group="history", metadata=FrozenDict(eviction_bundle=str(number)))
        for number in ids
    ]


def _rendered(dialect: str, count: int) -> None:
    roles = ("user", "assistant", "system", "tool")
    blocks = [Block(role=roles[number % 4], content=f"m{number}") for number in range(count)]
    Plan(blocks=tuple(blocks), dialects=DIALECTS).render(dialect)


RENDERED = ("openai", "anthropic", "gemini", "text", "sillytavern")


def _trimming(name: str) -> Family:
    return Family(f"trimming by {name}", lambda n: _trim(name, _chat(n)), 300, "trimming")


def _rendering(name: str) -> Family:
    return Family(f"rendering for {name}", lambda n: _rendered(name, n), 150, "dialects")


def _counting(unit: str) -> Family:
    return Family(f"counting {unit!r}", lambda n: default_counter().count(fresh() + unit * n), 6_000, "tokens")


def _forms(unit: str) -> Family:
    return Family(f"forms of {unit!r}", lambda n: list(views_of(unit * n)), 1_500, "views")


FAMILIES = (
    *map(_trimming, STRATEGIES),
    Family("linked blocks", lambda n: _trim("group_order", _chain(n)), 300, "trimming"),
    *map(_rendering, RENDERED),
    *map(_counting, ("a", " ", "\n", "!", "0", "漢", "aB1 ", "\u200d")),
    *map(_forms, ("a", "a ", "a.", "!1", "&#97;", "ﷺ", "\u0430\u200b", "e\u0301")),
    Family("a search of words", lambda n: Bm25().search([fresh() + "a b c " * n], "a b"), 5_000, "search"),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_chat_costs_twice_as_much(family: Family) -> None:
    """Time and memory grow as blocks and texts do."""
    assert held(family)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_they_are_charged(family: Family) -> None:
    """Blocks, messages and characters are charged."""
    assert spending(family)[family.engine] > 1_000
