"""The syntax of a macro language: the spelling of its tags, and the tree of a text: tags, arguments, blocks.

A `Grammar` is data. The tree builder asks it three things: where the next opener is, whether what follows an opener is the head
of a tag, and where the next mark inside a tag's arguments is.

Text between tags is not stored: a `Run` is a span of the source, and what its tags leave free is text. Parsing is one pass
with an explicit stack, so its time is linear and nesting cannot exhaust Python's own stack. Tags nested deeper than
`MAX_NESTING` are not built; they stay text, and so does all that stands behind the first `MAX_MARKS` marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import structs

from innkeeper.macros.engine.errors import CACHED_CHARS, CACHED_TREES, MAX_MARKS, MAX_NESTING
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.text.javascript.values import SPACES


class Shorthand(msgspec.Struct, frozen=True):
    """A variable written without a macro's name: ``.hp += 1``. ``scope`` is the prefix, ``operator`` may be empty."""

    scope: str
    name: str
    operator: str


class TagHead(msgspec.Struct, frozen=True):
    """What follows an opener: flags and a name, then how its arguments begin.

    ``start`` is where the first argument begins. ``separator`` is what splits arguments (``None``: there is one argument, or
    none at all when ``bare``). ``whole`` is the end of the tag when the head is all of it.
    """

    name: str
    flags: str
    start: int
    separator: str | None = None
    bare: bool = False
    closing: bool = False
    shorthand: Shorthand | None = None
    whole: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Grammar:
    """One macro language's spelling.

    ``open`` and ``close`` delimit a tag, ``separator`` its arguments; a ``single`` separator introduces one argument that is
    not split, as blank space does. ``flags`` may stand before the name, ``ends`` marks a closing tag, ``name`` and ``comment``
    are regular expressions of names. ``scopes`` are the prefixes of variable shorthands and ``operators`` what may follow
    their names, those in ``valued`` with a value. ``takes_block(name, arguments)`` says whether an opening tag with that many
    arguments may have a block as its last one. Two grammars are equal only when they are the same object.
    """

    title: str
    open: str = "{{"
    close: str = "}}"
    separator: str = "::"
    single: str = ":"
    flags: str = ""
    ends: str = "/"
    name: str = "[a-zA-Z][a-zA-Z0-9_-]*"
    comment: str | None = None
    scopes: str = ""
    variable: str = "[a-zA-Z](?:[a-zA-Z0-9_-]*[a-zA-Z0-9_])?"
    operators: tuple[str, ...] = ()
    valued: frozenset[str] = frozenset()
    takes_block: Callable[[str, int], bool] = lambda _name, _arguments: False
    _patterns: _Patterns = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compile the grammar's patterns once."""
        object.__setattr__(self, "_patterns", _compiled(self))

    def next_open(self, text: str, start: int) -> int:
        """Return the index of the next opener outside of any tag, or -1. Of a longer run of braces the last two open."""
        match = self._patterns.open.search(text, start)
        return match.start() if match else -1

    def next_mark(self, text: str, start: int, *, split: bool) -> tuple[int, str]:
        """Place and spelling of the next opener, closer or (``split``) separator inside a tag, or ``(-1, "")``."""
        pattern = self._patterns.split if split else self._patterns.mark
        match = pattern.search(text, start)
        return (match.start(), match.group()) if match else (-1, "")

    def head(self, text: str, start: int) -> TagHead | None:
        """The head at ``start``, just behind an opener; ``None`` when no tag begins here."""
        match = self._patterns.head.match(text, start)
        if match is None:
            return None
        flags = self._patterns.blanks.sub("", match["flags"]) if match["flags"] else ""
        if match["scope"]:
            return self._shorthand(text, match.end(), flags, match["scope"])
        name = match["name"] or match["comment"]
        return self._arguments(text, match.end(), name, flags, comment=match["comment"] is not None)

    def _arguments(self, text: str, match: int, name: str, flags: str, *, comment: bool) -> TagHead:
        closing = self.ends in flags
        if not comment:
            match = self._patterns.junk.match(text, match).end()  # type: ignore[union-attr]  # it matches the empty text
        begin = self._patterns.begin.match(text, match)
        mark = begin["mark"] if begin else ""
        start = begin.end() if begin else match
        if mark:
            return TagHead(
                name, flags, start, self.separator if mark == self.separator else None, bare=False, closing=closing
            )
        bare = text.startswith(self.close, start) or start >= len(text)
        return TagHead(name, flags, start, None, bare, closing)

    def _shorthand(self, text: str, index: int, flags: str, scope: str) -> TagHead | None:
        match = self._patterns.shorthand.match(text, index) if self._patterns.shorthand else None
        if match is None:
            return None
        name = match["variable"] or ""
        operator = match["operator"] or "" if name else ""
        what: Shorthand | None = Shorthand(scope, name, operator)
        if operator in self.valued:
            return TagHead("", flags, match.end(), None, shorthand=what)
        end = self._patterns.rest.match(text, match.end()) if name else self._patterns.nameless.match(text, index)
        if end is None:
            # Stray flags and a word: text, with everything up to the closer, since the word takes that along.
            end, what = self._patterns.inert.match(text, match.end()) if name else None, None
        return TagHead("", flags, end.end(), None, bare=True, shorthand=what, whole=end.end()) if end else None


class _Patterns(msgspec.Struct, frozen=True):
    open: re.Pattern[str]
    mark: re.Pattern[str]
    split: re.Pattern[str]
    head: re.Pattern[str]
    junk: re.Pattern[str]
    begin: re.Pattern[str]
    shorthand: re.Pattern[str] | None
    rest: re.Pattern[str]
    nameless: re.Pattern[str]
    inert: re.Pattern[str]
    blanks: re.Pattern[str]


def marks_of(*grammars: Grammar) -> re.Pattern[str]:
    """Return a pattern of the openers and closers of all these grammars, for a language with several kinds of brackets."""
    return re.compile("|".join(re.escape(mark) for grammar in grammars for mark in (grammar.open, grammar.close)))


_MOST_FLAGS: Final = 64
"""The most flags before a name; a tag with more is text."""
_BLANK: Final = f"[{SPACES}]*"
_NEVER: Final = "(?!)"


def _one_of(characters: str) -> str:
    return f"[{re.escape(characters)}]" if characters else _NEVER


def _compiled(grammar: Grammar) -> _Patterns:
    opener, closer = re.escape(grammar.open), re.escape(grammar.close)
    separator, single = re.escape(grammar.separator), re.escape(grammar.single)
    flags, scopes, strays = _one_of(grammar.flags), _one_of(grammar.scopes), _one_of(grammar.flags + grammar.scopes)
    comment = grammar.comment or _NEVER
    operators = "|".join(re.escape(operator) for operator in sorted(grammar.operators, key=len, reverse=True))
    dropped = f"[^{SPACES}{re.escape(grammar.single[0])}|{re.escape(grammar.close[0])}]*"
    word = f"(?>{grammar.name}{dropped})"
    stray = f"(?:{comment}|{strays}|{word})"
    return _Patterns(
        open=re.compile(f"{opener}(?!{re.escape(grammar.open[0])})"),
        mark=re.compile(f"{opener}|{closer}"),
        split=re.compile(f"{opener}|{closer}|{separator}"),
        head=re.compile(
            f"{_BLANK}(?P<flags>(?:(?!{comment}){flags}{_BLANK}){{0,{_MOST_FLAGS}}})"
            f"(?:(?P<comment>{comment})|(?P<name>{grammar.name})|(?P<scope>{scopes}))"
        ),
        junk=re.compile(dropped),
        begin=re.compile(f"{_BLANK}(?P<mark>{separator}|{single})?{_BLANK}"),
        shorthand=re.compile(
            f"{_BLANK}(?:{scopes}{_BLANK})?(?P<variable>{grammar.variable})?{_BLANK}(?P<operator>{operators})?"
        )
        if grammar.scopes
        else None,
        rest=re.compile(f"{_BLANK}(?:{stray}{_BLANK})?{closer}"),
        nameless=re.compile(f"{_BLANK}(?:(?>{stray}){_BLANK})*+{closer}"),
        inert=re.compile(f"{_BLANK}(?:{flags}{_BLANK}){{1,{_MOST_FLAGS}}}{word}{_BLANK}{closer}"),
        blanks=re.compile(f"[{SPACES}]+"),
    )


class MacroTag(msgspec.Struct, frozen=True):
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
    tags: tuple[MacroTag, ...] = ()
    partners: dict[int, int] = {}
    spare: dict[str, list[int]] = {}
    marks: dict[str, list[tuple[int, int]]] = {}


class Tree(msgspec.Struct, frozen=True):
    """A parsed text. ``too_deep`` is where a tag nested too deeply begins, ``cut`` where reading ended early, if it did.

    ``steps`` is what reading it counts, in each build alike, whether it was kept or not.
    """

    run: Run
    too_deep: int | None = None
    cut: int | None = None
    steps: int = 0


def parse(text: str, grammar: Grammar) -> Tree:
    """The tree of ``text``; shared between calls for texts of up to `CACHED_CHARS` characters.

    Raises `innkeeper.prompt.allowance.AllowanceError`.
    """
    if len(text) > CACHED_CHARS:
        return _Parser(text, grammar).parse()
    tree = _TREES.get((id(grammar), text))
    if tree is None:
        return _TREES.put((id(grammar), text), _Parser(text, grammar).parse(), len(text), alive=grammar)
    charge("macros", tree.steps)
    return tree


_TREES: Final[BoundedCache[tuple[int, str], Tree]] = BoundedCache(items=CACHED_TREES)
"""Trees by grammar, which there are few of, and text."""


_FIRST: Final = 4
_SLICE: Final = 32
"""Marks that are read for one charge; for the first, fewer, since most texts have few."""

_MARK_STEPS: Final = 30
"""The steps charged for a mark."""


class _OpenTag:
    """A tag whose end has not been seen yet: its finished arguments, and the tags of the current one."""

    __slots__ = ("arguments", "head", "start", "tags", "where")

    def __init__(self, start: int, head: TagHead) -> None:
        self.start = start
        self.head = head
        self.arguments: list[Run] = []
        self.tags: list[MacroTag] = []
        self.where = head.start


class _Parser:
    __slots__ = ("grammar", "stack", "tags", "text", "too_deep")

    def __init__(self, text: str, grammar: Grammar) -> None:
        self.text = text
        self.grammar = grammar
        self.tags: list[MacroTag] = []
        self.stack: list[_OpenTag] = []
        self.too_deep: int | None = None

    def parse(self) -> Tree:
        index, read, due = 0, 0, _FIRST
        while index >= 0 and read < MAX_MARKS:
            charge("macros", due * _MARK_STEPS)
            for _ in range(due):
                index = self._inside(index) if self.stack else self._outside(index)
                if index < 0:
                    break
            read, due = read + due, _SLICE
        for loose, frame in enumerate(self.stack, 1):
            tags = [tag for argument in frame.arguments for tag in argument.tags] + frame.tags
            self.tags += [structs.replace(tag, loose=loose) for tag in tags]
        return Tree(
            self._run(0, len(self.text), self.tags), self.too_deep, index if index >= 0 else None, read * _MARK_STEPS
        )

    def _outside(self, index: int) -> int:
        start = self.grammar.next_open(self.text, index)
        return start if start < 0 else self._opened(start)

    def _inside(self, index: int) -> int:
        frame = self.stack[-1]
        start, mark = self.grammar.next_mark(self.text, index, split=frame.head.separator is not None)
        if start < 0:
            return -1
        if mark == self.grammar.open:
            return self._opened(start)
        end = start + len(mark)
        if not (frame.head.bare and start == frame.where):
            frame.arguments.append(self._run(frame.where, start, frame.tags))
            frame.tags = []
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
            self._add(MacroTag(start, head.whole, head.name, head.name.lower(), head.flags, shorthand=head.shorthand))
            return head.whole
        self.stack.append(_OpenTag(start, head))
        return head.start

    def _tag(self, frame: _OpenTag, end: int) -> MacroTag:
        head = frame.head
        return MacroTag(
            frame.start,
            end,
            head.name,
            head.name.lower(),
            head.flags,
            tuple(frame.arguments),
            head.closing,
            head.shorthand,
        )

    def _add(self, tag: MacroTag) -> None:
        if len(self.stack) >= MAX_NESTING:
            self.too_deep = tag.start if self.too_deep is None else self.too_deep
            return
        (self.stack[-1].tags if self.stack else self.tags).append(tag)

    def _run(self, start: int, end: int, tags: list[MacroTag]) -> Run:
        if not any(tag.closing for tag in tags):
            return Run(start, end, tuple(tags))
        return Run(start, end, tuple(tags), *self._partners(tags))

    def _partners(
        self, tags: list[MacroTag]
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
        spare = {key: [index for index, _ in opened] for key, opened in marks.items() if key not in waiting}
        return partners, spare, {key: opened for key, opened in marks.items() if key in waiting}
