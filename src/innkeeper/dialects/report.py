"""Report: what one conversion could not carry or had to change, gathered so that equal facts become one note."""

from __future__ import annotations

from typing import Final

from innkeeper.prompt.errors import Where
from innkeeper.prompt.frozen import FrozenDict
from innkeeper.prompt.note import Note, NoteKind

__all__ = ["Report"]

_SHOWN: Final = 8


class Report:
    """The notes of one conversion. Lives as long as the call; the same sentence about several messages is one note."""

    __slots__ = ("_found", "dialect")

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self._found: dict[tuple[NoteKind, str, str | None], list[int]] = {}

    def add(self, kind: NoteKind, sentence: str, index: int | None = None, hint: str | None = None) -> None:
        """Note ``sentence``, about the message at ``index`` where it is about one."""
        places = self._found.setdefault((kind, sentence, hint), [])
        if index is not None and index >= 0 and (not places or places[-1] != index):
            places.append(index)

    def loss(self, sentence: str, index: int | None = None, hint: str | None = None) -> None:
        """Note something that the dialect cannot carry."""
        self.add(NoteKind.LOSS, sentence, index, hint)

    def repair(self, sentence: str, index: int | None = None, hint: str | None = None) -> None:
        """Note something that was changed so that the provider takes it."""
        self.add(NoteKind.REPAIR, sentence, index, hint)

    def notes(self) -> tuple[Note, ...]:
        """The notes in the order in which they were first found."""
        return tuple(self._note(*key, places) for key, places in self._found.items())

    def _note(self, kind: NoteKind, sentence: str, hint: str | None, places: list[int]) -> Note:
        return Note(
            kind,
            f"{self.dialect}: {sentence}{_listed(places)}",
            where=Where(asset="messages", path=f"[{places[0]}]") if len(places) == 1 else None,
            hint=hint,
            data=FrozenDict(dialect=self.dialect, **({"messages": tuple(places)} if places else {})),
        )


def _listed(places: list[int]) -> str:
    if not places:
        return ""
    shown = ", ".join(str(place) for place in places[:_SHOWN])
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return f" (message{'s' if len(places) > 1 else ''} {shown}{more})"
