"""The syntax tree of a text: its tags, their arguments, and which closing tag belongs to which opening one.

Text between tags is not stored: a `Run` is a span of the source, and what its tags leave free is text. Parsing is one pass
with an explicit stack, so its time is linear and nesting cannot exhaust Python's own stack. Tags nested deeper than
`MAX_NESTING` are not built; they stay text.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import structs

from innkeeper.macros.engine.errors import CACHED_CHARS, CACHED_TREES, MAX_NESTING
from innkeeper.macros.engine.scanner import Grammar, Head, Shorthand
from innkeeper.prompt.memo import Memo

__all__ = ["Run", "Tag", "Tree", "parse"]


class Tag(msgspec.Struct, frozen=True):
    """One tag. ``start`` and ``end`` span it with its delimiters; ``key`` is the name in lower case.

    ``loose`` counts the tags around it that were never closed: they are text, and what is in them moves up to their level.
    """

    start: int
    end: int
    name: str
    key: str
    flags: str
    arguments: tuple[Run, ...] = ()
    closing: bool = False
    shorthand: Shorthand | None = None
    loose: int = 0


class Run(msgspec.Struct, frozen=True):
    """A span of the source with the tags in it, in order.

    ``partners`` gives for an opening tag that takes a block the index of its closing tag. Other tags can be closed too: by
    ``spare``, the closing tags of a name of which no tag takes a block, or among ``marks``, in which all tags of a name that
    open (1) or close (-1) a block are in order.
    """

    start: int
    end: int
    tags: tuple[Tag, ...] = ()
    partners: dict[int, int] = {}
    spare: dict[str, list[int]] = {}
    marks: dict[str, list[tuple[int, int]]] = {}


class Tree(msgspec.Struct, frozen=True):
    """A parsed text. ``too_deep`` is where a tag nested too deeply begins, if there is one."""

    run: Run
    too_deep: int | None = None


def parse(text: str, grammar: Grammar) -> Tree:
    """The tree of ``text``; shared between calls for texts of up to `CACHED_CHARS` characters."""
    if len(text) > CACHED_CHARS:
        return _Parser(text, grammar).parse()
    tree = _TREES.get((id(grammar), text))
    if tree is None:
        tree = _TREES.put((id(grammar), text), _Parser(text, grammar).parse(), len(text), alive=grammar)
    return tree


_TREES: Final[Memo[tuple[int, str], Tree]] = Memo(items=CACHED_TREES)
"""Trees by grammar, which there are few of, and text."""


class _Frame:
    """A tag whose end has not been seen yet: its finished arguments, and the tags of the one being read."""

    __slots__ = ("arguments", "head", "start", "tags", "where")

    def __init__(self, start: int, head: Head) -> None:
        self.start = start
        self.head = head
        self.arguments: list[Run] = []
        self.tags: list[Tag] = []
        self.where = head.start


class _Parser:
    __slots__ = ("grammar", "stack", "tags", "text", "too_deep")

    def __init__(self, text: str, grammar: Grammar) -> None:
        self.text = text
        self.grammar = grammar
        self.tags: list[Tag] = []
        self.stack: list[_Frame] = []
        self.too_deep: int | None = None

    def parse(self) -> Tree:
        place = 0
        while place >= 0:
            place = self._inside(place) if self.stack else self._outside(place)
        for loose, frame in enumerate(self.stack, 1):
            tags = [tag for argument in frame.arguments for tag in argument.tags] + frame.tags
            self.tags += [structs.replace(tag, loose=loose) for tag in tags]
        return Tree(self._run(0, len(self.text), self.tags), self.too_deep)

    def _outside(self, place: int) -> int:
        start = self.grammar.next_open(self.text, place)
        return start if start < 0 else self._opened(start)

    def _inside(self, place: int) -> int:
        frame = self.stack[-1]
        start, mark = self.grammar.next_mark(self.text, place, split=frame.head.separator is not None)
        if start < 0:
            return -1
        if mark == self.grammar.open:
            return self._opened(start)
        end = start + len(mark)
        self._argument(frame, start)
        if mark == self.grammar.close:
            self.stack.pop()
            self._add(self._tag(frame, end))
        else:
            frame.where = end
        return end

    def _opened(self, start: int) -> int:
        behind = start + len(self.grammar.open)
        head = self.grammar.head(self.text, behind)
        if head is None:
            return behind
        if head.whole is not None:
            self._add(Tag(start, head.whole, head.name, head.name.lower(), head.flags, shorthand=head.shorthand))
            return head.whole
        self.stack.append(_Frame(start, head))
        return head.start

    def _argument(self, frame: _Frame, end: int) -> None:
        if not (frame.head.bare and end == frame.where):
            frame.arguments.append(self._run(frame.where, end, frame.tags))
            frame.tags = []

    def _tag(self, frame: _Frame, end: int) -> Tag:
        head = frame.head
        return Tag(
            frame.start,
            end,
            head.name,
            head.name.lower(),
            head.flags,
            tuple(frame.arguments),
            head.closing,
            head.shorthand,
        )

    def _add(self, tag: Tag) -> None:
        if len(self.stack) >= MAX_NESTING:
            self.too_deep = tag.start if self.too_deep is None else self.too_deep
            return
        (self.stack[-1].tags if self.stack else self.tags).append(tag)

    def _run(self, start: int, end: int, tags: list[Tag]) -> Run:
        if not any(tag.closing for tag in tags):
            return Run(start, end, tuple(tags))
        return Run(start, end, tuple(tags), *self._partners(tags))

    def _partners(
        self, tags: list[Tag]
    ) -> tuple[dict[int, int], dict[str, list[int]], dict[str, list[tuple[int, int]]]]:
        partners: dict[int, int] = {}
        waiting: dict[str, list[int]] = {}
        closed = {tag.key for tag in tags if tag.closing}
        marks: dict[str, list[tuple[int, int]]] = {key: [] for key in closed}
        for index, tag in enumerate(tags):
            if tag.key not in closed or tag.shorthand is not None:
                continue
            if tag.closing:
                marks[tag.key].append((index, -1))
                if waiting.get(tag.key):
                    partners[waiting[tag.key].pop()] = index
            elif self.grammar.takes_block(tag.key, len(tag.arguments)):
                marks[tag.key].append((index, 1))
                waiting.setdefault(tag.key, []).append(index)
        spare = {key: [index for index, _ in found] for key, found in marks.items() if key not in waiting}
        return partners, spare, {key: found for key, found in marks.items() if key in waiting}
