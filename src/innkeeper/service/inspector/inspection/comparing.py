"""Comparing: two prompts of one workspace side by side: messages, tokens, entries whose verdict flipped, a provider's cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from innkeeper.budget.diff import Pair, is_changed_form, paired
from innkeeper.service.inspector.inspection.inspection import inspected
from innkeeper.service.inspector.inspection.planning import planned
from innkeeper.service.inspector.views.exchanges import (
    CacheCost,
    CompareRequest,
    Comparison,
    MessagePair,
    PairTokens,
    VerdictPair,
)
from innkeeper.service.inspector.views.inspection import InspectionView, MessageView

if TYPE_CHECKING:
    from innkeeper.prompt import Plan
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace


def compared(workspace: OpenWorkspace, request: CompareRequest) -> Comparison:
    """Two variations of a workspace. Raises what building and comparing raise."""
    plans = [planned(workspace, side) for side in (request.a, request.b)]
    views = [inspected(workspace, plan, side) for plan, side in zip(plans, (request.a, request.b), strict=True)]
    return comparison(plans[0], plans[1], views[0], views[1])


def comparison(before: Plan, after: Plan, a: InspectionView, b: InspectionView) -> Comparison:
    """Two prompts, paired as `innkeeper.budget.plan_diff` pairs them, as the page shows them."""
    blocks = before.sent_blocks(), after.sent_blocks()
    keys = [[(one.role, one.name, _text(one)) for one in side.messages] for side in (a, b)]
    pairs = list(paired(keys[0], keys[1], lambda i, j: is_changed_form(blocks[0][i], blocks[1][j])))
    common = 0
    for pair in pairs:
        if not pair.same:
            break
        common += b.messages[pair.after or 0].tokens
    return Comparison(
        same=a.fingerprint == b.fingerprint,
        messages=tuple([_pair(pair, a, b) for pair in pairs]),
        tokens=PairTokens(a.tokens.total, b.tokens.total),
        verdicts=tuple(_flipped(a, b)),
        cache=CacheCost(common, max(b.tokens.total - common, 0)),
    )


def _text(message: MessageView) -> str:
    return "".join([piece.text for piece in message.pieces])


def _pair(pair: Pair, before: InspectionView, after: InspectionView) -> MessagePair:
    a = None if pair.before is None else before.messages[pair.before]
    b = None if pair.after is None else after.messages[pair.after]
    kind: Any = "added" if a is None else "removed" if b is None else "same" if pair.same else "changed"
    index_a, text_a, tokens_a = (None, None, 0) if a is None else (a.index, _text(a), a.tokens)
    index_b, text_b, tokens_b = (None, None, 0) if b is None else (b.index, _text(b), b.tokens)
    role = next(message.role for message in (a, b) if message is not None)
    return MessagePair(index_a, index_b, kind, text_a, text_b, tokens_a, tokens_b, role)


def _flipped(a: InspectionView, b: InspectionView) -> Iterator[VerdictPair]:
    """Entries that are in one prompt and not in the other."""
    before = {verdict.id: verdict for verdict in a.verdicts}
    after = {verdict.id: verdict for verdict in b.verdicts}
    for name in dict.fromkeys((*before, *after)):
        sides = before.get(name), after.get(name)
        fired_a, fired_b = (side is not None and side.fired for side in sides)
        if fired_a is not fired_b:
            title = next(side.title for side in reversed(sides) if side is not None)
            reason_a, reason_b = (None if side is None else side.reason for side in sides)
            yield VerdictPair(name, title, reason_a, reason_b)
