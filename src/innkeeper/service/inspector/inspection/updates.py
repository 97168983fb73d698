"""Updates: an inspection as what differs from the one that a connection was sent before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import UNSET

from innkeeper.service.inspector.views import (
    FileView,
    Inspection,
    InspectionUpdate,
    MessageChanges,
    MessageView,
    Verdict,
    VerdictChanges,
)

__all__ = ["Updates"]

T = TypeVar("T", MessageView, Verdict)


class Updates:
    """Those of one connection: the first is whole."""

    def __init__(self) -> None:
        self._before: Inspection | None = None
        self.files: dict[str, FileView] = {}
        """The files as it was told of them."""

    def next(self, inspection: Inspection) -> InspectionUpdate:
        """What is to be sent of an inspection. Where most of a list is other, it goes whole."""
        before, self._before = self._before, inspection
        messages = _changes(before.messages, inspection.messages) if before is not None else None
        verdicts = _changes(before.verdicts, inspection.verdicts) if before is not None else None
        return InspectionUpdate(
            fingerprint=inspection.fingerprint,
            tavern=inspection.tavern,
            profile=inspection.profile,
            model=inspection.model,
            turns=inspection.turns,
            tokens=inspection.tokens,
            groups=inspection.groups,
            origins=inspection.origins,
            lore=inspection.lore,
            trims=inspection.trims,
            notes=inspection.notes,
            messages=inspection.messages if messages is None else UNSET,
            verdicts=inspection.verdicts if verdicts is None else UNSET,
            messages_changed=UNSET if messages is None else MessageChanges(len(inspection.messages), messages),
            verdicts_changed=UNSET if verdicts is None else VerdictChanges(len(inspection.verdicts), verdicts),
        )


def _changes(before: Sequence[T], after: Sequence[T]) -> dict[str, T] | None:
    """The items that are others, by index; None where most are."""
    changed = {
        str(index): item
        for index, item in enumerate(after)
        if index >= len(before) or not _is_same(before[index], item)
    }
    return None if 2 * len(changed) > len(after) else changed


def _is_same(before: T, after: T) -> bool:
    """Whether an item need not be sent again. What share of all tokens a message has follows from its tokens."""
    if before is after:
        return True
    if isinstance(before, MessageView) and isinstance(after, MessageView) and before.share != after.share:
        return before.tokens == after.tokens and before == msgspec.structs.replace(after, share=before.share)
    return before == after
