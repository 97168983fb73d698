"""Window: how RisuAI counts a prompt, and which of the oldest messages it leaves out (`risuai.md` 13).

The sum begins with the reply's share and a margin. Cards are never left out; of the history the first goes first, examples
and the marker of the chat's start before the greeting and the messages.

A chat may bring a summary that was made before (``supaMemoryData``), which stands for the oldest messages: its first line is the
id of the first message behind it. No summary is made here: an application that makes them replaces the step ``memory``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from innkeeper.budget.report import EvictionReason, EvictionRecord, TrimReport
from innkeeper.budget.strategies import Priority
from innkeeper.prompt.block import Block, Origin, OriginAsset, Piece
from innkeeper.prompt.errors import MaxTokensExceededError, UsageError, Where
from innkeeper.taverns.risu.line import NEW_CHAT_MEMO, PromptLine, line

MARGIN: Final = 50
"""Tokens that are added to the reply's share."""

_GPT_OVERHEAD: Final = 5
_OVERHEAD: Final = 3
_NAME_OVERHEAD: Final = 1
MEMOS: Final = ("supaMemory", "hypaMemory")
"""What the memo of a line with a summary is."""

MEDIA_TOKENS: Final = 87
"""Tokens of a picture of low quality."""


class LineCounter:
    """Counts lines for a model; ``count`` counts a text."""

    def __init__(self, count: Callable[[str], int], model: str) -> None:
        self._count = count
        self._is_gpt = model.startswith("gpt")
        self._known: dict[int, tuple[PromptLine, int]] = {}

    def line(self, item: PromptLine) -> int:
        """The tokens of one message, counted once."""
        if id(item) in self._known:
            return self._known[id(item)][1]
        tokens = self._count(item.content) + (_GPT_OVERHEAD if self._is_gpt else _OVERHEAD)
        if item.name and not self._is_gpt:
            tokens += self._count(item.name) + _NAME_OVERHEAD
        tokens += MEDIA_TOKENS * len(item.attachments)
        self._known[id(item)] = item, tokens  # as long as the line lives, no other can get its id
        return tokens

    def lines(self, items: Iterable[PromptLine]) -> int:
        """The tokens of messages."""
        return sum(map(self.line, items))

    def history(self, items: Sequence[PromptLine]) -> int:
        """The tokens that a history adds to the sum: the marker of the chat's start is not among them."""
        return self.lines(item for item in items if item.memo != NEW_CHAT_MEMO)


class FittedChat(NamedTuple):
    """The lines of the chat that fit, those for the template's memory card, those that are left out, and what counted them."""

    chat: Sequence[PromptLine]
    memory: Sequence[PromptLine]
    left_out: Sequence[PromptLine]
    counting: LineCounter


class AssembledLines(NamedTuple):
    """The lines of a prompt, and those of the chat that are left out of it."""

    lines: list[PromptLine]
    left_out: list[PromptLine]


def without_oldest(
    history: Sequence[PromptLine], total: int, window: int, counting: LineCounter
) -> tuple[list[PromptLine], list[PromptLine]]:
    """The history without the oldest lines, which do not fit a window (0: no limit), and these.

    A summary at its beginning stays. Raises `MaxTokensExceededError` where the last one does not fit either.
    """
    first = pinned = sum(item.memo in MEMOS for item in history[:1])
    while 0 < window < total:
        if first >= len(history) - 1:
            raise MaxTokensExceededError(estimated_tokens=total, max_tokens=window)
        total -= counting.line(history[first])
        first += 1
    return [*history[:pinned], *history[first:]], [*history[pinned:first]]


def fitted(lines: Sequence[PromptLine], window: int, counting: LineCounter) -> AssembledLines:
    """The finished lines without removable ones, from the top, until they fit. Raises `MaxTokensExceededError`."""
    result = AssembledLines([], [])
    total = counting.lines(lines) if window > 0 else 0
    for item in lines:
        is_out = window < total and item.removable
        total -= counting.line(item) if is_out else 0
        (result.left_out if is_out else result.lines).append(item)
    if window < total:
        raise MaxTokensExceededError(estimated_tokens=total, max_tokens=window)
    return result


def report_of(
    prompt: AssembledLines, absent: Sequence[Block], counting: LineCounter, *, window: int, reserve: int
) -> TrimReport:
    """The report on what fits a window. ``absent`` are the blocks of the lines that are left out, in their order."""
    records = [
        EvictionRecord(
            block.id, block.slot, counting.line(each), EvictionReason.BUDGET_EXCEEDED, block.group, source=block.source
        )
        for each, block in zip(prompt.left_out, absent, strict=True)
    ]
    used = min(counting.lines(prompt.lines), window - reserve)
    return TrimReport(
        strategy=Priority.name,
        budget_tokens=window - reserve,
        max_tokens=window,
        reserve_tokens=reserve,
        initial_tokens=used + sum(record.token_count for record in records),
        final_tokens=used,
        filled_tokens=used,
        evictions=tuple(records),
    )


# --------------------------------------------------------------------------------------------------------------- memory

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
            lines.append(item if item.removable else msgspec.structs.replace(item, removable=True))
        elif has_card:
            memory.append(item)
        else:
            frame = (Piece("<Previous Conversation>", _ENGINE), Piece("</Previous Conversation>", _ENGINE))
            lines.append(msgspec.structs.replace(item, pieces=(frame[0], *item.pieces, frame[1])))
    return lines, memory
