"""Figures of a plan: how many tokens each message has, by the counter and the counting rule of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from innkeeper.cli.render import Figures

if TYPE_CHECKING:
    from innkeeper.prompt import Plan, TokenCounter

__all__ = ["figures_of"]


def figures_of(plan: Plan, counter: TokenCounter | None = None) -> Figures:
    """The tokens of each sent block, of the framing, and what is left of the window."""
    from innkeeper.tokens import OPENAI, default_counter

    counting: Any = counter or default_counter()
    blocks = plan.sent_blocks()
    counts = tuple(counting.count(block.content, plan.model) for block in blocks)
    facts = counting.describe(plan.model)
    request = plan.request
    return Figures(
        blocks=counts,
        framing=OPENAI.per_message * len(blocks) + OPENAI.reply,
        reserved=request.reserved_tokens if request else 0,
        window=request.context_window if request else None,
        tokenizer=str(facts.get("tokenizer", "?")),
        exact=bool(facts.get("exact")),
    )
