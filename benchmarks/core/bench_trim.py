"""Trimming long chats: 5,000 blocks with known counts, by each strategy; the same with the built-in counter; a plan explained."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.case import Case
from innkeeper.budget import Stepped, TrimResult, explain, prefix_report, trim
from innkeeper.prompt import Block, BudgetGroup, FrozenDict, Plan
from innkeeper.tokens import OPENAI, default_counter

BLOCKS = 5_000
TOKENS_A_BLOCK = 60
WINDOW = 150_000
PROSE = "The harbour bell rang twice, and nobody on Lantern Street looked up from their work. "


class Known:
    """A counter that has seen every text: what is left is the trimming itself."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._known = dict.fromkeys(texts, TOKENS_A_BLOCK) | {"user": 1, "assistant": 1}

    def count(self, text: str, model: str | None = None) -> int:
        """A look-up."""
        return self._known[text]

    def count_many(self, texts: Sequence[str], model: str | None = None) -> list[int]:
        """The same for many."""
        known = self._known
        return [known[text] for text in texts]

    def describe(self, model: str | None = None) -> Mapping[str, Any]:
        """That it is exact."""
        return {"tokenizer": "known", "exact": True}


def cases() -> Iterator[Case]:
    """Over the window by half, so that half of the chat goes."""
    blocks = _chat()
    texts = [block.content for block in blocks]
    known, counter = Known(texts), default_counter()
    size = f"{BLOCKS:,} blocks, half of them evicted"
    for strategy in ("group_order", "priority", Stepped(step_tokens=2_000)):
        name = strategy if isinstance(strategy, str) else strategy.name
        yield Case(f"trim, {name}", _trimming(blocks, known, strategy), None, "", size)
    assert _trimming(blocks, known, "group_order")().report.fits
    counter.count_many(texts)
    yield Case("trim, counts remembered", _trimming(blocks, counter, "group_order"), None, "", size)
    yield Case("trim what fits", lambda: trim(blocks, counter=known, max_tokens=10**7), None, "", f"{BLOCKS:,} blocks")
    plan, longer = Plan(blocks=tuple(blocks[:-1])), Plan(blocks=tuple(blocks))
    yield Case("explain", lambda: explain(longer, known, OPENAI), None, "", f"{BLOCKS:,} blocks")
    yield Case("prefix report", lambda: prefix_report(plan, longer, known), None, "", f"{BLOCKS:,} blocks and one more")


def _trimming(blocks: Sequence[Block], counter: Any, strategy: Any) -> Callable[[], TrimResult]:
    return lambda: trim(blocks, counter=counter, strategy=strategy, max_tokens=WINDOW, framing=OPENAI)


def _chat() -> list[Block]:
    return [
        Block(
            id=f"history-{index}",
            role="assistant" if index % 2 else "user",
            content=f"{index}: {PROSE * 3}",
            slot="history",
            group=BudgetGroup.HISTORY,
            metadata=FrozenDict(source="history"),
        )
        for index in range(BLOCKS)
    ]
