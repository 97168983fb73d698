"""Memory: a summary that stands for the oldest messages, and where a template puts it (`risuai.md` 13).

A chat may bring a summary that was made before (``supaMemoryData``): its first line is the id of the first message behind it.
No summary is made here. An application that makes them replaces the step ``memory`` by `memory_step`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

import msgspec

from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.taverns.risu.line import PromptLine, line
from innkeeper.taverns.risu.window import MEMOS, LineCounter

_SUMMARY: Final = Origin(OriginAsset.HISTORY, "summary")
_ENGINE: Final = Origin(OriginAsset.ENGINE, "memory")


def summarised(
    history: Sequence[PromptLine], total: int, stored: str, counting: LineCounter, *, without_punctuation: bool
) -> tuple[list[PromptLine], int]:
    """The history with a stored summary in the place of what it sums up, and the sum then.

    Raises `UsageError` where the message that the summary ends before is not in the chat.
    """
    id_, _, summary = stored.partition("\n")
    first = next((index for index, item in enumerate(history) if item.memo == id_), None)
    if first is None:
        where = Where(asset="chat", path="supaMemoryData")
        hint = "drop the summary, or give the messages the ids that it was made with"
        raise UsageError("the summary ends before a message that the chat does not have", where=where, hint=hint)
    if without_punctuation:
        summary = "".join(char for char in summary if not unicodedata.category(char).startswith("P"))
    memory = line("system", f"{summary}\n\n", _SUMMARY, "memory", memo=MEMOS[0])
    total += counting.line(memory) - counting.history(history[:first])
    return [memory, *history[first:]], total


def placed(history: Sequence[PromptLine], *, has_card: bool) -> tuple[list[PromptLine], list[PromptLine]]:
    """The history with its lines marked as removable, and the memory for the template's card.

    Without a card the memory stays where it is, in a frame.
    """
    lines, memory = [], []
    for item in history:
        if item.memo not in MEMOS:
            lines.append(msgspec.structs.replace(item, removable=True))
        elif has_card:
            memory.append(item)
        else:
            frame = (Piece("<Previous Conversation>", _ENGINE), Piece("</Previous Conversation>", _ENGINE))
            lines.append(msgspec.structs.replace(item, pieces=(frame[0], *item.pieces, frame[1])))
    return lines, memory
