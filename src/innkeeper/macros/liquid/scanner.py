"""The tokens of a Liquid template, found in one pass whose time grows with the text's length and nothing else.

python-liquid's own scanner is one regular expression that starts over at each brace; a few kilobytes of braces or spaces
hold it for minutes. This one gives the same tokens. The lines of a ``{% liquid %}`` tag become ordinary tags here, for the
same reason. Tags and brackets are counted against `LiquidLimits` on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from liquid.exceptions import LiquidSyntaxError
from liquid.token import (
    TOKEN_COMMENT,
    TOKEN_CONTENT,
    TOKEN_DOC,
    TOKEN_EOF,
    TOKEN_EXPRESSION,
    TOKEN_OUTPUT,
    TOKEN_TAG,
    Token,
)

from innkeeper.macros.engine.errors import MacroLimitError, place_in
from innkeeper.macros.liquid.session import LiquidLimits

__all__ = ["Scanner"]

_OPEN: Final = re.compile(r"\{[{%]")
_NAME: Final = re.compile(r"#|\w+")
_ENDRAW: Final = re.compile(r"\{%-?\s*endraw\s*(?P<dash>-?)%\}")
_ENDDOC: Final = re.compile(r"\{%-?\s*enddoc\s*(?P<dash>-?)%\}")
_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'")
_VERBATIM: Final = {"raw": (_ENDRAW, TOKEN_CONTENT), "doc": (_ENDDOC, TOKEN_DOC)}


class Scanner:
    """One pass over one template. Iterate over `tokens` once."""

    def __init__(self, source: str, limits: LiquidLimits) -> None:
        self._source = source
        self._limits = limits
        self._tags = 0
        self._strip = False
        self._depth = 0
        self._comment_at = 0

    def tokens(self) -> Iterator[Token]:
        """The tokens. Raises `LiquidSyntaxError` and `MacroLimitError`."""
        source, position = self._source, 0
        while found := _OPEN.search(source, position):
            start = found.start()
            yield from self._content(position, start)
            position, tokens = self._output(start) if source[start + 1] == "{" else self._tag(start)
            yield from tokens
        yield from self._content(position, len(source))
        if self._depth:
            raise self._error("the comment is never closed", self._comment_at)

    def _content(self, start: int, end: int) -> Iterator[Token]:
        text = self._source[start:end]
        strip, self._strip = self._strip, False
        if self._depth:
            return
        if strip:
            text = text.lstrip()
        if self._source.startswith("-", end + 2):
            text = text.rstrip()
        if text:
            yield Token(TOKEN_CONTENT, text, start, self._source)

    def _output(self, start: int) -> tuple[int, list[Token]]:
        if self._depth:
            return start + 2, []
        end = self._source.find("}}", start + 2)
        if end < 0:
            raise self._error("expected '}}', found the end of the text", start)
        left, right = self._inner(start, end)
        expression = self._source[left:right]
        self._count(expression, left)
        whole = Token(TOKEN_OUTPUT, self._source[start : end + 2], start, self._source)
        return end + 2, [whole, Token(TOKEN_EXPRESSION, expression, left, self._source)]

    def _tag(self, start: int) -> tuple[int, list[Token]]:
        end = self._source.find("%}", start + 2)
        if end < 0:
            raise self._error("expected '%}', found the end of the text", start)
        left, right = self._inner(start, end)
        name = _NAME.match(self._source, left, right)
        if name is None and self._depth:
            return start + 2, []
        if name is None:
            raise self._error("a tag needs a name", start)
        if name.group() in _VERBATIM and name.end() == right:
            return self._verbatim(name.group(), start, end + 2)
        if name.group() == "liquid" and not self._depth:
            return end + 2, list(self._lines(name.end(), right))
        return end + 2, list(self._named(name.group(), name.start(), name.end(), right))

    def _verbatim(self, name: str, start: int, inside: int) -> tuple[int, list[Token]]:
        closer, kind = _VERBATIM[name]
        found = closer.search(self._source, inside)
        if found is None:
            raise self._error(f"the {name} block is never closed", start)
        self._strip = bool(found["dash"])
        text = self._source[inside : found.start()]
        tokens = [] if self._depth or not text else [Token(kind, text, inside, self._source)]
        return found.end(), tokens

    def _lines(self, start: int, end: int) -> Iterator[Token]:
        """The tags of a ``liquid`` block, one a line."""
        for line in re.finditer(r"[^\n]+", self._source[start:end]):
            left, right = self._stripped(start + line.start(), start + line.end())
            name = _NAME.match(self._source, left, right)
            while name is not None and name.group() == "liquid":
                self._count("", left)
                left, right = self._stripped(name.end(), right)
                name = _NAME.match(self._source, left, right)
            if name is not None:
                yield from self._named(name.group(), name.start(), name.end(), right)
            elif left < right:
                raise self._error("a line of a liquid block must start with a tag's name", left)

    def _named(self, name: str, start: int, after: int, end: int) -> Iterator[Token]:
        """A tag and its expression; within a comment only what ends it."""
        if self._depth and name not in ("comment", "endcomment"):
            return
        if name == "endcomment" and self._depth:
            self._depth -= 1
            if self._depth:
                return
            comment = self._source[self._comment_at : start]
            yield Token(TOKEN_COMMENT, comment, self._comment_at, self._source)
        if name == "comment":
            self._depth += 1
            if self._depth > 1:
                return
            self._comment_at = start
        yield Token(TOKEN_TAG, name, start, self._source)
        left, right = self._stripped(after, end)
        expression = self._source[left:right]
        self._count("" if name == "#" else expression, left)
        if expression:
            yield Token(TOKEN_EXPRESSION, expression, left, self._source)

    def _inner(self, start: int, end: int) -> tuple[int, int]:
        """The bounds of what is between delimiters, without dashes and spaces; remembers the closing dash."""
        left = start + 2 + self._source.startswith("-", start + 2, end)
        right = end
        self._strip = right > left and self._source[right - 1] == "-"
        return self._stripped(left, right - self._strip)

    def _stripped(self, left: int, right: int) -> tuple[int, int]:
        text = self._source[left:right]
        left += len(text) - len(text.lstrip())
        return left, left + len(text.strip())

    def _count(self, expression: str, index: int) -> None:
        self._tags += 1
        if self._tags > self._limits.tags:
            raise self._limit("the number of tags", "tags", self._tags, index)
        if "(" in expression or "[" in expression:
            bare = _QUOTED.sub("", expression)
            brackets = bare.count("(") + bare.count("[")
            if brackets > self._limits.brackets:
                raise self._limit("the number of brackets in an expression", "brackets", brackets, index)

    def _limit(self, what: str, name: str, found: int, index: int) -> MacroLimitError:
        where = place_in(self._source, index)
        return MacroLimitError(what, limit=name, allowed=getattr(self._limits, name), found=found, where=where)

    def _error(self, message: str, index: int) -> LiquidSyntaxError:
        token = Token(TOKEN_EOF, self._source[index : index + 2], index, self._source)
        return LiquidSyntaxError(message, token=token)
