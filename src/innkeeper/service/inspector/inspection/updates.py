"""Updates: an inspection as what differs from the one that a connection was sent before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import UNSET

from innkeeper.service.inspector.views.exchanges import InspectionUpdate, MessageChanges, OriginChanges, VerdictChanges
from innkeeper.service.inspector.views.inspection import InspectionFacts, InspectionView
from innkeeper.service.inspector.views.workspace import FileView

T = TypeVar("T")


class Updates:
    """Those of one connection: the first is whole."""

    def __init__(self) -> None:
        self._before: InspectionView | None = None
        self.files: dict[str, FileView] = {}
        """The files as it was told of them."""

    def next(self, inspection: InspectionView) -> InspectionUpdate:
        """What is to be sent of an inspection. Where most of a list is other, it goes whole."""
        before, self._before = self._before, inspection
        messages = _changes(before.messages, inspection.messages) if before is not None else None
        verdicts = _changes(before.verdicts, inspection.verdicts) if before is not None else None
        origins = _changes(before.origins, inspection.origins) if before is not None else None
        return InspectionUpdate(
            **{name: getattr(inspection, name) for name in InspectionFacts.__struct_fields__},
            messages=inspection.messages if messages is None else UNSET,
            verdicts=inspection.verdicts if verdicts is None else UNSET,
            origins=inspection.origins if origins is None else UNSET,
            messages_changed=UNSET if messages is None else MessageChanges(len(inspection.messages), messages),
            verdicts_changed=UNSET if verdicts is None else VerdictChanges(len(inspection.verdicts), verdicts),
            origins_changed=UNSET if origins is None else OriginChanges(len(inspection.origins), origins),
        )


def _changes(before: Sequence[T], after: Sequence[T]) -> dict[str, T] | None:
    """The items that are others, by index; None where most are."""
    changed = {
        str(index): item
        for index, item in enumerate(after)
        if index >= len(before) or (item is not before[index] and item != before[index])
    }
    return None if 2 * len(changed) > len(after) else changed
