"""Keywords: the test ``{{keywords:…}}`` makes on the history's text, read once and asked many times.

Three forms (`smarttavern.md` 4.6): ``a, b`` (any of them); an expression with ``& | ! ^`` and parentheses, in which a comma
means or, ``^`` binds tightest and ``|`` loosest; and a mode before ``::``: ``any`` or ``some``, ``all``, ``none``, ``xor``
(one and no other), ``include::a,b::exclude::c,d``, ``expr``. Keywords are found as they are written, case and all.

The document wants ``true`` or ``false`` and nothing else. What SmartTavern cannot read and leaves empty is read here: words
of one line without an operator between them are one keyword, commas with nothing beside them do not count, an empty list
has no keyword in it, and what is malformed never matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from innkeeper.macros.smart.options import CACHED_KEYWORD_CHARS, CACHED_KEYWORDS, MAX_PARENTHESES
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache

Contains = Callable[[str], bool]

_TOKEN: Final = re.compile(r"[&|!^(),]|[^&|!^(),]+")
_BREAK: Final = re.compile(r"[\n\r]")
_NEVER: Final = ("or", ())
_ALWAYS: Final = ("and", ())


class Keywords(msgspec.Struct, frozen=True):
    """One test. ``tokens`` are the keywords it may look for, in the order they are written, each once."""

    tokens: tuple[str, ...]
    tree: Any

    def matches(self, contains: Contains) -> bool:
        """Whether the test holds, when ``contains`` says which keywords the text has."""
        return _holds(self.tree, contains)


def parse(params: str) -> Keywords:
    """The test that is written; never raises. Shared between calls for texts of up to `CACHED_KEYWORD_CHARS` characters."""
    charge("keywords", len(params) * _READING_STEPS)
    return _read(params)


def tokens_of(tests: Sequence[str]) -> list[str]:
    """The keywords of several tests, which are charged for at once."""
    charge("keywords", sum(map(len, tests)) * _READING_STEPS)
    return [token for params in tests for token in _read(params).tokens]


def _read(params: str) -> Keywords:
    if len(params) > CACHED_KEYWORD_CHARS:
        return _parsed(params)
    return _TESTS.get_or_make(params, lambda: _parsed(params), _TREE_BYTES * len(params))


_TESTS: Final[BoundedCache[str, Keywords]] = BoundedCache(items=CACHED_KEYWORDS, size=16 * 1024 * 1024)
_READING_STEPS: Final = 5
"""The steps charged for parsing a character of a test."""
_TREE_BYTES: Final = 32
"""The bytes charged for a character of a parsed test."""


def _parsed(params: str) -> Keywords:
    tree = _tree(params.strip())
    return Keywords(tuple(dict.fromkeys(_words(tree))), tree)


def _tree(text: str) -> Any:
    mode, *lists = text.split("::")
    known = _MODES.get(mode.strip().lower()) if lists else None
    if known is not None:
        return known(lists)
    return _expression(text) if text else _NEVER


def _list(text: str) -> tuple[Any, ...]:
    return tuple(("word", word) for word in map(str.strip, text.split(",")) if word)


def _all(lists: list[str]) -> Any:
    words = _list(lists[0])
    return ("and", words) if words else _NEVER


def _include(lists: list[str]) -> Any:
    excluded = lists[2] if len(lists) > 2 and lists[1].strip().lower() == "exclude" else ""  # noqa: PLR2004 - the third
    return ("and", (*_list(lists[0]), ("not", ("or", _list(excluded)))))


def _expr(lists: list[str]) -> Any:
    text = lists[0].strip()
    return _expression(text) if text else _ALWAYS


_MODES: Final[dict[str, Callable[[list[str]], Any]]] = {
    "any": lambda lists: ("or", _list(lists[0])),
    "some": lambda lists: ("or", _list(lists[0])),
    "all": _all,
    "none": lambda lists: ("not", ("or", _list(lists[0]))),
    "xor": lambda lists: ("one", _list(lists[0])),
    "include": _include,
    "expr": _expr,
}


def _expression(text: str) -> Any:
    try:
        return _ExpressionReader(_tokens(text)).whole()
    except _MalformedError:
        return _NEVER


def _tokens(text: str) -> list[str]:
    """Operators and keywords; without commas that have nothing on one side."""
    tokens = [token for token in map(str.strip, _TOKEN.findall(text)) if token]
    if any(_BREAK.search(token) for token in tokens):
        raise _MalformedError
    operands: list[str] = []
    for mark in tokens:
        if mark == "," and (not operands or operands[-1] in ",("):
            continue
        if mark == ")" and operands and operands[-1] == ",":
            operands.pop()
        operands.append(mark)
    while operands and operands[-1] == ",":
        operands.pop()
    return operands


class _MalformedError(Exception):
    """The expression cannot be read."""


class _ExpressionReader:
    """Reads an expression by descent: or, and, not, exclusive or, keyword or parentheses."""

    __slots__ = ("depth", "index", "tokens")

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.index = 0
        self.depth = 0

    def whole(self) -> Any:
        tree = self._either()
        if self.index < len(self.tokens):
            raise _MalformedError
        return tree

    def _either(self) -> Any:
        return self._joined("or", "|,", lambda: self._joined("and", "&", self._not))

    def _not(self) -> Any:
        turned = False
        while self._take("!"):
            turned = not turned
        tree = self._joined("odd", "^", self._one)
        return ("not", tree) if turned else tree

    def _one(self) -> Any:
        if self._take("("):
            self.depth += 1
            if self.depth > MAX_PARENTHESES:
                raise _MalformedError
            tree = self._either()
            self.depth -= 1
            if not self._take(")"):
                raise _MalformedError
            return tree
        word = self._next()
        if not word or word in "&|!^),":
            raise _MalformedError
        self.index += 1
        return ("word", word)

    def _joined(self, kind: str, operators: str, part: Callable[[], Any]) -> Any:
        parts = [part()]
        while self._take(operators):
            parts.append(part())
        return (kind, tuple(parts)) if len(parts) > 1 else parts[0]

    def _next(self) -> str:
        return self.tokens[self.index] if self.index < len(self.tokens) else ""

    def _take(self, operators: str) -> bool:
        token = self._next()
        if not token or token not in operators:
            return False
        self.index += 1
        return True


def _holds(tree: Any, contains: Contains) -> bool:
    kind, parts = tree
    if kind == "word":
        return contains(parts)
    if kind == "not":
        return not _holds(parts, contains)
    if kind == "or":
        return any(_holds(part, contains) for part in parts)
    if kind == "and":
        return all(_holds(part, contains) for part in parts)
    count = sum(_holds(part, contains) for part in parts)
    return count == 1 if kind == "one" else count % 2 == 1


def _words(tree: Any) -> list[str]:
    kind, parts = tree
    if kind == "word":
        return [parts]
    return _words(parts) if kind == "not" else [word for part in parts for word in _words(part)]
