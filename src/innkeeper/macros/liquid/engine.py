"""The Liquid engine: python-liquid with everything bounded, and without the wall clock, files and the machine's time zone.

python-liquid has limits of its own, but filters, ranges and its scanner pass them by (see `LiquidLimits`). Here every
variable, filter, output and loop is charged to the session's budget, values are measured, and the scanner is ours. Imported
only when a template is rendered: python-liquid takes about half a second to load.

python-liquid's own scanner is one regular expression that starts over at each brace; a few kilobytes of braces or spaces
hold it for minutes. This one gives the same tokens in one pass, whose time grows with the text's length and nothing else. The
lines of a ``{% liquid %}`` tag become ordinary tags here, for the same reason. Tags and brackets are counted against
`LiquidLimits` on the way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from sys import getsizeof
from typing import Final, NoReturn

import msgspec
from liquid import BoundTemplate, Environment, RenderContext
from liquid import exceptions as failures
from liquid.ast import Node
from liquid.builtin.content import ContentNode
from liquid.builtin.expressions import FilteredExpression, Path
from liquid.builtin.output import OutputNode
from liquid.exceptions import LiquidSyntaxError
from liquid.tag import Tag
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
from liquid.undefined import Undefined

from innkeeper.macros.engine.errors import (
    MacroArgumentError,
    MacroError,
    MacroLimitError,
    MacroSyntaxError,
    UnknownMacroError,
    where_in,
)
from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.macros.liquid.bounded import (
    CRASHES,
    BoundedContext,
    BoundedEcho,
    BoundedOutput,
    Buffer,
    RaisingUndefined,
    bound_nodes,
)
from innkeeper.macros.liquid.filters import FILTERS
from innkeeper.macros.liquid.session import (
    CACHED_TEMPLATE_BYTES,
    CACHED_TEMPLATES,
    LIQUID_LIMITS,
    LiquidLimits,
    LiquidSession,
)
from innkeeper.macros.liquid.variables import TAGS
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import LimitError

_TAG_STEPS: Final = 150
"""The steps charged for parsing a tag."""
_CHAR_STEPS: Final = 3
"""The steps charged for parsing a character of a template, whether it was cached or not."""
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
        while match := _OPEN.search(source, position):
            start = match.start()
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
        match = closer.search(self._source, inside)
        if match is None:
            raise self._error(f"the {name} block is never closed", start)
        self._strip = bool(match["dash"])
        text = self._source[inside : match.start()]
        tokens = [] if self._depth or not text else [Token(kind, text, inside, self._source)]
        return match.end(), tokens

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
            raise self._limits.exceeded("tags", "the number of tags", self._tags, where_in(self._source, index))
        if "(" in expression or "[" in expression:
            bare = _QUOTED.sub("", expression)
            brackets = bare.count("(") + bare.count("[")
            if brackets > self._limits.brackets:
                what = "the number of brackets in an expression"
                raise self._limits.exceeded("brackets", what, brackets, where_in(self._source, index))

    def _error(self, message: str, index: int) -> LiquidSyntaxError:
        token = Token(TOKEN_EOF, self._source[index : index + 2], index, self._source)
        return LiquidSyntaxError(message, token=token)


_FILE_TAGS: Final = ("include", "render")
_DEPTH_BESIDES_BLOCKS: Final = 8


class _Environment(Environment):
    """python-liquid's tags and filters, ours, no files, no machine time."""

    limits: LiquidLimits

    @classmethod
    def of(cls, limits: LiquidLimits, *, strict: bool) -> _Environment:
        """An environment with these limits; a strict one raises for missing variables."""
        made = cls(undefined=RaisingUndefined if strict else Undefined)
        made.limits = limits
        made.block_nesting_limit = limits.nesting  # type: ignore[misc]  # python-liquid reads it from the instance
        made.context_depth_limit = limits.nesting + _DEPTH_BESIDES_BLOCKS  # type: ignore[misc]
        made.loop_iteration_limit = limits.loop_iterations  # type: ignore[misc]
        return made

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:
        """Register everything."""
        super().setup_tags_and_filters(extra=extra)
        tags: tuple[type[Tag], ...] = (BoundedOutput, BoundedEcho, *TAGS)
        for tag in tags:
            self.add_tag(tag)
        for name in _FILE_TAGS:
            del self.tags[name]
        self.filters |= FILTERS

    def error(
        self, exc: type[failures.LiquidError] | failures.LiquidError, msg: str | None = None, token: Token | None = None
    ) -> None:
        """Raise the error, at ``token`` where it only knows the end of the text."""
        if isinstance(exc, failures.LiquidError) and exc.token and exc.token.start_index < 0 and token:
            exc.token = token
        super().error(exc, msg, token)

    def tokenizer(self) -> Callable[[str], Iterator[Token]]:
        """Our scanner."""
        return lambda source: Scanner(source, self.limits).tokens()


@lru_cache(maxsize=8)
def _environment(limits: LiquidLimits, strict: bool) -> _Environment:  # noqa: FBT001 - part of the cache's key
    return _Environment.of(limits, strict=strict)


_Key = tuple[str, bool, LiquidLimits]
_PARSED: Final[BoundedCache[_Key, BoundTemplate]] = BoundedCache(items=CACHED_TEMPLATES, size=CACHED_TEMPLATE_BYTES)


def filter_names() -> frozenset[str]:
    """All filters there are."""
    return frozenset(_environment(LIQUID_LIMITS, strict=False).filters)


def parse(text: str, limits: LiquidLimits = LIQUID_LIMITS, *, strict: bool = False) -> BoundTemplate:
    """Parse a template; recent ones are cached. Raises `MacroError`, `MacroLimitError`."""
    tags = text.count("{{") + text.count("{%")
    charge("liquid", min(tags, limits.tags) * _TAG_STEPS + min(len(text), limits.template_bytes) * _CHAR_STEPS)
    return _PARSED.get_or_make((text, strict, limits), lambda: _parsed(text, limits, strict=strict), getsizeof(text))


def _parsed(text: str, limits: LiquidLimits, *, strict: bool) -> BoundTemplate:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > limits.template_bytes:
        raise limits.exceeded("template_bytes", "the template", size)
    try:
        template = _environment(limits, strict).from_string(text)
        bound_nodes(template.nodes, RenderContext(template))
    except (failures.LiquidError, MacroLimitError, RecursionError) as error:
        raise_translated(error, text, limits, len(text))
    return template


def run(text: str, session: LiquidSession) -> str:
    """Render a template, and record in the session the output range of each output and tag.

    Raises `MacroError`, `MacroLimitError`, and what a variables store raises.
    """
    template = parse(text, session.limits, strict=session.strict)
    context, buffer = BoundedContext.of(template, session), Buffer(session)
    for node in template.nodes:
        start = buffer.tell()
        try:
            node.render(context, buffer)
        except failures.LiquidInterrupt as interrupt:
            raise MacroSyntaxError(f"{interrupt} outside of a loop", where=where_in(text, _index(node))) from interrupt
        except (failures.LiquidError, MacroError, LimitError, *CRASHES) as error:
            raise_translated(error, text, session.limits, _index(node))
        if buffer.tell() > start and not isinstance(node, ContentNode):
            session.ranges.append(MacroRange(start, buffer.tell(), _name(node)))
    session.settle()
    return buffer.getvalue()


def _name(node: Node) -> str:
    """Return the name under which an output or tag is recorded: the printed variable, or the name of the tag."""
    value = (
        node.expression.left
        if isinstance(node, OutputNode) and isinstance(node.expression, FilteredExpression)
        else None
    )
    return str(value) if isinstance(value, Path) else node.token.value if node.token.kind == "tag" else "output"


def _index(node: Node) -> int:
    return max(node.token.start_index, 0)


def analyse(text: str) -> tuple[list[tuple[str, ...]], dict[str, int]]:
    """The variables a template reads from outside, as paths, and the filters it uses with the place of the first use."""
    facts = parse(text).analyze(include_partials=False)
    read = [variable.segments for variables in facts.globals.values() for variable in variables]
    paths = [tuple(str(part) for part in segments if not isinstance(part, list)) for segments in read]
    return paths, {name: spans[0].index for name, spans in facts.filters.items()}


_LIMITS: Final[Mapping[type[failures.LiquidError], str]] = {
    failures.BlockNestingError: "nesting",
    failures.ContextDepthError: "nesting",
    failures.LoopIterationLimitError: "loop_iterations",
}


def raise_translated(error: Exception, text: str, limits: LiquidLimits, index: int | None = None) -> NoReturn:
    """Raise python-liquid's error as ours, with its place in ``text``: its own, or ``index``."""
    if isinstance(error.__cause__, (MacroError, LimitError)):
        raise error.__cause__
    token = getattr(error, "token", None)
    if token is not None and token.start_index >= 0:
        index = token.start_index
    where = None if index is None else where_in(text, index)
    if isinstance(error, (MacroError, LimitError)):
        raise error.at(**({} if where is None else msgspec.structs.asdict(where)))
    if (limit := _limit_of(error)) is not None:
        raise limits.exceeded(limit, "the nesting or looping of a template", where=where) from error
    raise _kind(error)(_message(error), where=where) from error


def _limit_of(error: Exception) -> str | None:
    if isinstance(error.__cause__ or error, RecursionError):
        return "nesting"
    return _LIMITS.get(type(error)) if isinstance(error, failures.LiquidError) else None


def _message(error: Exception) -> str:
    """python-liquid's sentence, or the one of the error that it wrapped."""
    cause = error.__cause__ if type(error) is failures.LiquidError and error.__cause__ else error
    message = cause.message if isinstance(cause, failures.LiquidError) else cause
    return str(message) or type(cause).__name__


def _kind(error: Exception) -> type[MacroError]:
    unknown = isinstance(error, (failures.UndefinedError, failures.UnknownFilterError))
    if unknown or _message(error).startswith("unexpected tag"):
        return UnknownMacroError
    return MacroSyntaxError if isinstance(error, failures.LiquidSyntaxError) else MacroArgumentError
