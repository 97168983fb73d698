"""ReplyStream: an answer trimmed while it comes, piece by piece, to the same text as the whole answer would be.

A piece is held back while it may still turn out to be what goes: a name in front, a blank end, the beginning of a line of
somebody else. An answer that scripts may rewrite, or whose last half sentence goes, is held back until it is whole. So what was
shown of an answer is the message that is kept, at every door.
"""

from __future__ import annotations

from innkeeper.conversation.reply import ReplyRules, lines_of


class ReplyStream:
    """One answer on its way: `feed` takes its pieces and `end` closes it; each returns what can be shown then.

    Once ``is_cut`` is true, nothing of what still comes belongs to the answer. ``text`` is what was shown, ``raw`` what was fed.
    """

    def __init__(self, rules: ReplyRules) -> None:
        self.rules = rules
        self.is_cut = False
        self._pattern = lines_of(rules.others)
        self._front = f"{rules.own}:"
        self._held = ""
        self._begun = rules.continues
        self.is_ended = False
        self._fed: list[str] = []
        self._shown: list[str] = []

    @property
    def raw(self) -> str:
        """The answer as it came, as far as it was fed."""
        return "".join(self._fed)

    @property
    def text(self) -> str:
        """What was shown; after `end` the message to keep."""
        return "".join(self._shown)

    def feed(self, piece: str) -> str:
        """Return what can be shown after this piece."""
        self._fed.append(piece)
        return "" if self.rules.holds else self._show(self._sure_text(piece))

    def end(self, finished: str | None = None) -> str:
        """Return what is still to be shown when nothing more comes.

        ``finished`` is the answer after scripts, for rules with ``scripts``; without it only the rules of the text count. The
        second call returns nothing.
        """
        if self.is_ended:
            return ""
        self.is_ended = True
        if self.rules.holds:
            return self._show(self.rules.trimmed(self.raw) if finished is None else finished)
        rest, self._held = ("" if self.is_cut else self._held.rstrip()), ""
        return self._show(rest)

    def _show(self, text: str) -> str:
        if text:
            self._shown.append(text)
        return text

    def _sure_text(self, piece: str) -> str:
        """Return what is final after a piece."""
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
            self.is_cut = bool(self._shown or before)
            if self.is_cut:
                return before
            self._pattern = None  # an answer is never cut to nothing: this one is kept whole
        text = self._held[: self._sure()].rstrip()
        self._held = self._held[len(text) :]
        return text

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
        return line if last and any(f"\n{name}:".startswith(last) for name in self.rules.others) else len(self._held)
