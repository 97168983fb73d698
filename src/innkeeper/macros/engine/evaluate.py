"""The evaluator: walks a syntax tree and looks up the value of each tag in a pack's table.

An `Evaluation` is one text being evaluated. Text between tags is copied, tags that cannot be evaluated stay as they are
written (with what is inside them evaluated) and are reported, values are never scanned again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.macros.engine.errors import MAX_MARKS, MAX_NESTING, MacroArgumentError, MacroError, UnknownMacroError
from innkeeper.macros.engine.macro import (
    KEEP,
    Call,
    Macro,
    Pack,
    TagSpan,
    arity_error,
    dedent,
    require_arguments,
    whole,
)
from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.macros.engine.spending import limit_error, report, stop, within_limits
from innkeeper.macros.engine.syntax import MacroTag, Run, Shorthand, parse
from innkeeper.prompt.allowance import AllowanceError
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import InnkeeperError, LimitError
from innkeeper.text.javascript.values import Offsets, strip

Trace = Callable[[str, tuple[int, int], str], None]
"""Called with a macro's name, its span in the text, and what it became."""

MAX_STEPS: Final = 100_000
"""Marks looked at in one text for the closing tags of macros that take no block (no error: then those are taken for text)."""


class _EvaluatorBase(msgspec.Struct, frozen=True):
    tag: int
    branch: int
    outer: _EvaluatorBase | None


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
    base: _EvaluatorBase | None = None
    offsets: Offsets | None = None
    steps: int = 0
    ranges: list[MacroRange] | None = None
    """The list that records the output range of each macro of the text; not of those inside another's arguments or block."""
    evaluated: MacroTag | None = None
    macro: str = ""
    """The canonical name of that tag's macro, whatever alias was written; a variable's shorthand is its own."""

    def run(self) -> str:
        """The whole text, evaluated; as it is where the build has had its share."""
        if self.env.spent.stopped:
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

    def span(self, span: TagSpan) -> str:
        """The text of a span with its tags evaluated."""
        run, text = span.run, self.text
        if span.first == span.last:
            return text[span.start : span.end]
        if self.depth >= MAX_NESTING:
            self.warn(limit_error("the nesting of macros", "MAX_NESTING", MAX_NESTING), span.start)
            return text[span.start : span.end]
        self.depth += 1
        ranges = self.ranges if self.depth == 1 else None
        tags, partners, taken = run.tags, run.partners, _ServedTags(span.last) if run.spare or run.marks else None
        pieces, copied, index, length = [], span.start, span.first, 0
        while index < span.last:
            tag = tags[index]
            pieces.append(text[copied : tag.start])
            closer = partners.get(index, span.last)
            if closer < span.last:
                body = TagSpan(run, index + 1, closer, tag.end, tags[closer].start, block=True)
                pieces.append(self._block(tag, body, tags[closer]))
                index, copied = closer + 1, tags[closer].end
            else:
                # A closing tag that fits a macro which takes no block leaves both as they are written.
                raw = taken is not None and self._closed(run, index, tag, taken)
                pieces.append(self.source(tag) if raw else self._tag(tag))
                index, copied = index + 1, tag.end
            if ranges is not None:
                start = length + len(pieces[-2])
                length = start + len(pieces[-1])
                if self.evaluated is tag and start < length:
                    ranges.append(MacroRange(start, length, self.macro))
        pieces.append(text[copied : span.end])
        self.depth -= 1
        return "".join(pieces)

    def offset(self, tag: MacroTag) -> int:
        """Return the offset of a tag in UTF-16 units."""
        if self.offsets is None:
            self.offsets = Offsets(self.text)
        offset, base = self.offsets.at(tag.start), self.base
        while base is not None:
            offset += self.offsets.at(base.tag) - self.offsets.at(base.branch)
            base = base.outer
        return offset

    def branch(self, tag: MacroTag, span: TagSpan) -> str:
        """A lazy argument of ``tag``, as a finished text whose offsets count from the tag: so SillyTavern has it."""
        self.base = _EvaluatorBase(tag.start, span.start, self.base)
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

    def stripped(self, span: TagSpan) -> TagSpan:
        """A span without the blank space at its ends; its tags are not touched."""
        text = self.text[span.start : span.end]
        start = span.end - len(strip(text + "x")) + 1
        body_text = strip(text[start - span.start :])
        return msgspec.structs.replace(span, start=start, end=start + len(body_text))

    def _closed(self, run: Run, index: int, tag: MacroTag, taken: _ServedTags) -> bool:
        """Whether there is a closing tag for a tag that takes no block; each serves one."""
        if tag.closing or tag.shorthand is not None:
            return False
        if tag.key in run.spare:
            return taken.next(run.spare[tag.key], index, tag.key)
        marks = run.marks.get(tag.key)
        if marks is None or self.steps > MAX_STEPS or self.pack.grammar.takes_block(tag.key, len(tag.arguments)):
            return False
        closes, steps = taken.among(marks, index)
        self.steps += steps
        return closes

    def source(self, tag: MacroTag) -> str:
        """A tag as it is written."""
        return self.text[tag.start : tag.end]

    def warn(self, error: InnkeeperError, position: int) -> None:
        """Report an error that leaves text as written; in a strict build this raises."""
        report(self.env, error, self.text, position)

    def _tag(self, tag: MacroTag) -> str:
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

    def _variable(self, tag: MacroTag, written: Shorthand) -> str:
        try:
            return self._done(tag, f"{written.scope}{written.name}", self.pack.variable(self, tag))
        except (MacroError, LimitError) as error:
            self.warn(error, tag.start)
            return self.source(tag)

    def _block(self, tag: MacroTag, body: TagSpan, closer: MacroTag) -> str:
        if not self._spend(tag):
            return self.text[tag.start : closer.end]
        macro = None if tag.key in self.dynamic else self.pack.table.get(tag.key)
        if macro is not None and macro.lazy:
            return self._lazy(macro, tag, (*(whole(run) for run in tag.arguments), body))
        arguments = self._arguments(tag)
        content = self.span(body)
        return self._call(macro, tag, arguments, body, content if KEEP in tag.flags else dedent(content))

    def _arguments(self, tag: MacroTag) -> list[tuple[TagSpan, str]]:
        """A tag's arguments: each without the blank space written around it, and what it evaluates to."""
        if not tag.arguments:
            return []
        spans = [self.stripped(whole(run)) for run in tag.arguments]
        return [(span, self.span(span)) for span in spans]

    def _call(
        self,
        macro: Macro | None,
        tag: MacroTag,
        arguments: list[tuple[TagSpan, str]],
        body: TagSpan | None = None,
        content: str = "",
    ) -> str:
        values = tuple(text for _, text in arguments) + (() if body is None else (content,))
        try:
            if macro is None:
                known = tag.key in self.dynamic
                raise (
                    MacroArgumentError(f"{{{{{tag.name}}}}} takes no arguments", macro=tag.name)
                    if known
                    else (UnknownMacroError(f"there is no macro {{{{{tag.name}}}}}", macro=tag.name))
                )
            require_arguments(macro, values)
            return self._done(tag, macro.name, macro.run(Call(self, tag, values, block=body is not None)))
        except (MacroError, LimitError) as error:
            self.warn(error, tag.start)
            return self._unresolved(tag, arguments, body, content)

    def _lazy(self, macro: Macro, tag: MacroTag, spans: tuple[TagSpan, ...]) -> str:
        if macro.least <= len(spans) <= macro.most:
            return self._done(tag, macro.name, macro.run(Call(self, tag, spans=spans, block=spans[-1].block)))
        self.warn(arity_error(macro, len(spans)), tag.start)
        return self.source(tag)

    def _dynamic(self, tag: MacroTag) -> str:
        value = self.dynamic[tag.key]
        if not tag.arguments and value is not None:
            return self._done(tag, tag.name, value)
        return self._call(None, tag, self._arguments(tag))

    def _unresolved(
        self, tag: MacroTag, arguments: list[tuple[TagSpan, str]], body: TagSpan | None, content: str
    ) -> str:
        """A tag as it is written, its arguments evaluated; of a block also the content, and the braces of its end."""
        pieces, copied = [], tag.start
        for span, text in arguments:
            pieces += [self.text[copied : span.start], text]
            copied = span.end
        pieces.append(self.text[copied : tag.end])
        if body is not None and body.end > body.start:
            pieces += [content, self.pack.grammar.close]
        return "".join(pieces)

    def _done(self, tag: MacroTag, macro: str, result: str) -> str:
        self.env.spent.output += len(result)
        self.evaluated, self.macro = tag, macro
        if self.trace is not None:
            self.trace(tag.name or f"{tag.shorthand}", (tag.start, tag.end), result)
        return result

    def _spend(self, tag: MacroTag) -> bool:
        return within_limits(self.env, self.text, tag.start)


class _ServedTags:
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
        first, level, number = bisect_right(marks, (index, 1)), 1, 0
        for number in range(first, len(marks)):
            closer, step = marks[number]
            if closer >= self._last:
                break
            level += 0 if closer in self._indexes else step
            if level == 0:
                self._indexes.add(closer)
                return True, number - first
        return False, max(number - first, 0)
