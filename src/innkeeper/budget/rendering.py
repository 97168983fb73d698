"""Rendering: a dialect that makes one text of all messages is counted by that text, with its marks and separators.

Two rules hold the promise ``used + reserved <= window`` for it. A build whose request names such a dialect is fitted by the text
that `Plan.to_request` gives. A plan that is rendered with options that the build did not know is measured again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.budget.costing import Costing, count_texts
from innkeeper.budget.trim import TokenRoom
from innkeeper.prompt import InnkeeperError, MaxTokensExceededError, Payload, Plan

__all__ = ["RenderGuard", "marks_of", "text_of"]


def text_of(plan: Plan) -> str | None:
    """The one text that a plan is sent as; ``None`` where its dialect sends messages, or cannot render it."""
    if plan.dialect is None or plan.dialects is None or plan.dialect not in plan.dialects:
        return None
    try:
        return _one_text(plan.to_request())
    except InnkeeperError:
        return None


def marks_of(plan: Plan, costing: Costing, tokens: int) -> int:
    """What the text of a plan costs besides the ``tokens`` of its messages: marks of roles, separators. 0 for messages."""
    if costing.framing.fields != ("content",):
        return 0
    text = text_of(plan)
    return 0 if text is None else max(count_texts(costing.counter, [text], costing.model)[0] - tokens, 0)


class RenderGuard(msgspec.Struct, frozen=True):
    """Refuses a text that does not fit where the build has not counted it: another dialect, or options given at rendering."""

    costing: Costing
    room: TokenRoom

    def check(self, payload: Payload, options: Mapping[str, Any]) -> None:
        """Raise `MaxTokensExceededError` for one text, made with ``options``, that is larger than its budget."""
        text = _one_text(payload)
        if text is None:
            return
        known = ", ".join(["dialect", *(name for name in _SHAPING if name in options)])
        tokens = count_texts(self.costing.counter, [text], self.costing.model)[0]
        if tokens > self.room.budget_tokens:
            raise MaxTokensExceededError(
                estimated_tokens=tokens,
                max_tokens=self.room.max_tokens or self.room.budget_tokens + self.room.reserve_tokens,
                reserve_tokens=self.room.reserve_tokens,
                hint=f"give {known} to the build, which then leaves out what does not fit",
            )


_SHAPING: Final = ("instruct", "chat_template", "separator")
"""Options that decide how long the text is."""


def _one_text(payload: Payload) -> str | None:
    text = payload.body.get("prompt") if isinstance(payload.body, Mapping) else None
    return text if isinstance(text, str) else None
