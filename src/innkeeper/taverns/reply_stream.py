"""ReplyStream: an answer trimmed while it comes, piece by piece, to the same text as the whole answer would be.

A piece is held back while it may still turn out to be what goes: a name in front, a blank end, the beginning of a line of
somebody else.
"""

from __future__ import annotations

from innkeeper.taverns.reply import ReplyRules, lines_of


class ReplyStream:
    """One answer on its way. Once ``is_cut`` is true, nothing of what still comes belongs to it.

    For rules with ``whole_sentences`` an answer cannot be trimmed before its end; they are not looked at here.
    """

    def __init__(self, rules: ReplyRules) -> None:
        self._rules = rules
        self._pattern = lines_of(rules.others)
        self._front = f"{rules.own}:"
        self._held = ""
        self._begun = rules.continues
        self._has_text = False
        self.is_cut = False

    def feed(self, piece: str) -> str:
        """What can be said after this piece."""
        if self.is_cut:
            return ""
        self._held += piece
        if not self._begun:
            self._begin()
        if not self._begun:
            return ""
        match = None if self._pattern is None else self._pattern.search(self._held)
        if match is not None:
            before = self._held[: match.start()].rstrip()
            self.is_cut = self._has_text or bool(before)
            if self.is_cut:
                return before
            self._pattern = None  # an answer is never cut to nothing: this one is kept whole
        text = self._held[: self._sure()].rstrip()
        self._held = self._held[len(text) :]
        self._has_text = self._has_text or bool(text)
        return text

    def end(self) -> str:
        """What is still to be said when nothing more comes."""
        rest, self._held = ("" if self.is_cut else self._held.rstrip()), ""
        return rest

    def _begin(self) -> None:
        """Take the blank beginning and the name in front away, once it is known whether there is one."""
        self._held = self._held.lstrip()
        if self._front.startswith(self._held):
            return
        named = self._held.startswith(self._front)
        rest = self._held[len(self._front) :].lstrip() if named else self._held
        if rest:
            self._held, self._begun = rest, True

    def _sure(self) -> int:
        """How much of what is held cannot be the beginning of somebody else's line."""
        if self._pattern is None:
            return len(self._held)
        line = self._held.rfind("\n")
        last = self._held[line:] if line >= 0 else ""
        return line if last and any(f"\n{name}:".startswith(last) for name in self._rules.others) else len(self._held)
