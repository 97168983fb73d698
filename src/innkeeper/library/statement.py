"""Statement: the outline of an SQL text - what is code, what is string, name or comment - as far as a reader of it must know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from innkeeper.library.errors import QueryRefusedError

__all__ = ["Piece", "for_sqlite", "one_statement", "pieces"]

_PIECE: Final = re.compile(
    r"""
      (?P<escaped>\b[eE]'(?:[^'\\]|\\.|'')*+')
    | (?P<string>'(?:[^']|'')*+')
    | (?P<name>"(?:[^"]|"")*+")
    | (?P<dollar>\$(?P<tag>[A-Za-z_]\w*|)\$.*?\$(?P=tag)\$)
    | (?P<comment>--[^\n]*+)
    | (?P<opened>/\*)
    | (?P<loose>['"])
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_MARK: Final = re.compile(r"/\*|\*/")
_READS: Final = ("SELECT", "WITH", "VALUES", "EXPLAIN")
_WORD: Final = re.compile(r"\s*\(*\s*([A-Za-z]+)")
_NOW: Final = re.compile(r"\b(?:NOW\s*\(\s*\)|CURRENT_TIMESTAMP\b)", re.IGNORECASE)
_SHIFT: Final = re.compile(r"innkeeper_now\(\)\s*([-+])\s*INTERVAL\s*$", re.IGNORECASE)


class Piece(NamedTuple):
    """A stretch of a statement: ``code``, ``string``, ``name`` or ``comment``."""

    kind: str
    text: str


def pieces(text: str) -> Iterator[Piece]:
    """The stretches of a text in order; together they are the text. Raises `QueryRefusedError` for a quote left open."""
    position = 0
    while (found := _PIECE.search(text, position)) is not None:
        if found.start() > position:
            yield Piece("code", text[position : found.start()])
        if found.lastgroup == "loose":
            raise QueryRefusedError("a quote is left open in the statement")
        end = _comment_end(text, found.start()) if found["opened"] else found.end()
        yield Piece(_kind(found), text[found.start() : end])
        position = end
    if position < len(text):
        yield Piece("code", text[position:])


def _kind(found: re.Match[str]) -> str:
    if found["comment"] or found["opened"]:
        return "comment"
    return "name" if found["name"] else "string"


def _comment_end(text: str, start: int) -> int:
    """Where a comment that may hold others ends."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    raise QueryRefusedError("a comment is left open in the statement")


def one_statement(text: str) -> str:
    """The text without comments and without the semicolon at its end.

    Raises:
        QueryRefusedError: it is more than one statement, or none that reads.
    """
    bare = "".join(" " if piece.kind == "comment" else piece.text for piece in pieces(text)).strip()
    bare = bare.rstrip("; \t\r\n")
    if any(";" in piece.text for piece in pieces(bare) if piece.kind == "code"):
        raise QueryRefusedError("this is more than one statement")
    word = _WORD.match(bare)
    if word is None or word[1].upper() not in _READS:
        raise QueryRefusedError(f"{word[1].upper() if word else 'an empty text'} is no statement that reads")
    return bare


def for_sqlite(text: str) -> str:
    """A statement with PostgreSQL's ``NOW() - INTERVAL '24 hours'`` in words that SQLite knows, with our functions."""
    done = ""
    for piece in pieces(text):
        if piece.kind == "code":
            done += _NOW.sub("innkeeper_now()", piece.text)
        elif piece.kind == "string" and (shift := _SHIFT.search(done)) is not None:
            done = f"{done[: shift.start()]}innkeeper_shift('{shift[1]}', {piece.text})"
        else:
            done += piece.text
    return done
