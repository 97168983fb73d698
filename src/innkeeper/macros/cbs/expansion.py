"""Expansion of CBS: one pass from left to right with a stack of open tags and blocks; inner ones finish first.

The text of an evaluated tag is never read again. Two rules of RisuAI read text once more: ``#each`` puts its result back in front
of what is still to be read, and functions and fields (``{{call::…}}``, ``{{description}}``) are expanded in a pass of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

import msgspec

from innkeeper.macros.cbs.blocks import OpenBlock, block_of, legacy_block
from innkeeper.macros.cbs.calculation import calculate
from innkeeper.macros.cbs.functions import application, chat, display, draws, lists, moments, numbers, texts
from innkeeper.macros.cbs.run import (
    MAX_CALLS,
    MAX_CHARACTERS,
    MAX_OPEN,
    UNDEFINED,
    CbsCall,
    CbsRun,
    Function,
    Result,
    ThrownError,
    exceeded,
)
from innkeeper.macros.cbs.scope import CbsScope
from innkeeper.prompt.text import shorten
from innkeeper.text.javascript.substitution import replaced
from innkeeper.text.javascript.values import is_space, number_text, strip_end, text_of
from innkeeper.text.jsreplace import joined

TOO_DEEP: Final = "ERROR: Call stack limit reached"
_MARK: Final = re.compile(r"\{[{#]|\}\}|#\}")
_ANGLED: Final = re.compile(r"<(user|char|bot)>", re.IGNORECASE | re.ASCII)
_WORK_A_TAG: Final = 100
_SEPARATORS: Final = str.maketrans("", "", " _-")

FUNCTIONS: Final[Mapping[str, Function]] = {
    **application.FUNCTIONS,
    **chat.FUNCTIONS,
    **display.FUNCTIONS,
    **draws.FUNCTIONS,
    **lists.FUNCTIONS,
    **moments.FUNCTIONS,
    **numbers.FUNCTIONS,
    **texts.FUNCTIONS,
}
"""Each function by each of its names, in small letters without blanks, ``_`` and ``-``."""

LEFT_AS_TEXT: Final = frozenset({
    "asset", "image", "img", "emotion", "audio", "bg", "bgm", "video", "videoimg", "path", "raw", "inlay", "inlayed", "slot",
    "inlayeddata", "source", "position", "arg", "call", "original", "assetprompt", "bkspc", "erase",
})  # fmt: skip
"""Tags that other parts of RisuAI read, and those that cut back."""


class Expanded(msgspec.Struct, frozen=True):
    """An expanded text; the chat variables it wrote (``None``: removed); what is to be reported about it.

    ``work`` is what it took: the characters that tags produced, and some for each tag.
    """

    text: str
    variables: Mapping[str, str | None]
    notes: tuple[str, ...] = ()
    work: int = 0


def expand(text: str, scope: CbsScope) -> Expanded:
    """Expand the tags and blocks of a text. Raises `MacroLimitError` where it goes beyond `innkeeper.macros.cbs.run`.

    >>> expand("{{char}} has {{calc::2*3}}", CbsScope(char="Sable")).text
    'Sable has 6'
    """
    if "{" not in text and "<" not in text and len(text) <= MAX_CHARACTERS:
        return Expanded(joined([text]), {})
    run = CbsRun(scope, _parsed)
    result = joined([_parsed(run, text)])
    changes = {joined([name]): value if value is None else joined([value]) for name, value in run.changes.items()}
    return Expanded(result, changes, tuple(dict.fromkeys(run.notes)), run.made + run.tags * _WORK_A_TAG)


def _parsed(run: CbsRun, text: str) -> str:
    """Expand a text inside a run, with temporary variables of its own."""
    if len(text) > MAX_CHARACTERS:
        raise exceeded("the length of a text, in characters,", "MAX_CHARACTERS", MAX_CHARACTERS, len(text))
    if run.depth >= MAX_CALLS:
        run.notes.append(f"fields and functions are inside one another more than {MAX_CALLS} times")
        return TOO_DEEP
    if "<" in text:
        text = _ANGLED.sub(lambda match: f"{{{{{match[1].lower()}}}}}", text)
    if "{" not in text:
        return text
    outer = run.temporary, run.answer
    run.temporary, run.answer, run.depth = {}, None, run.depth + 1
    try:
        return _Parse(run).text(text)
    finally:
        run.depth -= 1
        run.temporary, run.answer = outer


def name_and_arguments(tag: str) -> tuple[str, list[str]]:
    """The name of a tag, in small letters without separators, and its arguments."""
    colon = tag.find(":")
    name, *arguments = tag.split("::" if tag.startswith("::", colon) else ":") if colon >= 0 else [tag]
    return name.lower().translate(_SEPARATORS), arguments


class _BufferKind(Enum):
    """What a buffer is of; the value is printed before it where it is still open at the end."""

    TEXT = ""
    TAG = "{{"
    BLOCK = "<"
    RAW = "< "
    """A block inside one that is not evaluated."""


class _Buffer:
    """The text of the pass, of an open tag or of an open block, in parts."""

    __slots__ = ("block", "kind", "parts")

    def __init__(self, kind: _BufferKind, block: OpenBlock | None = None) -> None:
        self.kind, self.block = kind, block
        self.parts: list[str] = []


class _Parse:
    """One pass over a text."""

    def __init__(self, run: CbsRun) -> None:
        self._run = run
        self._stack = [_Buffer(_BufferKind.TEXT)]
        self._pure = 0
        self._inserted = ""

    def text(self, text: str) -> str:
        """Return the text with its tags evaluated."""
        chunks, carry = [(text, 0)], ""
        while chunks and self._run.answer is None:
            chunk, start = chunks.pop()
            if carry and start < len(chunk):
                start += self._cross(carry, chunk[start])
                carry = ""
            else:
                start, carry = self._read(chunk, start, carry)
            if start < len(chunk):
                chunks.append((chunk, start))
            if self._inserted:
                chunks.append((self._inserted, 0))
                self._inserted = ""
        if self._run.answer is not None:
            return self._run.answer
        self._add(carry)
        return "".join(buffer.kind.value.strip() + "".join(buffer.parts) for buffer in self._stack)

    def _cross(self, carry: str, char: str) -> int:
        """Read a character that may have come together with the one before it; return how many were read."""
        if _MARK.fullmatch(carry + char):
            self._apply(carry + char)
            return 1
        self._add(carry)
        return 0

    def _read(self, chunk: str, start: int, carry: str) -> tuple[int, str]:
        """Read until something is inserted or the chunk ends; return the next place, and a last half of a mark."""
        for match in _MARK.finditer(chunk, start):
            self._add(chunk[start : match.start()])
            start = match.end()
            self._apply(match[0])
            if self._inserted or self._run.answer is not None:
                return start, ""
        if start == len(chunk):
            return start, carry
        half = chunk[-1] if chunk[-1] in "{#}" else ""
        self._add(chunk[start : len(chunk) - len(half)])
        return len(chunk), half

    def _add(self, text: str) -> None:
        if text:
            self._stack[-1].parts.append(text)

    def _push(self, kind: _BufferKind, block: OpenBlock | None = None) -> None:
        if len(self._stack) > MAX_OPEN:
            raise exceeded("the number of tags and blocks open at once", "MAX_OPEN", MAX_OPEN)
        self._stack.append(_Buffer(kind, block))

    def _pop(self) -> str:
        return "".join(self._stack.pop().parts)

    def _apply(self, mark: str) -> None:
        if mark[0] == "{":
            self._push(_BufferKind.TAG)
        elif self._stack[-1].kind is not _BufferKind.TAG:
            self._add(mark)
        elif mark == "}}":
            self._close_tag(self._pop())
        else:
            tag = self._pop()
            result = None if self._pure else legacy_block(tag)
            self._add(f"{{#{tag}#}}" if result is None else result)

    def _close_tag(self, tag: str) -> None:
        self._run.count_tag(len(tag))
        top = self._stack[-1].kind
        if tag.startswith(("#", ":")):
            self._open_block(tag)
        elif top in (_BufferKind.BLOCK, _BufferKind.RAW) and tag.startswith("/") and not tag.startswith("//"):
            if top is _BufferKind.BLOCK:
                self._close_block()
            else:
                self._add(f"{self._pop()}{{{{{tag}}}}}")
        else:
            self._add(self._evaluated(tag))

    def _open_block(self, tag: str) -> None:
        block = None if self._pure else block_of(tag, self._run)
        if block is not None:
            self._push(_BufferKind.BLOCK, block)
            self._pure += block.is_pure
            return
        self._add(f"{{{{{tag}}}}}")
        if self._pure and not (tag[0] == ":" and self._run.scope.compat.else_in_pure):
            self._push(_BufferKind.RAW)

    def _close_block(self) -> None:
        block = self._stack[-1].block
        assert block is not None  # noqa: S101 - a buffer of this kind has one
        result = block.finish(self._pop())
        self._pure -= block.is_pure
        if block.inserts:
            self._inserted = result
        else:
            self._add(result)

    def _evaluated(self, tag: str) -> str:
        literal = f"{{{{{tag}}}}}"
        if self._pure:
            return literal
        try:
            result = self._result(tag)
        except (ThrownError, RecursionError):
            return literal
        if not isinstance(result, str):
            result = self._odd(result) or literal
        self._run.spend(len(result))
        return result

    def _result(self, tag: str) -> Result:
        run = self._run
        if tag.startswith("? "):
            return number_text(calculate(tag[2:], run.variable, run.scope.global_variable))
        name, args = name_and_arguments(tag)
        if tag.startswith("call::") and args[0] in run.functions:
            body = run.functions[args[0]]
            for index, value in enumerate(args):
                body = replaced(body, f"{{{{arg::{index}}}}}", value, run.spend)
            return run.parse(run, body)
        if name in _ERASERS and run.scope.compat.erasers:
            _ERASERS[name](self._stack[-1].parts)
            return ""
        function = FUNCTIONS.get(name)
        if function is None:
            if name not in LEFT_AS_TEXT or name in _ERASERS:
                run.notes.append(f"there is no macro {{{{{shorten(tag, 40)}}}}}: it stays as it is")
            return None
        return function(CbsCall(run, tag, args))

    def _odd(self, result: Result) -> str:
        """A result that is no text: true ones print ``undefined`` and wipe the temporary variables."""
        if not isinstance(result, (list, dict)) and (not result or result != result):  # noqa: PLR0124 - NaN
            return ""
        self._run.temporary = None
        return text_of(result["text"]) if isinstance(result, dict) and "text" in result else UNDEFINED


def _cut_back(parts: list[str], marks: str, length: int) -> None:
    """Cut a buffer back to its last mark, of which ``length`` characters stay. Long parts are cut in pieces first."""
    while parts:
        if len(parts[-1]) > _PIECE:
            parts[-1:] = [parts[-1][:-_PIECE], parts[-1][-_PIECE:]]
        index = max(map(parts[-1].rfind, marks))
        if index >= 0:
            parts[-1] = parts[-1][: index + length]
            return
        parts.pop()


def _cut_word(parts: list[str]) -> None:
    """Cut the last word of a buffer, and the blank before it."""
    while parts and is_space(parts[-1][-_PIECE:]):
        parts[-1] = parts[-1][:-_PIECE]
        if not parts[-1]:
            parts.pop()
    if parts:
        parts[-1:] = [parts[-1][:-_PIECE], strip_end(parts[-1][-_PIECE:])]
    _cut_back(parts, " \n", 0)


_PIECE: Final = 4096
_ERASERS: Final[Mapping[str, Callable[[list[str]], None]]] = {
    "bkspc": _cut_word,
    "erase": lambda parts: _cut_back(parts, ".!?\n", 1),
}
"""The functions that cut back what was written before them."""
