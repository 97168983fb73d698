"""Reads Handlebars templates: `parse` gives a `BlockProgram` or raises an error that says where.

The language is that of handlebars.js 4.7 without partials and decorators, which need more than one template.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final, NoReturn

from innkeeper.macros.engine.errors import MacroSyntaxError, NamedLimits, where_in
from innkeeper.macros.handlebars.tree import (
    BlockProgram,
    BlockStatement,
    Content,
    Fragment,
    Literal,
    MustacheStatement,
    Path,
    Strip,
    SubExpression,
    Value,
    strip_blanks,
)
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache


class HandlebarsLimits(NamedLimits, frozen=True, kw_only=True):
    """The limits of one Handlebars template (`MacroLimitError`)."""

    PREFIX: ClassVar[str] = "HANDLEBARS_LIMITS."

    template_chars: int = 200_000
    """The template."""
    output_chars: int = 4 * 1024 * 1024
    """Characters of the output."""
    nesting: int = 64
    """Blocks and parentheses inside one another."""
    steps: int = 200_000
    """Pieces of text and tags rendered, those in loops each time."""
    cached: int = 64
    """Parsed templates in the cache."""


HANDLEBARS_LIMITS: Final = HandlebarsLimits()
"""The defaults."""

_TAGS: Final = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("raw", r"\{\{\{\{(?=[^/])"),
        ("comment", r"\{\{~?!--[\s\S]*?--~?\}\}"),
        ("broken", r"\{\{~?!--"),
        ("comment", r"\{\{~?![\s\S]*?\}\}"),
        ("fragment", r"\{\{~?#?>|\{\{~?#?\*"),
        ("block", r"\{\{~?#"),
        ("end", r"\{\{~?/"),
        ("else", r"\{\{~?\^\s*~?\}\}|\{\{~?\s*else\s*~?\}\}"),
        ("inverse", r"\{\{~?\^"),
        ("chain", r"\{\{~?\s*else(?=\s)"),
        ("triple", r"\{\{~?\{"),
        ("mustache", r"\{\{~?&?"),
    )
)
_NEXT_BRACES: Final = re.compile(r"\\{0,2}\{\{")
_AFTER_ID: Final = r"(?=[=~}\s/.)|\]])"
_AFTER_LITERAL: Final = r"(?=[~}\s)\]])"
_TOKEN: Final = re.compile(
    rf"""\s*(?:(?P<equals>=)|(?P<up>\.\.)|(?P<dot>\.{_AFTER_ID})|(?P<separator>[/.])|(?P<triple>\}}~?\}}\}})|(?P<close>~?\}}\}})
    |(?P<raw>\}}\}}\}}\}})|"(?P<double>(?:\\["]|[^"])*)"|'(?P<single>(?:\\[']|[^'])*)'|(?P<data>@)
    |(?P<word>(?:true|false|null|undefined){_AFTER_LITERAL})|(?P<number>-?[0-9]+(?:\.[0-9]+)?{_AFTER_LITERAL})
    |(?P<names>as\s+\|)|(?P<bar>\|)|(?P<left>\()|(?P<right>\))
    |(?P<id>[^\s!"#%-,./;->@\[-\^`{{-~]+{_AFTER_ID})|\[(?P<bracket>(?:\\\]|[^\]])*)\])""",
    re.VERBOSE,
)
_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None, "undefined": None}
_STARTS: Final = frozenset({"up", "dot", "id", "bracket", "data", "double", "single", "word", "number", "left"})


def parse(text: str) -> BlockProgram:
    """The template's tree, blanks around tags taken away. Raises `MacroSyntaxError`, or `MacroLimitError` (long, deep)."""
    if len(text) > HANDLEBARS_LIMITS.template_chars:
        raise HANDLEBARS_LIMITS.exceeded("template_chars", "template", len(text))
    charge("handlebars", text.count("{{") * _TAG_STEPS + len(text) * _CHAR_STEPS)
    return _PROGRAMS.get_or_make(text, lambda: _program(text), _NODE_BYTES * len(text))


_PROGRAMS: Final[BoundedCache[str, BlockProgram]] = BoundedCache(items=HANDLEBARS_LIMITS.cached, size=32 * 1024 * 1024)
_TAG_STEPS: Final = 150
"""The steps charged for parsing a tag."""
_CHAR_STEPS: Final = 3
"""The steps charged for parsing a character of a template, whether it was cached or not."""
_LONGEST_NUMBER: Final = 300
_NODE_BYTES: Final = 64
"""The bytes charged for a character of a parsed template: at worst all of it is tags."""


def _program(text: str) -> BlockProgram:
    program = _HandlebarsParser(text).whole()
    strip_blanks(program)
    return program


class _HandlebarsParser:
    """One pass over the text. ``at`` is the current offset."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise at an offset, or at the next character that is not blank."""
        ahead = len(self.text) - len(self.text[self.at :].lstrip())
        where = where_in(self.text, ahead if at is None else at)
        raise MacroSyntaxError(message, where=where, hint="write \\{{ for braces that are text")

    def enter(self) -> None:
        self.depth += 1
        if self.depth > HANDLEBARS_LIMITS.nesting:
            where = where_in(self.text, self.at)
            raise HANDLEBARS_LIMITS.exceeded("nesting", "blocks inside one another", where=where)

    def whole(self) -> BlockProgram:
        program, tag = self.program()
        if tag:
            self.fail("this tag belongs to no block")
        return program

    def program(self) -> tuple[BlockProgram, str]:
        """Parse up to a tag that ends or turns a block, and return that tag's kind, empty at the end of the text."""
        body = BlockProgram()
        while self.at < len(self.text):
            self.content(body)
            if self.at >= len(self.text):
                break
            kind, opened = self.tag()
            if kind in ("end", "else", "chain"):
                return body, kind
            body.body.append(self.node(kind, opened))
        return body, ""

    def content(self, body: BlockProgram) -> None:
        """Text up to the next tag; a backslash in front of braces makes them text."""
        while self.at < len(self.text):
            start = self.at
            opening = self.text.find("{{", start)
            self.at = len(self.text) if opening < 0 else opening
            text = self.text[start : self.at]
            escaped = opening >= 0 and text.endswith("\\") and not text.endswith("\\\\")
            _add(body, text[:-1] if opening >= 0 and text.endswith("\\") else text)
            if not escaped:
                return
            following = _NEXT_BRACES.search(self.text, opening + 2)
            self.at = following.start() if following else len(self.text)
            _add(body, self.text[opening : self.at])
            if self.text.startswith("{{", self.at):
                return

    def tag(self) -> tuple[str, str]:
        """The kind of the tag that begins here, and its opening (all of a comment or an ``{{else}}``)."""
        tries = ((kind, pattern.match(self.text, self.at)) for kind, pattern in _TAGS)
        return next((kind, match[0]) for kind, match in tries if match)

    def node(self, kind: str, opened: str) -> MustacheStatement | BlockStatement | Fragment:
        start, strip_left = self.at, opened.startswith("{{~")
        self.at += len(opened)
        if kind == "broken":
            self.fail("this comment has no end", start)
        if kind == "comment":
            return MustacheStatement(None, Strip(strip_left, opened.endswith("~}}")))
        if kind == "raw":
            return self.raw(start)
        if kind in ("block", "inverse"):
            return self.block(kind, start, opened)
        call = self.call(start)
        right = self.close("triple" if kind == "triple" else "close")
        if kind == "fragment":
            return Fragment(".".join(call.path.parts), start, Strip(strip_left, right))
        return MustacheStatement(call, Strip(strip_left, right))

    def block(self, kind: str, start: int, tag_text: str) -> BlockStatement:
        """Parse a block up to its end; an inverted one (``{{^name}}``) has its content where others have their ``{{else}}``."""
        self.enter()
        call = self.call(start)
        opened = Strip(tag_text.startswith("{{~"), self.close("close"))
        first, tag = self.program()
        second, turned = self.otherwise(tag, start)
        closed = self.end(call, start)
        self.depth -= 1
        # the blocks of a chain of {{else if}} share this end, and with it its strip
        chain = second
        while chain is not None and chain.chained and isinstance(block := chain.body[0], BlockStatement):
            block.closed = closed
            chain = block.inverse
        if kind == "inverse":
            return BlockStatement(call, second, first, opened, turned, closed)
        return BlockStatement(call, first, second, opened, turned, closed)

    def otherwise(self, tag: str, start: int) -> tuple[BlockProgram | None, Strip]:
        """The ``{{else}}`` part and its tag's strip; stands at the block's end afterwards."""
        if tag == "else":
            token = self.tag()[1]
            self.at += len(token)
            program, tag = self.program()
            if tag != "end":
                self.fail("a block has one {{else}}, then its end", start if not tag else None)
            return program, Strip(token.startswith("{{~"), token.endswith("~}}"))
        if tag == "chain":
            return self.chain(start)
        if tag != "end":
            self.fail("this block has no end", start)
        return None, Strip()

    def chain(self, start: int) -> tuple[BlockProgram, Strip]:
        """``{{else if x}}``: a block of its own in the place of the ``{{else}}``, with the outer block's end."""
        self.enter()
        token = self.tag()[1]
        at = self.at
        self.at += len(token)
        call = self.call(at)
        strip = Strip(token.startswith("{{~"), self.close("close"))
        first, tag = self.program()
        second, turned = self.otherwise(tag, start)
        self.depth -= 1
        return BlockProgram([BlockStatement(call, first, second, strip, turned)], chained=True), strip

    def end(self, call: SubExpression, start: int) -> Strip:
        """Read ``{{/name}}``, which must name the block."""
        tag = self.tag()[1]
        at = self.at
        self.at += len(tag)
        name = self.value()
        right = self.close("close")
        if not isinstance(name, Path | Literal) or _as_path(name) != call.path:
            opened = ".".join(call.path.parts)
            self.fail(f"the block {opened!r} is closed by another name", max(at, start))
        return Strip(tag.startswith("{{~"), right)

    def raw(self, start: int) -> BlockStatement:
        """``{{{{name}}}} text {{{{/name}}}}``: what is between is text."""
        call = self.call(start)
        self.close("raw")
        end = "{{{{/" + ".".join(call.path.parts) + "}}}}"
        stop = self.text.find(end, self.at)
        if stop < 0:
            self.fail("this raw block has no end", start)
        inner = self.text[self.at : stop]
        self.at = stop + len(end)
        return BlockStatement(call, BlockProgram([Content(inner, inner)] if inner else []), None)

    def token(self) -> tuple[str, str]:
        """The next token's kind and text, without moving."""
        match = _TOKEN.match(self.text, self.at)
        if match is None or match.lastgroup is None:
            self.fail("this cannot stand in a tag")
        return match.lastgroup, match[match.lastgroup]

    def skip(self) -> None:
        match = _TOKEN.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def close(self, kind: str) -> bool:
        """Read the closing braces; whether they eat the blanks behind them."""
        if kind == "raw" and self.text.startswith("}}}}", self.at):
            self.at += 4
            return False
        token, text = self.token()
        if token != kind:
            self.fail(f"expected the tag's end, found {text!r}")
        self.skip()
        return "~" in text

    def call(self, at: int) -> SubExpression:
        head = self.value()
        if isinstance(head, SubExpression):
            self.fail("a tag begins with a name", at)
        params: list[Value] = []
        named: list[tuple[str, Value]] = []
        while (kind := self.token()[0]) in _STARTS:
            key = self.key() if kind in ("id", "bracket") else None
            if key is not None:
                named.append((key, self.value()))
            elif named:
                self.fail("an argument without a name stands before those with names")
            else:
                params.append(self.value())
        return SubExpression(_as_path(head), tuple(params), tuple(named), self.names(), at)

    def key(self) -> str | None:
        """``name=``, read, or ``None`` where an argument has no name."""
        start = self.at
        name = self.token()[1]
        self.skip()
        if self.token()[0] == "equals":
            self.skip()
            return name
        self.at = start
        return None

    def names(self) -> tuple[str, ...]:
        if self.token()[0] != "names":
            return ()
        self.skip()
        names = []
        while self.token()[0] == "id":
            names.append(self.token()[1])
            self.skip()
        if self.token()[0] != "bar" or not names:
            self.fail("names of block arguments stand between bars")
        self.skip()
        return tuple(names)

    def value(self) -> Value:
        kind, text = self.token()
        if kind == "left":
            return self.inner()
        if kind in ("double", "single"):
            self.skip()
            quote = '"' if kind == "double" else "'"
            return Literal(text.replace("\\" + quote, quote), text)
        if kind in ("word", "number"):
            self.skip()
            if len(text) > _LONGEST_NUMBER:
                self.fail("this number has too many digits")
            return Literal(_WORDS[text] if kind == "word" else float(text) if "." in text else int(text), text)
        return self.path()

    def inner(self) -> SubExpression:
        self.enter()
        at = self.at
        self.skip()
        call = self.call(at)
        if self.token()[0] != "right":
            self.fail("expected )")
        self.skip()
        self.depth -= 1
        return call

    def path(self) -> Path:
        data = self.token()[0] == "data"
        if data:
            self.skip()
        parts: list[str] = []
        up, scoped, first = 0, False, True
        while True:
            kind, text = self.token()
            if kind not in ("up", "dot", "id", "bracket"):
                self.fail(f"expected a name, found {text!r}")
            here = kind in ("up", "dot") or (kind == "id" and text == "this")
            if here and parts:
                self.fail(f"{text} cannot stand inside a path")
            up += kind == "up"
            scoped = scoped or (first and here and kind != "up")
            if not here:
                parts.append(text)
            self.skip()
            if self.token()[0] != "separator":
                return Path(tuple(parts), up, data, scoped)
            self.skip()
            first = False


def _add(body: BlockProgram, text: str) -> None:
    if text:
        body.body.append(Content(text, text))


def _as_path(head: Path | Literal) -> Path:
    """A literal in the place of a name is that name."""
    return head if isinstance(head, Path) else Path((head.name,))
