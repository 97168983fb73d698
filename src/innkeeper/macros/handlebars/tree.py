"""The tree of a Handlebars template: content, expressions, blocks, and the blanks around its tags.

``~`` eats all blanks on its side; a block tag or comment alone on its line takes the line with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Path:
    """A name such as ``../card.name``: ``up`` levels, then ``parts``. ``scoped`` starts at ``this``, ``data`` at ``@``."""

    parts: tuple[str, ...]
    up: int = 0
    data: bool = False
    scoped: bool = False

    @property
    def simple(self) -> bool:
        """Whether it is one bare name, which may as well be a helper's."""
        return len(self.parts) == 1 and not (self.up or self.data or self.scoped)


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, number, truth value or nothing. ``name`` is how it is written."""

    value: Any
    name: str = ""


@dataclass(frozen=True, slots=True)
class SubExpression:
    """A name with its arguments; without any it may be a value. ``at`` is its place in the template."""

    path: Path
    params: tuple[Value, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()
    names: tuple[str, ...] = ()
    """Names that a block gives to what it passes in (``as |value key|``)."""
    at: int = 0

    @property
    def plain(self) -> bool:
        """Whether it has no arguments."""
        return not (self.params or self.named)


Value: TypeAlias = Path | Literal | SubExpression


@dataclass(frozen=True, slots=True)
class Strip:
    """Whether a tag eats the blanks before (``{{~``) and behind it (``~}}``)."""

    left: bool = False
    right: bool = False


@dataclass(slots=True)
class Content:
    """Text. ``value`` is the rest of ``original`` after tags stripped blanks beside them."""

    original: str
    value: str = ""
    cut_left: bool = False
    cut_right: bool = False


@dataclass(slots=True)
class MustacheStatement:
    """An expression to print; a comment when ``call`` is ``None``."""

    call: SubExpression | None
    strip: Strip = Strip()


@dataclass(slots=True)
class Fragment:
    """A tag that would need another template (a partial, a decorator): it cannot be rendered."""

    name: str
    at: int
    strip: Strip = Strip()


@dataclass(slots=True)
class BlockProgram:
    """The statements between two tags. ``chained`` marks an ``{{else if}}``, which holds one block."""

    body: list[Node] = field(default_factory=list)
    chained: bool = False


@dataclass(slots=True)
class BlockStatement:
    """``{{#call}} program {{else}} inverse {{/call}}``. The strips are those of its tags."""

    call: SubExpression
    program: BlockProgram | None
    inverse: BlockProgram | None
    opened: Strip = Strip()
    turned: Strip = Strip()
    closed: Strip = Strip()


Node: TypeAlias = Content | MustacheStatement | BlockStatement | Fragment


_ENDS_LINE: Final = re.compile(r"\r?\n[^\S\n]*\Z")
_ENDS_LINE_OR_START: Final = re.compile(r"(?:\A|\r?\n)[^\S\n]*\Z")
_STARTS_LINE: Final = re.compile(r"[^\S\n]*\n")
_STARTS_LINE_OR_END: Final = re.compile(r"[^\S\n]*(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class _LineTag:
    """How a tag meets its line: the strip at its outer ends, and whether its inner ends leave the line empty."""

    strip: Strip
    opens: bool = False
    closes: bool = False
    line: bool = False


def strip_blanks(program: BlockProgram) -> None:
    """Take the blanks away from the contents of a whole template."""
    _program(program, root=True)


def _program(program: BlockProgram, *, root: bool = False) -> None:
    body = program.body
    for index, node in enumerate(body):
        tag = _tag(node)
        if tag is None:
            continue
        before, after = _line_ends(body, index, root=root), _line_starts(body, index, root=root)
        if tag.strip.right:
            _cut_start(body, index + 1, every=True)
        if tag.strip.left:
            _cut_end(body, index - 1, every=True)
        if tag.line and before and after:
            _cut_start(body, index + 1)
            _cut_end(body, index - 1)
        if isinstance(node, BlockStatement):
            _lines(body, index, node, opens=tag.opens and before, closes=tag.closes and after)


def _lines(body: list[Node], index: int, block: BlockStatement, *, opens: bool, closes: bool) -> None:
    first, last = _first(block), block.inverse or block.program
    if opens:
        _cut_start(first.body, 0)
        _cut_end(body, index - 1)
    if closes and last is not None:
        _cut_start(body, index + 1)
        _cut_end(last.body, len(last.body) - 1)


def _first(block: BlockStatement) -> BlockProgram:
    return block.program or block.inverse or BlockProgram()


def _tag(node: Node) -> _LineTag | None:
    if isinstance(node, Content):
        return None
    if isinstance(node, BlockStatement):
        return _block(node)
    return _LineTag(node.strip, line=isinstance(node, Fragment) or node.call is None)


def _block(block: BlockStatement) -> _LineTag:
    for part in (block.program, block.inverse):
        if part is not None:
            _program(part)
    first = _first(block)
    inverse = block.inverse if block.program is not None else None
    begin, end = _chain(inverse)
    tag = _LineTag(
        Strip(block.opened.left, block.closed.right),
        opens=_line_starts(first.body, -1),
        closes=_line_ends((begin or first).body, len((begin or first).body)),
    )
    if block.opened.right:
        _cut_start(first.body, 0, every=True)
    if begin is not None:
        _between(first, begin, block.turned)
    if block.closed.left:
        closing = end or first
        _cut_end(closing.body, len(closing.body) - 1, every=True)
    return tag


def _between(first: BlockProgram, second: BlockProgram, strip: Strip) -> None:
    """Around an ``{{else}}``."""
    if strip.left:
        _cut_end(first.body, len(first.body) - 1, every=True)
    if strip.right:
        _cut_start(second.body, 0, every=True)
    if _line_ends(first.body, len(first.body)) and _line_starts(second.body, -1):
        _cut_end(first.body, len(first.body) - 1)
        _cut_start(second.body, 0)


def _chain(inverse: BlockProgram | None) -> tuple[BlockProgram | None, BlockProgram | None]:
    """The first and the last program of an ``{{else}}``, which may be a chain of ``{{else if}}``."""
    begin = end = inverse
    if inverse is not None and inverse.chained:
        begin = _first_program(inverse)
        while end is not None and end.chained and end.body:
            block = end.body[-1]
            end = (block.inverse or block.program) if isinstance(block, BlockStatement) else None
    return begin, end


def _first_program(chain: BlockProgram) -> BlockProgram | None:
    block = chain.body[0] if chain.body else None
    return block.program if isinstance(block, BlockStatement) else None


def _line_ends(body: list[Node], index: int, *, root: bool = False) -> bool:
    """Whether the text before ``place`` ends in an empty line."""
    if index == 0:
        return root
    before = body[index - 1]
    if not isinstance(before, Content):
        return False
    return bool((_ENDS_LINE if index > 1 or not root else _ENDS_LINE_OR_START).search(before.original))


def _line_starts(body: list[Node], index: int, *, root: bool = False) -> bool:
    """Whether the text after ``place`` begins with an empty line."""
    if index + 1 >= len(body):
        return root
    after = body[index + 1]
    if not isinstance(after, Content):
        return False
    more = index + 2 < len(body)
    return bool((_STARTS_LINE if more or not root else _STARTS_LINE_OR_END).match(after.original))


_LINE_HEAD: Final = re.compile(r"[ \t]*\r?\n?")


def _cut_start(body: list[Node], index: int, *, every: bool = False) -> None:
    node = body[index] if 0 <= index < len(body) else None
    if not isinstance(node, Content) or (node.cut_left and not every):
        return
    stripped = node.value.lstrip() if every else _LINE_HEAD.sub("", node.value, count=1)
    node.cut_left, node.value = stripped != node.value, stripped


def _cut_end(body: list[Node], index: int, *, every: bool = False) -> None:
    node = body[index] if 0 <= index < len(body) else None
    if not isinstance(node, Content) or (node.cut_right and not every):
        return
    stripped = node.value.rstrip() if every else node.value.rstrip(" \t")
    node.cut_right, node.value = stripped != node.value, stripped
