"""Comparing: two prompts of one workspace side by side: messages, tokens, entries whose verdict flipped, a provider's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final

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
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace


_ALIKE: Final = 0.3
"""How alike two texts must be, from 0 to 1, to be one message that changed."""

_LONG: Final = 4_000


def compared(workspace: OpenWorkspace, request: CompareRequest) -> Comparison:
    """Two variations of a workspace. Raises what building raises."""
    sides = [inspected(workspace, planned(workspace, side), side) for side in (request.a, request.b)]
    return comparison(sides[0], sides[1])


def comparison(a: InspectionView, b: InspectionView) -> Comparison:
    """Two prompts."""
    pairs = tuple(_pairs(a.messages, b.messages))
    common = 0
    for one, other in zip(a.messages, b.messages, strict=False):
        if (one.role, one.name, _text(one)) != (other.role, other.name, _text(other)):
            break
        common += other.tokens
    return Comparison(
        same=a.fingerprint == b.fingerprint,
        messages=pairs,
        tokens=PairTokens(a.tokens.total, b.tokens.total),
        verdicts=tuple(_flipped(a, b)),
        cache=CacheCost(common, max(b.tokens.total - common, 0)),
    )


def _text(message: MessageView) -> str:
    return "".join([piece.text for piece in message.pieces])


def _pairs(a: Sequence[MessageView], b: Sequence[MessageView]) -> Iterator[MessagePair]:
    """All messages of both: those that are the same, and between them those that changed, came or went."""
    keys = [[(one.role, one.name, _text(one)) for one in side] for side in (a, b)]
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        if kind == "equal":
            for one, other in zip(a[a1:a2], b[b1:b2], strict=True):
                yield _pair(one, other, same=True)
        else:
            yield from _replaced(a[a1:a2], b[b1:b2])


def _replaced(a: Sequence[MessageView], b: Sequence[MessageView]) -> Iterator[MessagePair]:
    """Messages in the place of others: in their order, those of one slot, or alike, are one that changed."""
    left = list(b)
    for one in a:
        index = next((index for index, other in enumerate(left) if _is_changed(one, other)), None)
        if index is None:
            yield _pair(one, None)
            continue
        for other in left[:index]:
            yield _pair(None, other)
        yield _pair(one, left[index])
        del left[: index + 1]
    for other in left:
        yield _pair(None, other)


def _is_changed(a: MessageView, b: MessageView) -> bool:
    if a.role != b.role or a.group != b.group:
        return False
    if a.slot is not None and a.slot == b.slot and a.group != "history":
        return True
    matcher = SequenceMatcher(None, _text(a)[:_LONG], _text(b)[:_LONG])
    return matcher.real_quick_ratio() > _ALIKE and matcher.quick_ratio() > _ALIKE


def _pair(a: MessageView | None, b: MessageView | None, *, same: bool = False) -> MessagePair:
    kind: Any = "added" if a is None else "removed" if b is None else "same" if same else "changed"
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
