"""Budgets: how much room a prompt has, apart from how much a model may write.

``target_budget`` belongs to the consumer of the prompt (an image model, say), ``max_output_tokens`` to the call that writes
it; neither is ever taken for the other (dynamic-prompting reference 4.5).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from innkeeper.library.cutting import cut_text
from innkeeper.library.errors import OverBudgetError, SpecError
from innkeeper.library.models.measure import Measure, TokenizerSpec
from innkeeper.prompt.frozen import EMPTY, FrozenDict

__all__ = ["Budget", "Fitted", "budget_of", "chat_budget", "fit_text"]


class Budget(msgspec.Struct, frozen=True):
    """The room for one prompt, in the unit of its spec.

    ``target`` is what may be used: ``limit`` less everything ``reserved``, or less where the template asks for less.
    ``char_limit`` is a limit of characters beside it, where a provider has one.
    """

    target: int
    limit: int
    reserved: Mapping[str, int] = EMPTY
    max_output_tokens: int | None = None
    char_limit: int | None = None
    unit: str = "tokens"

    def fits(self, text: str, measure: Measure) -> bool:
        """Whether a text is small enough, by the upper edge of an estimate."""
        return measure.most(text) <= self.target and (self.char_limit is None or len(text) <= self.char_limit)


class Fitted(msgspec.Struct, frozen=True):
    """A text made to fit: what is left, its size, and what was cut off its end (empty where nothing was)."""

    text: str
    size: int
    cut: str = ""


def budget_of(
    spec: TokenizerSpec,
    *,
    overlays: Mapping[str, str] = EMPTY,
    target_budget: int | None = None,
    max_output_tokens: int | None = None,
    char_limit: int | None = None,
    measure: Measure | None = None,
) -> Budget:
    """The room a prompt has under a spec.

    ``overlays`` are texts that are added to the prompt later (``ui``, ``suffix``, ``trigger_words`` …): their sizes are
    reserved, beside the spec's own reserve.

    Raises:
        SpecError: nothing is left, or a limit is not above 0.
    """
    sizes = measure or spec.measure()
    reserved = {"spec": spec.reserve} if spec.reserve else {}
    reserved |= {name: sizes.most(text) for name, text in overlays.items() if text}
    room = spec.limit_usable - sum(reserved.values())
    target = room if target_budget is None else min(target_budget, room)
    for name, value in (("target", target), ("max_output_tokens", max_output_tokens), ("char_limit", char_limit)):
        if value is not None and value <= 0:
            raise SpecError(f"a {name} of {value} leaves no room (limit {spec.limit_usable}, reserved {reserved})")
    unit = "chars" if spec.kind == "chars" else "tokens"
    return Budget(target, spec.limit_usable, FrozenDict(reserved), max_output_tokens, char_limit, unit)


def chat_budget(context_window: int, max_output_tokens: int, safety: int = 0) -> int:
    """The room of a chat: the window less the reply and a margin. Raises `SpecError` when nothing is left."""
    room = context_window - max_output_tokens - safety
    if room <= 0 or max_output_tokens < 0 or safety < 0:
        raise SpecError(
            f"a window of {context_window} with {max_output_tokens} for the reply and {safety} spare has no room"
        )
    return room


def fit_text(text: str, budget: Budget, measure: Measure, overflow: str) -> Fitted:
    """A text of no known parts within a budget, cut after a sentence or else after a word.

    Raises:
        OverBudgetError: it does not fit, and ``overflow`` is ``error``, or not even its first word fits.
    """
    if budget.fits(text, measure):
        return Fitted(text, measure.count(text))
    kept = "" if overflow == "error" else cut_text(text, lambda part: budget.fits(part, measure))
    if not kept:
        raise OverBudgetError(measure.most(text), budget.target, budget.unit)
    return Fitted(kept, measure.count(kept), text[len(kept) :])
