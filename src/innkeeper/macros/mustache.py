r"""Mustache-style templates, read into a tree: names to fill in, conditions, partials and blocks; no code.

============== ==================================================================================================
``{{name}}``   the value, as it is; ``{{{name}}}`` and ``{{&name}}`` are the same, since nothing is escaped
``{{#name}}``  what follows, up to ``{{/name}}``, where the value is not empty
``{{^name}}``  likewise, where it is empty
``{{!…}}``     nothing: a note to oneself
``{{>name}}``  another template, which the version pins
``{{$name}}``  a block, up to ``{{/name}}``, which a template that extends this one may replace
``\{{``        two braces
============== ==================================================================================================

A note, or an end of a section or block, alone on its line takes the line with it. Sections do not repeat and
do not change what names mean, and delimiters cannot be set: what Mustache has of these is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NoReturn

from innkeeper.macros.engine.errors import MacroLimitError, MacroSyntaxError, where_in

MAX_TEMPLATE_CHARS: Final = 200_000
"""One template's text, and a text with its partials in it (`MacroLimitError`)."""

MAX_TAGS: Final = 10_000
"""Tags in one text with its partials (`MacroLimitError`)."""

MAX_SECTION_DEPTH: Final = 64
"""Sections and blocks inside one another (`MacroLimitError`)."""


@dataclass(frozen=True, slots=True)
class VariableTag:
    """A name to fill in, at ``index`` in its text."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class PartialTag:
    """A place for another template."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Section:
    """Text that depends on a value."""

    name: str
    negated: bool
    nodes: tuple[Node, ...]
    index: int


@dataclass(frozen=True, slots=True)
class BlockTag:
    """Text that a template which extends this one may replace."""

    name: str
    nodes: tuple[Node, ...]
    index: int


@dataclass(frozen=True, slots=True)
class Included:
    """The text of another template that was included by ``name`` and ``version``. Never parsed."""

    name: str
    version: int
    nodes: tuple[Node, ...]


Node = str | VariableTag | PartialTag | Section | BlockTag | Included

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_PART_NAME: Final = re.compile(r"[^\s{}<>]+")
_REST_OF_LINE: Final = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_KINDS: Final = frozenset("#^$/!>&{=")
_OPENERS: Final = frozenset("#^$")
_ALONE: Final = frozenset("#^$/!")
"""Tags that take their line with them where nothing else is on it."""


@dataclass(frozen=True, slots=True)
class _Tag:
    kind: str
    name: str
    start: int
    end: int


@dataclass(slots=True)
class _Open:
    """A section or block whose end was not seen yet; the text as a whole has no tag."""

    tag: _Tag | None
    nodes: list[Node] = field(default_factory=list)


def check_size(text: str, asset: str | None = None) -> None:
    """Raise `MacroLimitError` for a text that is too long to be a template."""
    if len(text) > MAX_TEMPLATE_CHARS:
        raise MacroLimitError(
            f"the template {asset}" if asset else "the template",
            limit="MAX_TEMPLATE_CHARS",
            allowed=MAX_TEMPLATE_CHARS,
            found=len(text),
        )


def parse(text: str, *, asset: str | None = None) -> tuple[Node, ...]:
    """The tree of a template. ``asset`` is its name, for errors.

    Raises:
        MacroSyntaxError: a tag that is not closed, closes nothing, or has no proper name; says where.
        MacroLimitError: too long, too many tags, or too deep.
    """
    check_size(text, asset)
    stack, position = [_Open(None)], 0
    for count, tag in enumerate(_tags(text, asset)):
        if count >= MAX_TAGS:
            raise MacroLimitError("the tags of a template", limit="MAX_TAGS", allowed=MAX_TAGS)
        start, end = _with_line(text, tag) if tag.kind in _ALONE else (tag.start, tag.end)
        _put_text(stack[-1], text[position : max(start, position)])
        _put_tag(stack, tag, text, asset)
        position = end
    _put_text(stack[-1], text[position:])
    if stack[-1].tag is not None:
        opened = stack[-1].tag
        _fail(f"{{{{{opened.kind}{opened.name}}}}} is never closed", text, opened.start, asset)
    return tuple(stack[0].nodes)


def _put_text(into: _Open, text: str) -> None:
    if text:
        into.nodes.append(text)


def _put_tag(stack: list[_Open], tag: _Tag, text: str, asset: str | None) -> None:
    """Add one tag to the innermost open section, open a new one, or close it."""
    if tag.kind in _OPENERS:
        if len(stack) > MAX_SECTION_DEPTH:
            raise MacroLimitError("the nesting of a template", limit="MAX_SECTION_DEPTH", allowed=MAX_SECTION_DEPTH)
        stack.append(_Open(tag))
    elif tag.kind == "/":
        opened = stack[-1].tag
        if opened is None or opened.name != tag.name:
            due = "" if opened is None else f"; {{{{/{opened.name}}}}} is due"
            _fail(f"{{{{/{tag.name}}}}} closes nothing{due}", text, tag.start, asset)
        closed = stack.pop()
        nodes = tuple(closed.nodes)
        stack[-1].nodes.append(
            BlockTag(opened.name, nodes, opened.start)
            if opened.kind == "$"
            else Section(opened.name, opened.kind == "^", nodes, opened.start)
        )
    elif tag.kind == ">":
        stack[-1].nodes.append(PartialTag(tag.name, tag.start))
    elif tag.kind == "\\":
        stack[-1].nodes.append("{{")
    elif tag.kind != "!":
        stack[-1].nodes.append(VariableTag(tag.name, tag.start))


def _tags(text: str, asset: str | None) -> Iterator[_Tag]:
    position = 0
    while (start := text.find("{{", position)) >= 0:
        if start and text[start - 1] == "\\":
            position = start + 2
            yield _Tag("\\", "", start - 1, position)
            continue
        tag = _tag(text, start, asset)
        yield tag
        position = tag.end


def _tag(text: str, start: int, asset: str | None) -> _Tag:
    kind = text[start + 2 : start + 3]
    if kind not in _KINDS:
        kind = ""
    ending = "}}}" if kind == "{" else "}}"
    inner = start + 2 + len(kind)
    end = text.find(ending, inner)
    if end < 0:
        _fail("a tag that is never closed", text, start, asset)
    if kind == "=":
        _fail("delimiters cannot be changed", text, start, asset)
    name = "" if kind == "!" else _name(text, kind, start, (inner, end), asset)
    return _Tag(kind, name, start, end + len(ending))


def _name(text: str, kind: str, start: int, inner: tuple[int, int], asset: str | None) -> str:
    name = text[inner[0] : inner[1]].strip()
    pattern, what = (_PART_NAME, "the name of a template") if kind == ">" else (_NAME, "a variable's name")
    if not pattern.fullmatch(name):
        shown = name if len(name) < 40 else name[:40] + "…"  # noqa: PLR2004 - what a line shows
        _fail(f"{shown!r} is not {what}", text, start, asset)
    return name


def _with_line(text: str, tag: _Tag) -> tuple[int, int]:
    """The tag with the line that it stands on alone, or just the tag."""
    start = tag.start
    while start and text[start - 1] in " \t":
        start -= 1
    after = _REST_OF_LINE.match(text, tag.end)
    if after is None or (start and text[start - 1] != "\n"):
        return tag.start, tag.end
    return start, after.end()


def _fail(message: str, text: str, index: int, asset: str | None) -> NoReturn:
    raise MacroSyntaxError(message, where=where_in(text, index)).at(asset=asset)


def uses(nodes: tuple[Node, ...]) -> Iterator[VariableTag | Section]:
    """Every place of a tree where a variable is used, in the order of the text; not those of its partials."""
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (VariableTag, Section)):
            yield node
        if isinstance(node, (Section, BlockTag, Included)):
            waiting.extend(reversed(node.nodes))
