"""Expansion: a text with its smart macros replaced, in one pass from left to right.

The marks are those of two grammars of `innkeeper.macros.engine.scanner`, curly and angle brackets. The engine's syntax tree and
evaluator do not fit: they decide by the head which tag opens, while here a closing mark takes the nearest opening one of its
kind, the two kinds may cross, and only then is it seen whether a macro stands between them; what is not one stays text around
others. And where values are scanned again, what a macro produced can form marks with the text beside it, so no tree can be made.

SmartTavern starts over at the first character after each replacement. What is left of the replaced span reads the same
then, so it is enough to go back to the state before its opening mark: an opener remembers the openers that were waiting
before it, and a lone half of a mark before the value is read again together with it.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import asdict

from innkeeper.macros.engine.errors import (
    MAX_OUTPUT,
    MAX_REPORTS,
    MacroError,
    MacroLimitError,
    UnknownMacroError,
    place_in,
)
from innkeeper.macros.engine.ranges import MacroRange, made_pieces
from innkeeper.macros.engine.scanner import Grammar, marks_of
from innkeeper.macros.smart.dispatch import Handler, handler_of, longest_name, macro_name
from innkeeper.macros.smart.environment import SmartEnvironment
from innkeeper.macros.smart.options import MAX_MACROS, MAX_REPLACEMENTS, MAX_RUN_OUTPUT
from innkeeper.macros.smart.pieces import Made, Value, first_word, inner_of, made, ranges_of
from innkeeper.prompt.block import Origin, Piece
from innkeeper.prompt.errors import InnkeeperError, LimitError, Where

__all__ = ["ANGLE", "CURLY", "expand", "expand_pieces"]

CURLY: Final = Grammar(title="smart")
"""``{{…}}``."""

ANGLE: Final = Grammar(title="smart, angle brackets", open="<<", close=">>")
"""``<<…>>``, the same."""

_MARKS: Final = marks_of(CURLY, ANGLE)
_KINDS: Final = {CURLY.open: 0, CURLY.close: 0, ANGLE.open: 1, ANGLE.close: 1}
_OPENERS: Final = frozenset({CURLY.open, ANGLE.open})
_HALVES: Final = frozenset("{}<>")
_NOBODY: Final = ("", 0)


def expand(text: Any, env: SmartEnvironment, *, ranges: list[MacroRange] | None = None) -> str:
    """``text`` with its macros replaced (``None``: an empty text; other types as Python writes them, macros and all).

    Spans that are not a macro stay as they are, with a note; a macro that fails leaves nothing, with a note. ``ranges``, an
    empty list, is filled with what each macro made of the result, in order; what comes of macros in a macro's value is its own.
    Raises `innkeeper.macros.smart.paths.MacroArgumentError` and `MacroLimitError` where ``{{setvar}}`` cannot write.
    """
    if not isinstance(text, str):
        return "" if text is None else str(text)
    if CURLY.open not in text and ANGLE.open not in text:
        return text
    expansion = _Expansion(text, env, recording=ranges is not None)
    pieces = expansion.run()
    if ranges is not None:
        ranges += ranges_of(pieces)
    return "".join(pieces)


def expand_pieces(text: str, env: SmartEnvironment, origin: Origin) -> tuple[Piece, ...]:
    """`expand`, as pieces: text of ``origin``, and what a macro made under its name beside that origin."""
    ranges: list[MacroRange] = []
    return made_pieces(expand(text, env, ranges=ranges), ranges, origin)


class _Opener:
    """An opening mark: where it is, and which openers of its own and of the other kind were waiting before it."""

    __slots__ = ("at", "other", "outer", "piece")

    def __init__(self, piece: int, at: int | None, outer: _Opener | None, other: _Opener | None) -> None:
        self.piece = piece
        self.at = at
        self.outer = outer
        self.other = other


class _Expansion:
    __slots__ = (
        "by", "count", "env", "full", "half", "longest", "most", "output", "pending", "pieces", "recording", "rescan", "text",
        "waiting", "word",
    )  # fmt: skip

    def __init__(self, text: str, env: SmartEnvironment, *, recording: bool) -> None:
        self.text = text
        self.env = env
        self.recording = recording
        self.by: tuple[str, int] | None = None
        """The macro that the segment being read is of, where that is recorded."""
        self.rescan = env.options.compat.rescan_values
        self.most = MAX_REPLACEMENTS if self.rescan else MAX_MACROS
        self.longest = longest_name(env)
        self.pending: list[tuple[str, int, tuple[str, int] | None]] = [(text, 0, None)]
        self.pieces: list[str] = []
        self.waiting: list[_Opener | None] = [None, None]
        self.half = self.word = ""
        self.count = 0
        self.output = 0
        self.full = False

    def run(self) -> list[str]:
        """The whole text, in pieces."""
        while self.pending and not self.full:
            text, place, self.by = self.pending.pop()
            self._segment(text, place)
        rest = [
            text[place:] if by is None else made(Made, text[place:], by) for text, place, by in reversed(self.pending)
        ]
        return [*self.pieces, self.half, *rest]

    def _segment(self, text: str, place: int) -> None:
        """Read a segment on from ``place``, to its end or to a value that is to be read before the rest of it."""
        place, mark = self._joined(text, place)
        while True:
            if mark:
                value = self._mark(mark, text, place)
                if self.full:
                    self.pending.append((text, place, self.by))
                    return
                if value is not None and self.rescan:
                    self._again(value, text, place)
                    return
                if value:
                    self.pieces.append(value)
            found = _MARKS.search(text, place)
            if found is None:
                self._literal(text[place:])
                return
            self._literal(text[place : found.start()])
            if self.half:
                self.pieces.append(self.half)
                self.half = ""
            mark, place = found.group(), found.end()

    def _joined(self, text: str, place: int) -> tuple[int, str]:
        """The mark that the half before this segment makes with its first character, if it does."""
        half, self.half = self.half, ""
        if half and place == len(text):
            self.half = half
        elif half and text[place] == half:
            return place + 1, half * 2
        elif half:
            self.pieces.append(half)
        return place, ""

    def _literal(self, text: str) -> None:
        """Keep text; its last character apart, when it may be half a mark."""
        if not text:
            return
        if self.rescan and text[-1] in _HALVES:
            self.half, text = self._piece(text[-1]), text[:-1]
        if text:
            self.pieces.append(self._piece(text))

    def _piece(self, text: str) -> str:
        """Text of this segment."""
        return text if self.by is None else made(Made, text, self.by)

    def _again(self, value: Value, text: str, place: int) -> None:
        """Read a value next, and the rest of its segment after it."""
        self.pending += [(text, place, self.by), (value, 0, (self.by or value.by) if self.recording else None)]
        if self.pieces and self.pieces[-1] in _HALVES:
            self.half = self.pieces.pop()

    def _mark(self, mark: str, text: str, place: int) -> Value | None:
        """What the macro that ends with this mark stands for, or ``None`` when none does."""
        kind = _KINDS[mark]
        if mark in _OPENERS:
            at = place - len(mark) if text is self.text else None
            self.waiting[kind] = _Opener(len(self.pieces), at, self.waiting[kind], self.waiting[1 - kind])
            self.pieces.append(self._piece(mark))
            return None
        opener = self.waiting[kind]
        handler = None
        if opener is not None:
            self.waiting[kind] = opener.outer
            handler = self._handler(opener)
        if opener is None or handler is None or not self._room(opener):
            self.pieces.append(self._piece(mark))
            return None
        by = (macro_name(self.word), self.count) if self.recording else _NOBODY
        value = made(Value, self._value(handler, opener), by)
        self.waiting[kind], self.waiting[1 - kind] = opener.outer, opener.other
        del self.pieces[opener.piece :]
        return value

    def _handler(self, opener: _Opener) -> Handler | None:
        word, follows = first_word(self.pieces, opener.piece + 1, self.longest)
        handler, self.word = handler_of(word, follows, self.env), word
        if handler is None:
            self._unknown(word, opener)
        return handler

    def _unknown(self, word: str, opener: _Opener) -> None:
        """Report a span that is no macro, each name once."""
        spent = self.env.spent
        if spent.reports > MAX_REPORTS or word in spent.unknown:
            return
        spent.unknown.add(word)
        told = f"there is no macro {word!r}" if word else "no macro begins here"
        error = UnknownMacroError(told, macro=word, hint="it stays as it is written")
        self._report(error, opener)

    def _value(self, handler: Handler, opener: _Opener) -> str:
        try:
            value = handler(self.env, inner_of(self.pieces[opener.piece + 1 :]), lambda: self._where(opener))
        except (MacroError, LimitError) as error:
            place = self._where(opener)
            raise error.at(**({} if place is None else asdict(place))) from None
        self.count += 1
        self.output += len(value)
        self.env.spent.output += len(value)
        return value

    def _room(self, opener: _Opener) -> bool:
        """Whether another macro may be replaced; the first time not, with a note."""
        if self.count >= self.most:
            self._stop("the macros of one text", "MAX_REPLACEMENTS" if self.rescan else "MAX_MACROS", self.most, opener)
        elif self.output > MAX_OUTPUT:
            self._stop("what the macros of one text produced", "MAX_OUTPUT", MAX_OUTPUT, opener)
        elif self.env.spent.output > MAX_RUN_OUTPUT:
            self._stop("what the macros of one run produced", "MAX_RUN_OUTPUT", MAX_RUN_OUTPUT, opener)
        return not self.full

    def _stop(self, what: str, limit: str, allowed: int, opener: _Opener) -> None:
        self.full = True
        self._report(MacroLimitError(what, limit=limit, allowed=allowed, hint="the rest stays as it is"), opener)

    def _report(self, error: InnkeeperError, opener: _Opener) -> None:
        self.env.report(error, lambda: self._where(opener))

    def _where(self, opener: _Opener) -> Where | None:
        return None if opener.at is None else place_in(self.text, opener.at)
