"""Grammar: how a macro language spells its tags, and the readers that find the next mark of one in a text.

A grammar is data. The tree builder (`innkeeper.macros.engine.syntax`) asks it three things: where the next opener is, whether
what follows an opener is the head of a tag, and where the next mark inside a tag's arguments is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from innkeeper.text.javascript.values import SPACES

__all__ = ["Grammar", "Head", "Shorthand", "marks_of"]


class Shorthand(msgspec.Struct, frozen=True):
    """A variable written without a macro's name: ``.hp += 1``. ``scope`` is the prefix, ``operator`` may be empty."""

    scope: str
    name: str
    operator: str


class Head(msgspec.Struct, frozen=True):
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


def _never(_name: str, _arguments: int) -> bool:
    return False


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
    takes_block: Callable[[str, int], bool] = _never
    _patterns: _Patterns = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compile the grammar's patterns once."""
        object.__setattr__(self, "_patterns", _compiled(self))

    def next_open(self, text: str, start: int) -> int:
        """Where the next opener outside of any tag is, or -1. Of a longer run of braces the last two open."""
        found = self._patterns.open.search(text, start)
        return found.start() if found else -1

    def next_mark(self, text: str, start: int, *, split: bool) -> tuple[int, str]:
        """Place and spelling of the next opener, closer or (``split``) separator inside a tag, or ``(-1, "")``."""
        pattern = self._patterns.split if split else self._patterns.mark
        found = pattern.search(text, start)
        return (found.start(), found.group()) if found else (-1, "")

    def head(self, text: str, start: int) -> Head | None:
        """The head at ``start``, just behind an opener; ``None`` when no tag begins here."""
        found = self._patterns.head.match(text, start)
        if found is None:
            return None
        flags = "".join(found["flags"].split())
        if found["scope"]:
            return self._shorthand(text, found.end(), flags, found["scope"])
        name = found["name"] or found["comment"]
        return self._arguments(text, found.end(), name, flags, comment=found["comment"] is not None)

    def _arguments(self, text: str, place: int, name: str, flags: str, *, comment: bool) -> Head:
        closing = self.ends in flags
        if not comment:
            place = self._patterns.junk.match(text, place).end()  # type: ignore[union-attr]  # it matches the empty text
        begin = self._patterns.begin.match(text, place)
        mark = begin["mark"] if begin else ""
        start = begin.end() if begin else place
        if mark:
            return Head(
                name, flags, start, self.separator if mark == self.separator else None, bare=False, closing=closing
            )
        bare = text.startswith(self.close, start) or start >= len(text)
        return Head(name, flags, start, None, bare, closing)

    def _shorthand(self, text: str, place: int, flags: str, scope: str) -> Head | None:
        found = self._patterns.shorthand.match(text, place) if self._patterns.shorthand else None
        if found is None:
            return None
        name = found["variable"] or ""
        operator = found["operator"] or "" if name else ""
        what: Shorthand | None = Shorthand(scope, name, operator)
        if operator in self.valued:
            return Head("", flags, found.end(), None, shorthand=what)
        end = self._patterns.rest.match(text, found.end()) if name else self._patterns.nameless.match(text, place)
        if end is None:
            # Stray flags and a word: text, with everything up to the closer, since the word takes that along.
            end, what = self._patterns.inert.match(text, found.end()) if name else None, None
        return Head("", flags, end.end(), None, bare=True, shorthand=what, whole=end.end()) if end else None


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


def marks_of(*grammars: Grammar) -> re.Pattern[str]:
    """What matches the next opener or closer of any of these grammars, for a language that has several kinds of brackets."""
    return re.compile("|".join(re.escape(mark) for grammar in grammars for mark in (grammar.open, grammar.close)))


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
            f"{_BLANK}(?P<flags>(?:(?!{comment}){flags}{_BLANK})*)"
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
        inert=re.compile(f"{_BLANK}(?:{flags}{_BLANK})+{word}{_BLANK}{closer}"),
    )
