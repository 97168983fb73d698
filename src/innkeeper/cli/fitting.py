"""Fitting: a plan that is certain to fit the window of the model that gets it, by that model's own count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from innkeeper.prompt import BudgetGroup, BuildRequest, Note, NoteKind, Pipeline, Plan, Ports
from innkeeper.prompt.errors import MaxTokensExceededError

if TYPE_CHECKING:
    from innkeeper.budget import Accounting
    from innkeeper.tokens import Framing

__all__ = ["build_fitting", "count_plan"]

ROUNDS: Final = 12
"""How often a plan is built again because the model counts more than the tavern did."""


def build_fitting(request: BuildRequest, ports: Ports, framing: Framing | None = None, *, commit: bool = True) -> Plan:
    """The plan of the tavern that ``request`` names; where that tavern does not trim, old history is trimmed for it.

    A tavern counts messages by a rule of its own. Where the model's rule, ``framing``, comes to more than the window, the plan
    is built again for a window that much smaller, and a note says so.
    Raises what the tavern raises, and `MaxTokensExceededError` where even that does not help.
    """
    window, reserve = request.context_window, request.reserved_tokens
    for _ in range(ROUNDS):
        plan = _build(request, ports, framing, commit=commit)
        figures = count_plan(plan, ports, framing, window=window)
        if figures.fits:
            _check_newest(plan, figures)
            return plan if request.context_window == window else _noted(plan, window)
        request = request.with_(context_window=_smaller(request.context_window or 0, figures))
    raise MaxTokensExceededError(estimated_tokens=figures.total, max_tokens=window or 0, reserve_tokens=reserve)


def count_plan(
    plan: Plan, ports: Ports | None = None, framing: Framing | None = None, *, window: int | None = None
) -> Accounting:
    """What each message of a plan costs, and what is left of ``window``, or else of the window it was built for."""
    from innkeeper.budget import accounting

    figures = accounting(plan, ports.token_counter if ports is not None else None, framing)
    if window is None:
        return figures
    return msgspec.structs.replace(figures, window=window, free=window - figures.reserve - figures.total)


def _smaller(window: int, figures: Accounting) -> int:
    """A smaller window to build for: as much smaller as the model counts more, and by at least one token."""
    allowed = max((figures.window or 0) - figures.reserve, 0)
    share = figures.reserve + max(window - figures.reserve, 0) * allowed // max(figures.total, 1)
    return max(min(share, window - 1), 1)


def _build(request: BuildRequest, ports: Ports, framing: Framing | None, *, commit: bool) -> Plan:
    from innkeeper.taverns import TAVERNS

    tavern = TAVERNS[request.tavern]
    return tavern.build(
        request, ports, pipeline=_trimming(tavern.pipeline_for(request), request, framing), commit=commit
    )


def _trimming(pipeline: Pipeline, request: BuildRequest, framing: Framing | None) -> Pipeline:
    """The pipeline, with a step that trims where there is a window and no such step yet."""
    from innkeeper.budget import MAX_TOKENS, TRIMMING
    from innkeeper.tokens import OPENAI

    if not request.context_window or TRIMMING.name in pipeline:
        return pipeline
    more = max(framing.per_message - OPENAI.per_message, 0) if framing is not None else 0
    if MAX_TOKENS.name in pipeline:
        return pipeline.insert_before(MAX_TOKENS.name, TRIMMING, message_overhead_tokens=more)
    return pipeline.append(TRIMMING, message_overhead_tokens=more)


def _check_newest(plan: Plan, figures: Accounting) -> None:
    """Refuse a prompt that has room for none of the user's messages: it would ask the model for something else."""
    spoken = [block for block in plan.blocks if block.group == BudgetGroup.HISTORY and block.role == "user"]
    if spoken and not any(block.enabled for block in spoken):
        needed = figures.total + spoken[0].content.count(" ")
        raise MaxTokensExceededError(
            estimated_tokens=needed, max_tokens=figures.window or 0, reserve_tokens=figures.reserve, step="trimming"
        )


def _noted(plan: Plan, window: int | None) -> Plan:
    message = f"built for a window smaller than {window} tokens: the model's messages cost more than the tavern counts"
    return plan.with_(notes=(*plan.notes, Note(NoteKind.ESTIMATE, message)))
