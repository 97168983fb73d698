"""The strategy ``fill``: what filling would have placed last goes first."""

from innkeeper.budget import trim
from tests.budget.doubles import Characters, block

BLOCKS = [
    block("ll", "lore"),
    block("e1", "examples", bundle="e1"),
    block("e2", "examples", bundle="e2"),
    block("h1"),
    block("h2", role="assistant"),
    block("h3"),
]


def _kept(budget: int) -> list[str]:
    result = trim(BLOCKS, counter=Characters(), strategy="fill", budget_tokens=budget, on_overflow="return")
    return [b.content for b in result.kept]


def test_examples_go_from_the_last_then_history_from_the_oldest() -> None:
    """As SillyTavern leaves them out; lore and the latest user message stay."""
    assert _kept(12) == ["ll", "e1", "e2", "h1", "h2", "h3"]
    assert _kept(10) == ["ll", "e1", "h1", "h2", "h3"]
    assert _kept(6) == ["ll", "h2", "h3"]
    assert _kept(0) == ["ll", "h3"]
