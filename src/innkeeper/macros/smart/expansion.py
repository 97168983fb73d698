"""Expansion: texts and messages with their smart macros replaced, in one pass from left to right, and whether a condition holds.

The marks are those of two grammars of `innkeeper.macros.engine.syntax`, curly and angle brackets. The engine's syntax tree and
evaluator do not fit: they decide by the head which tag opens, while here a closing mark takes the nearest opening one of its
kind, the two kinds may cross, and only then is it seen whether a macro stands between them; what is not one stays text around
others. And where values are scanned again, what a macro produced can form marks with the text beside it, so no tree can be made.

SmartTavern starts over at the first character after each replacement. What is left of the replaced span reads the same
then, so it is enough to go back to the state before its opening mark: an opener remembers the openers that were waiting
before it, and a lone half of a mark before the value is read again together with it.

The operations at the end (`smarttavern.md` 4.7) tell the variables before and after they ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.macros.engine.errors import (
    MAX_OUTPUT,
    MAX_REPORTS,
    MacroError,
    MacroLimitError,
    UnknownMacroError,
    where_in,
)
from innkeeper.macros.engine.ranges import MacroRange, made_pieces
from innkeeper.macros.engine.syntax import Grammar, marks_of
from innkeeper.macros.smart.dispatch import Handler, handler_of, longest_name, macro_name
from innkeeper.macros.smart.environment import SmartEnvironment, copied, plain_text
from innkeeper.macros.smart.options import MAX_MACROS, MAX_REPLACEMENTS, MAX_RUN_OUTPUT, MacroOptions
from innkeeper.macros.smart.pieces import MacroOutput, MacroValue, first_word, inner_of, made, ranges_of
from innkeeper.prompt.allowance import AllowanceError, allowed, charge, current_allowance
from innkeeper.prompt.block import Origin, Piece
from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError, Where
from innkeeper.prompt.note import Note
from innkeeper.prompt.text import kind_of

CURLY: Final = Grammar(title="smart")
"""``{{…}}``."""

ANGLE: Final = Grammar(title="smart, angle brackets", open="<<", close=">>")
"""``<<…>>``, the same."""

_MARKS: Final = marks_of(CURLY, ANGLE)
_KINDS: Final = {CURLY.open: 0, CURLY.close: 0, ANGLE.open: 1, ANGLE.close: 1}
_OPENERS: Final = frozenset({CURLY.open, ANGLE.open})
_HALVES: Final = frozenset("{}<>")
_NOBODY: Final = ("", 0)
_LONG: Final = 1_000
"""A text from this length on gets an allowance of its own if there is none; other limits cover shorter ones."""
_SLICE: Final = 32
"""Marks of a run that are charged for at once; fewer at first, since most runs have few."""
_MARK_STEPS: Final = 30
"""The steps charged for a mark, with the macro that ends there."""


def expand(text: Any, env: SmartEnvironment, *, ranges: list[MacroRange] | None = None) -> str:
    """``text`` with its macros replaced (``None``: an empty text; other types as Python writes them, macros and all).

    Spans that are not a macro stay as they are, with a note; a macro that fails leaves nothing, with a note. ``ranges``, an
    empty list, is filled with what each macro made of the result, in order; what comes of macros in a macro's value is its own.
    Raises `innkeeper.macros.smart.environment.MacroArgumentError` and `MacroLimitError` where ``{{setvar}}`` cannot write.
    """
    if not isinstance(text, str):
        return "" if text is None else _written(text)
    if (CURLY.open not in text and ANGLE.open not in text) or env.spent.over:
        return text
    if len(text) > _LONG and current_allowance() is None:
        with allowed():
            return expand(text, env, ranges=ranges)
    pieces = _Expansion(text, env, recording=ranges is not None).run()
    if ranges is not None:
        ranges += ranges_of(pieces)
    return "".join(pieces)


def _written(value: Any) -> str:
    """A value as Python writes it. Raises `FormatError` for a whole number of more digits than Python writes."""
    try:
        return plain_text(value)
    except ValueError as error:
        raise FormatError(f"{kind_of(value)} cannot be written as text: {error}", hint="write a text") from None


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
        "by", "count", "env", "full", "half", "longest", "most", "output", "pending", "pieces", "recording", "rescan", "spent",
        "text", "waiting", "word",
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
        self.spent = env.spent

    def run(self) -> list[str]:
        """The whole text, in pieces."""
        while self.pending and not self.full:
            text, index, self.by = self.pending.pop()
            self._segment(text, index)
        rest = [
            text[index:] if by is None else made(MacroOutput, text[index:], by)
            for text, index, by in reversed(self.pending)
        ]
        return [*self.pieces, self.half, *rest]

    def _segment(self, text: str, index: int) -> None:
        """Read a segment on from ``place``, to its end or to a value that is to be read before the rest of it."""
        index, mark = self._joined(text, index)
        while True:
            if mark:
                value = self._mark(mark, text, index)
                if self.full:
                    self.pending.append((text, index, self.by))
                    return
                if value is not None and self.rescan:
                    by = (self.by or value.by) if self.recording else None
                    self.pending += [
                        (text, index, self.by),
                        (value, 0, by),
                    ]  # the value next, then the rest of the segment
                    if self.pieces and self.pieces[-1] in _HALVES:
                        self.half = self.pieces.pop()
                    return
                if value:
                    self.pieces.append(value)
            match = _MARKS.search(text, index)
            if match is None:
                self._literal(text[index:])
                return
            if index < (end := match.start()):
                self._literal(text[index:end])
            if self.half:
                self.pieces.append(self.half)
                self.half = ""
            mark, index = match.group(), match.end()

    def _joined(self, text: str, index: int) -> tuple[int, str]:
        """The mark that the half before this segment makes with its first character, if it does."""
        half, self.half = self.half, ""
        if half and index == len(text):
            self.half = half
        elif half and text[index] == half:
            return index + 1, half * 2
        elif half:
            self.pieces.append(half)
        return index, ""

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
        return text if self.by is None else made(MacroOutput, text, self.by)

    def _mark(self, mark: str, text: str, index: int) -> MacroValue | None:
        """Return the value of the macro that ends with this mark, or ``None`` if none does."""
        value, waiting, spent = None, self.waiting, self.spent
        try:
            spent.marks = left = spent.marks - 1
            if left < 0:
                self._charge()
            kind = _KINDS[mark]
            if mark in _OPENERS:
                at = index - len(mark) if text is self.text else None
                waiting[kind] = _Opener(len(self.pieces), at, waiting[kind], waiting[1 - kind])
            elif (opener := waiting[kind]) is not None:
                waiting[kind] = opener.outer
                value = self._close(kind, opener)
        except AllowanceError as error:
            self.full = self.env.spent.over = True
            at = index - len(mark) if text is self.text else None
            self._report(error, _Opener(0, at, None, None))
        if value is None:
            self.pieces.append(self._piece(mark))
        return value

    def _charge(self) -> None:
        spent, due = self.spent, self.spent.slice
        spent.marks = 0
        charge("macros", due * _MARK_STEPS, made=spent.output - spent.charged)
        spent.marks, spent.charged, spent.slice = due - 1, spent.output, _SLICE

    def _close(self, kind: int, opener: _Opener) -> MacroValue | None:
        handler = self._handler(opener)
        if handler is None or not self._room(opener):
            return None
        by = (macro_name(self.word), self.count) if self.recording else _NOBODY
        value = made(MacroValue, self._value(handler, opener), by)
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
        message = f"there is no macro {word!r}" if word else "no macro begins here"
        error = UnknownMacroError(message, macro=word, hint="it stays as it is written")
        self._report(error, opener)

    def _value(self, handler: Handler, opener: _Opener) -> str:
        try:
            value = handler(self.env, inner_of(self.pieces[opener.piece + 1 :]), lambda: self._where(opener))
        except AllowanceError:
            raise
        except (MacroError, LimitError) as error:
            where = self._where(opener)
            raise error.at(**({} if where is None else msgspec.structs.asdict(where))) from None
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
        return None if opener.at is None else where_in(self.text, opener.at)


_DEFAULT = MacroOptions()


def process_text(
    text: Any,
    variables: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    *,
    options: MacroOptions = _DEFAULT,
    notes: list[Note] | None = None,
) -> dict[str, Any]:
    """Process one text: ``{"text", "variables": {"initial", "final"}}``. ``notes`` gets the failures.

    Raises what `innkeeper.macros.smart.expansion.expand` and `SmartEnvironment.of` do.
    """
    with allowed():
        env, initial = _begun(variables, policy, options, notes)
        return {"text": expand(text, env), "variables": {"initial": initial, "final": env.table}}


def process(
    messages: Any,
    variables: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    *,
    options: MacroOptions = _DEFAULT,
    notes: list[Note] | None = None,
) -> dict[str, Any]:
    """Messages in order over one table: ``{"messages", "variables": {"initial", "final"}}``.

    Only ``content`` changes. What is no object is left out, and a message whose macros raise stays as it was: both with a
    note. Raises `FormatError` when ``messages`` is no list, and what `SmartEnvironment.of` does.
    """
    with allowed():
        env, initial = _begun(variables, policy, options, notes)
        done = []
        for index, message in enumerate(_listed(messages, "messages")):
            if isinstance(message, Mapping):
                content = message.get("content")
                done.append({**message, "content": _expanded(content, f"messages[{index}].content", env, content)})
            else:
                sentence = f"a message must be an object, not {kind_of(message)}"
                env.report(FormatError(sentence).at(path=f"messages[{index}]"))
        return {"messages": done, "variables": {"initial": initial, "final": env.table}}


def process_text_batch(
    texts: Any,
    variables: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    *,
    options: MacroOptions = _DEFAULT,
    notes: list[Note] | None = None,
) -> dict[str, Any]:
    """Texts that each begin with the same variables: ``{"texts", "variables_list": [{"initial", "final"}, …]}``.

    They are taken in order and draw from one stream. One whose macros raise gives an empty text and leaves its
    variables as they were, with a note. Raises `FormatError` when ``texts`` is no list, and what `SmartEnvironment.of` does.
    """
    with allowed():
        done: list[str] = []
        tables = []
        first, _ = _begun(variables, policy, options, notes)
        size = first.copier.size
        for index, text in enumerate(_listed(texts, "texts")):
            charge("variables", 1, made=2 * size)  # a reply holds both tables of each text
            env = first.fork()
            env.table, env.owned = copied(variables), True
            initial = _initial(env, variables)
            written = _expanded(text, f"texts[{index}]", env, None)
            done.append("" if written is None else written)
            tables.append({"initial": initial, "final": copied(variables) if written is None else env.table})
        return {"texts": done, "variables_list": tables}


def _begun(
    variables: Mapping[str, Any] | None,
    policy: Mapping[str, Any] | None,
    options: MacroOptions,
    notes: list[Note] | None,
) -> tuple[SmartEnvironment, dict[str, Any]]:
    env = SmartEnvironment.of(variables, policy, options)
    if notes is not None:
        env.notes = notes
    return env, _initial(env, variables)


def _initial(env: SmartEnvironment, variables: Mapping[str, Any] | None) -> dict[str, Any]:
    return dict(env.table) if env.options.compat.shared_initial else copied(variables)


def _expanded(text: Any, asset: str, env: SmartEnvironment, otherwise: Any) -> Any:
    """The text with its macros replaced, or something else when they raise; its notes say which text they are about."""
    first = len(env.notes)
    try:
        return expand(text, env)
    except InnkeeperError as error:
        env.report(error)
        return otherwise
    finally:
        env.notes[first:] = [
            msgspec.structs.replace(note, where=msgspec.structs.replace(note.where or Where(), asset=asset))
            for note in env.notes[first:]
        ]


def _listed(value: Any, name: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        raise FormatError(f"{name} must be a list, not {kind_of(value)}").at(path=name)
    return list(value)


def condition_holds(condition: Any, env: SmartEnvironment) -> bool:
    """Whether the text of ``condition``, with its macros replaced, is ``true`` (3-smarttavern-in-chat-constructor).

    Blank space around it and case do not count; anything else is false. A condition sees the variables of ``env`` and what it
    writes is gone after it. One that fails is false, with a note.
    """
    return condition_value(condition, env).strip().lower() == "true"


def condition_value(condition: Any, env: SmartEnvironment) -> str:
    """Return the value of the text of ``condition``; nothing if it is blank or fails, which leaves a note."""
    try:
        text = "" if condition is None else condition if isinstance(condition, str) else _written(condition)
        return expand(text, env.fork()) if text.strip() else ""
    except InnkeeperError as error:
        env.report(error)
        return ""
