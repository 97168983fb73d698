"""Ledger: counts a growing text against a budget without counting any of it twice.

The lore budget counts all texts of a pass joined (`sillytavern.md` 27). Where a tokenizer never joins across a line break that
stands between a visible character and a letter or digit, the parts' counts add up; elsewhere the open end is counted whole.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Ledger"]


class Ledger:
    """The running count of one pass. ``count`` counts a text as the budget does (0 for an empty one).

    ``part`` counts text without what ``count`` adds for every text (``overhead``); ``None`` when a tokenizer does not add up.
    ``fixed`` tokens are there from the start.
    """

    __slots__ = ("_count", "_fixed", "_open", "_overhead", "_part", "_sealed", "_size")

    def __init__(
        self, count: Callable[[str], int], part: Callable[[str], int] | None, overhead: int, fixed: int
    ) -> None:
        self._count, self._part, self._overhead, self._fixed = count, part, overhead, fixed
        self._sealed = 0
        self._open = ""
        self._size = 0

    def reaches(self, text: str, budget: int) -> int | None:
        """Add ``text``; the tokens so far if they are ``budget`` or more, else ``None``.

        Bytes bound tokens from above, so nothing is counted while even the bytes fit.
        """
        self._size += len(text) if text.isascii() else len(text.encode(errors="replace"))
        self._append(text)
        if self._fixed + self._overhead + self._size + 1 < budget:
            return None
        tokens = self._tokens()
        return tokens if tokens >= budget else None

    def _append(self, text: str) -> None:
        if self._part is not None and text[:1].isalnum() and self._open[-2:-1].strip() and self._open.endswith("\n"):
            self._sealed += self._part(self._open)
            self._open = text
        else:
            self._open += text

    def _tokens(self) -> int:
        if self._part is None:
            return self._fixed + self._count(self._open)
        return self._fixed + self._overhead + self._sealed + self._part(self._open)
