"""The evaluator: walks a syntax tree and asks a pack's table what each tag stands for.

A `Pack` is a language: its grammar, its table of macros, and what is done to a whole text before and after. An `Evaluation`
is one text being evaluated. Text between tags is copied, tags that cannot be evaluated stay as they are written (with what
is inside them evaluated) and are reported, values are never scanned again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import msgspec

from innkeeper.macros.engine.environment import MacroEnvironment, Spent
from innkeeper.macros.engine.errors import (
    MAX_EXPANSIONS,
    MAX_MARKS,
    MAX_NESTING,
    MAX_OUTPUT,
    MAX_REPORTS,
    MacroArgumentError,
    MacroError,
    MacroLimitError,
    UnknownMacroError,
    place_in,
)
from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.macros.engine.syntax import Grammar, Run, Shorthand, Tag, parse
from innkeeper.prompt.allowance import AllowanceError, charge
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import InnkeeperError, LimitError
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.text.javascript.values import Offsets, strip

__all__ = [
    "KEEP",
    "Call",
    "Evaluation",
    "Macro",
    "Pack",
    "Span",
    "Trace",
    "dedent",
    "limit_error",
    "look",
    "report",
    "stop",
    "whole",
    "within_limits",
]

Trace = Callable[[str, tuple[int, int], str], None]
"""Called with a macro's name, its span in the text, and what it became."""

KEEP: Final = "#"
"""The flag that leaves the blank space around and inside a block as it is."""

_LONGEST_NUMBER: Final = 19
MAX_STEPS: Final = 100_000
"""Marks looked at in one text for the closing tags of macros that take no block (no error: then those are taken for text)."""
_SLICE: Final = 16
"""Expansions that are charged for at once."""
_TAG_STEPS: Final = 40
"""What an expansion counts."""
_INTEGER: Final = re.compile(r"-?[0-9]+")
_INDENT: Final = re.compile(r"[^\S\n]*")


class Macro(msgspec.Struct, frozen=True):
    """One macro: its name, what it does, and the arguments it takes.

    It takes ``least`` to ``most`` arguments, with ``rest`` any number. Arguments numbered (from 0) in ``integers`` must be
    whole numbers. A ``lazy`` macro gets its arguments as `Span` values, not evaluated. ``run`` returns the text it stands
    for; a `MacroError` or `LimitError` it raises leaves the tag as written.
    """

    name: str
    run: Callable[[Call], str]
    least: int = 0
    most: int = 0
    rest: bool = False
    integers: frozenset[int] = frozenset()
    lazy: bool = False
    aliases: tuple[str, ...] = ()


class Span(msgspec.Struct, frozen=True):
    """A piece of a run: its tags ``first`` to ``last`` (exclusive) and the source from ``start`` to ``end``."""

    run: Run
    first: int
    last: int
    start: int
    end: int
    block: bool = False


class _Base(msgspec.Struct, frozen=True):
    tag: int
    branch: int
    outer: _Base | None


class Call:
    """What a macro gets: its evaluated ``arguments`` (or ``spans``, when it is lazy), and whether the last is a ``block``."""

    __slots__ = ("arguments", "block", "evaluation", "spans", "tag")

    def __init__(
        self,
        evaluation: Evaluation,
        tag: Tag,
        arguments: tuple[str, ...] = (),
        spans: tuple[Span, ...] = (),
        *,
        block: bool = False,
    ) -> None:
        self.evaluation = evaluation
        self.tag = tag
        self.arguments = arguments
        self.spans = spans
        self.block = block

    @property
    def env(self) -> MacroEnvironment:
        """The build's world."""
        return self.evaluation.env

    def warn(self, message: str) -> None:
        """Report something about this macro that does not stop it."""
        self.evaluation.warn(MacroError(message, macro=self.tag.name), self.tag.start)

    def keep(self, message: str) -> NoReturn:
        """Leave the tag as it is written. Raises `MacroError`."""
        raise MacroError(message, macro=self.tag.name)

    def whole_number(self, index: int, default: int) -> int:
        """Argument ``index`` (one of ``Macro.integers``) as a number; beyond 18 digits all are alike."""
        if index >= len(self.arguments):
            return default
        text = self.arguments[index]
        return int(text[:_LONGEST_NUMBER])

    def repeated(self, text: str, count: int) -> str:
        """``text``, ``count`` times. Raises `MacroArgumentError` below 0 and `MacroLimitError` past `MAX_OUTPUT`."""
        if count < 0:
            msg = f"{{{{{self.tag.name}}}}} cannot repeat {count} times"
            raise MacroArgumentError(msg, macro=self.tag.name)
        if count * len(text) > MAX_OUTPUT:
            raise limit_error("what macros produce", "MAX_OUTPUT", MAX_OUTPUT)
        return text * count


@dataclass(frozen=True, eq=False, kw_only=True)
class Pack:
    """A macro language. ``table`` is keyed by lower-case name; ``variable`` evaluates shorthands, given their value's text."""

    title: str
    grammar: Grammar
    table: Mapping[str, Macro]
    before: Callable[[str], str]
    after: Callable[[str], str]
    variable: Callable[[Evaluation, Tag], str]


@dataclass(slots=True)
class Evaluation:
    """One text being evaluated. ``raw`` is the text before ``Pack.before``; ``memory`` is the pack's own, for this text.

    ``base`` says from where offsets count where a branch is evaluated: the tag it is a branch of, the branch's place, and
    what held before.
    """

    raw: str
    text: str
    pack: Pack
    env: MacroEnvironment
    dynamic: Mapping[str, str | None] = EMPTY
    trace: Trace | None = None
    depth: int = 0
    memory: dict[str, Any] = field(default_factory=dict)
    base: _Base | None = None
    offsets: Offsets | None = None
    steps: int = 0
    ranges: list[MacroRange] | None = None
    """Where to record what each macro of the text made; not those inside another's arguments or block."""
    evaluated: Tag | None = None
    """The tag that was last replaced by what it stands for."""
    macro: str = ""
    """What the macro of that tag is called, whatever other name it was written by; a variable's shorthand is its own."""

    def run(self) -> str:
        """The whole text, evaluated; as it is where the build has had its share."""
        if self.env.spent.told:
            return self.text
        try:
            tree = parse(self.text, self.pack.grammar)
        except AllowanceError as error:
            stop(self.env, error, self.text, 0)
            return self.text
        if tree.cut is not None:
            self.warn(limit_error("the marks of one text", "MAX_MARKS", MAX_MARKS), tree.cut)
        if tree.too_deep is not None:
            self.warn(limit_error("the nesting of macros", "MAX_NESTING", MAX_NESTING), tree.too_deep)
        return self.span(whole(tree.run))

    def span(self, span: Span) -> str:
        """The text of a span with its tags evaluated."""
        run, text = span.run, self.text
        if span.first == span.last:
            return text[span.start : span.end]
        if self.depth >= MAX_NESTING:
            self.warn(limit_error("the nesting of macros", "MAX_NESTING", MAX_NESTING), span.start)
            return text[span.start : span.end]
        self.depth += 1
        ranges = self.ranges if self.depth == 1 else None
        tags, partners, taken = run.tags, run.partners, _Taken(span.last) if run.spare or run.marks else None
        pieces, place, index, length = [], span.start, span.first, 0
        while index < span.last:
            tag = tags[index]
            pieces.append(text[place : tag.start])
            closer = partners.get(index, span.last)
            if closer < span.last:
                body = Span(run, index + 1, closer, tag.end, tags[closer].start, block=True)
                pieces.append(self._block(tag, body, tags[closer]))
                index, place = closer + 1, tags[closer].end
            else:
                # A closing tag that fits a macro which takes no block leaves both as they are written.
                raw = taken is not None and self._closed(run, index, tag, taken)
                pieces.append(self.source(tag) if raw else self._tag(tag))
                index, place = index + 1, tag.end
            if ranges is not None:
                start = length + len(pieces[-2])
                length = start + len(pieces[-1])
                if self.evaluated is tag and start < length:
                    ranges.append(MacroRange(start, length, self.macro))
        pieces.append(text[place : span.end])
        self.depth -= 1
        return "".join(pieces)

    def offset(self, tag: Tag) -> int:
        """Where a tag stands, in UTF-16 units."""
        if self.offsets is None:
            self.offsets = Offsets(self.text)
        place, base = self.offsets.at(tag.start), self.base
        while base is not None:
            place += self.offsets.at(base.tag) - self.offsets.at(base.branch)
            base = base.outer
        return place

    def branch(self, tag: Tag, span: Span) -> str:
        """A lazy argument of ``tag``, as a finished text whose offsets count from the tag: so SillyTavern has it."""
        self.base = _Base(tag.start, span.start, self.base)
        text = self.span(span)
        self.base = self.base.outer
        return self.pack.after(text)

    def nested(self, text: str) -> str:
        """Another text, evaluated as a part of this one: it shares the memory and the dynamic macros."""
        return self._other(text, text, self.env, self.dynamic, self.memory)

    def apart(self, text: str, env: MacroEnvironment, memory: dict[str, Any]) -> str:
        """Another text, evaluated for itself, from ``before`` to ``after``."""
        return self._other(text, self.pack.before(text), env, EMPTY, memory)

    def _other(
        self, raw: str, text: str, env: MacroEnvironment, dynamic: Mapping[str, str | None], memory: dict[str, Any]
    ) -> str:
        if self.pack.grammar.open not in text:
            return self.pack.after(text)
        other = Evaluation(raw, text, self.pack, env, dynamic, None, self.depth, memory)
        return self.pack.after(other.run())

    def stripped(self, span: Span) -> Span:
        """A span without the blank space at its ends; its tags are not touched."""
        text = self.text[span.start : span.end]
        start = span.end - len(strip(text + "x")) + 1
        kept = strip(text[start - span.start :])
        return msgspec.structs.replace(span, start=start, end=start + len(kept))

    def _closed(self, run: Run, index: int, tag: Tag, taken: _Taken) -> bool:
        """Whether there is a closing tag for a tag that takes no block; each serves one."""
        if tag.closing or tag.shorthand is not None:
            return False
        if tag.key in run.spare:
            return taken.next(run.spare[tag.key], index, tag.key)
        marks = run.marks.get(tag.key)
        if marks is None or self.steps > MAX_STEPS or self.pack.grammar.takes_block(tag.key, len(tag.arguments)):
            return False
        found, steps = taken.among(marks, index)
        self.steps += steps
        return found

    def source(self, tag: Tag) -> str:
        """A tag as it is written."""
        return self.text[tag.start : tag.end]

    def warn(self, error: InnkeeperError, place: int) -> None:
        """Report an error that leaves text as written; in a strict build this raises."""
        report(self.env, error, self.text, place)

    def _tag(self, tag: Tag) -> str:
        if tag.closing or not self._spend(tag):
            return self.source(tag)
        if tag.shorthand is not None:
            return self._variable(tag, tag.shorthand)
        if tag.key in self.dynamic:
            return self._dynamic(tag)
        macro = self.pack.table.get(tag.key)
        if macro is not None and macro.lazy:
            return self._lazy(macro, tag, tuple(whole(run) for run in tag.arguments))
        return self._call(macro, tag, self._arguments(tag))

    def _variable(self, tag: Tag, written: Shorthand) -> str:
        try:
            return self._done(tag, f"{written.scope}{written.name}", self.pack.variable(self, tag))
        except (MacroError, LimitError) as error:
            self.warn(error, tag.start)
            return self.source(tag)

    def _block(self, tag: Tag, body: Span, closer: Tag) -> str:
        if not self._spend(tag):
            return self.text[tag.start : closer.end]
        macro = None if tag.key in self.dynamic else self.pack.table.get(tag.key)
        if macro is not None and macro.lazy:
            return self._lazy(macro, tag, (*(whole(run) for run in tag.arguments), body))
        found = self._arguments(tag)
        content = self.span(body)
        return self._call(macro, tag, found, body, content if KEEP in tag.flags else dedent(content))

    def _arguments(self, tag: Tag) -> list[tuple[Span, str]]:
        """A tag's arguments: each without the blank space written around it, and what it evaluates to."""
        if not tag.arguments:
            return []
        spans = [self.stripped(whole(run)) for run in tag.arguments]
        return [(span, self.span(span)) for span in spans]

    def _call(
        self,
        macro: Macro | None,
        tag: Tag,
        found: list[tuple[Span, str]],
        body: Span | None = None,
        content: str = "",
    ) -> str:
        arguments = tuple(text for _, text in found) + (() if body is None else (content,))
        try:
            if macro is None:
                known = tag.key in self.dynamic
                raise (
                    MacroArgumentError(f"{{{{{tag.name}}}}} takes no arguments", macro=tag.name)
                    if known
                    else (UnknownMacroError(f"there is no macro {{{{{tag.name}}}}}", macro=tag.name))
                )
            _check(macro, arguments)
            return self._done(tag, macro.name, macro.run(Call(self, tag, arguments, block=body is not None)))
        except (MacroError, LimitError) as error:
            self.warn(error, tag.start)
            return self._kept(tag, found, body, content)

    def _lazy(self, macro: Macro, tag: Tag, spans: tuple[Span, ...]) -> str:
        if macro.least <= len(spans) <= macro.most:
            return self._done(tag, macro.name, macro.run(Call(self, tag, spans=spans, block=spans[-1].block)))
        self.warn(_arity(macro, len(spans)), tag.start)
        return self.source(tag)

    def _dynamic(self, tag: Tag) -> str:
        value = self.dynamic[tag.key]
        if not tag.arguments and value is not None:
            return self._done(tag, tag.name, value)
        return self._call(None, tag, self._arguments(tag))

    def _kept(self, tag: Tag, found: list[tuple[Span, str]], body: Span | None, content: str) -> str:
        """A tag as it is written, its arguments evaluated; of a block also the content, and the braces of its end."""
        pieces, place = [], tag.start
        for span, text in found:
            pieces += [self.text[place : span.start], text]
            place = span.end
        pieces.append(self.text[place : tag.end])
        if body is not None and body.end > body.start:
            pieces += [content, self.pack.grammar.close]
        return "".join(pieces)

    def _done(self, tag: Tag, macro: str, result: str) -> str:
        self.env.spent.output += len(result)
        self.evaluated, self.macro = tag, macro
        if self.trace is not None:
            self.trace(tag.name or f"{tag.shorthand}", (tag.start, tag.end), result)
        return result

    def _spend(self, tag: Tag) -> bool:
        return within_limits(self.env, self.text, tag.start)


def report(env: MacroEnvironment, error: InnkeeperError, text: str, place: int) -> None:
    """Pass an error on to ``env.warn`` as a note that says where in ``text`` it is."""
    if env.warn is None or env.spent.reports > MAX_REPORTS:
        return
    env.spent.reports += 1
    if env.spent.reports > MAX_REPORTS:
        env.warn(
            Note(NoteKind.LIMIT, f"more than {MAX_REPORTS} macros could not be evaluated; the others are not listed")
        )
        return
    kind = NoteKind.LIMIT if isinstance(error, LimitError) else NoteKind.MACRO
    env.warn(Note(kind, error.message, where=place_in(text, place), hint=error.hint, data=FrozenDict(error.details)))


def within_limits(env: MacroEnvironment, text: str, place: int) -> bool:
    """Count one more macro of this build. False, and once a report, when the build has had its share."""
    spent = env.spent
    spent.expansions += 1
    if spent.expansions < spent.look and spent.output <= MAX_OUTPUT:
        return True
    if spent.told:
        return False
    try:
        look(spent)
    except LimitError as error:
        stop(env, error, text, place)
    return not spent.told


def look(spent: Spent) -> None:
    """Compare with the limits, and charge the allowance for expansions since it was charged and the next. Raises `LimitError`."""
    if spent.expansions > MAX_EXPANSIONS:
        raise limit_error("the number of macros of this build", "MAX_EXPANSIONS", MAX_EXPANSIONS)
    if spent.output > MAX_OUTPUT:
        raise limit_error("what macros produced", "MAX_OUTPUT", MAX_OUTPUT)
    due = max(spent.expansions - spent.look, 0) + _SLICE
    charge("macros", due * _TAG_STEPS, made=spent.output - spent.charged)
    spent.charged = spent.output
    spent.look = min(spent.expansions + _SLICE, MAX_EXPANSIONS + 1)


def stop(env: MacroEnvironment, error: LimitError, text: str, place: int) -> None:
    """Have all further macros of this build stay as text, with a note that says why."""
    env.spent.told, env.spent.look = True, 0
    report(env, error, text, place)


class _Taken:
    """The closing tags of a span that already serve an opening one."""

    __slots__ = ("_indexes", "_last", "_next")

    def __init__(self, last: int) -> None:
        self._last = last
        self._next: dict[str, int] = {}
        self._indexes: set[int] = set()

    def next(self, closers: list[int], index: int, key: str) -> bool:
        """Take the next of these closing tags behind ``index``, if there is one."""
        chosen = max(self._next.get(key, 0), bisect_right(closers, index))
        if chosen >= len(closers) or closers[chosen] >= self._last:
            return False
        self._next[key] = chosen + 1
        return True

    def among(self, marks: list[tuple[int, int]], index: int) -> tuple[bool, int]:
        """Take the closing tag on the level of ``index``, and say how many marks were looked at."""
        first, level, place = bisect_right(marks, (index, 1)), 1, 0
        for place in range(first, len(marks)):
            found, step = marks[place]
            if found >= self._last:
                break
            level += 0 if found in self._indexes else step
            if level == 0:
                self._indexes.add(found)
                return True, place - first
        return False, max(place - first, 0)


def whole(run: Run) -> Span:
    """All of a run."""
    return Span(run, 0, len(run.tags), run.start, run.end)


def dedent(text: str) -> str:
    """``text`` without blank space around it and without the first line's indentation before each line."""
    lines = text.split("\n")
    first = next((line for line in lines if strip(line)), "")
    indent = _INDENT.match(first).end()  # type: ignore[union-attr]  # it matches the empty text
    if indent:
        lines = [line[min(indent, _INDENT.match(line).end()) :] for line in lines]  # type: ignore[union-attr]
    return strip("\n".join(lines))


def _check(macro: Macro, arguments: tuple[str, ...]) -> None:
    if not macro.rest and not macro.least <= len(arguments) <= macro.most:
        raise _arity(macro, len(arguments))
    for index in macro.integers:
        if index < len(arguments) and not _INTEGER.fullmatch(arguments[index]):
            msg = f"argument {index + 1} of {{{{{macro.name}}}}} must be a whole number"
            raise MacroArgumentError(msg, macro=macro.name)


def _arity(macro: Macro, found: int) -> MacroArgumentError:
    takes = f"{macro.least}" if macro.least == macro.most else f"{macro.least} to {macro.most}"
    return MacroArgumentError(f"{{{{{macro.name}}}}} takes {takes} arguments, not {found}", macro=macro.name)


def limit_error(what: str, name: str, allowed: int) -> MacroLimitError:
    """The error for a limit that was reached."""
    return MacroLimitError(what, limit=name, allowed=allowed, hint="the macros beyond it stay as text")
