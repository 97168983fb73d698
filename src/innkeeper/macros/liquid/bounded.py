"""The parts of python-liquid that it leaves unbounded, bounded: the context, printed values, filters, ranges and loops.

A template renders with a context whose variables, filters and output are each charged to the session. python-liquid's parser
has no hook for its expressions, so `bound_nodes` goes over the finished tree and replaces them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, TextIO

from liquid import BoundTemplate, RenderContext, Token
from liquid import exceptions as failures
from liquid.ast import Node
from liquid.builtin.expressions import FilteredExpression, LoopExpression, Path
from liquid.builtin.expressions.primitive import RangeLiteral
from liquid.builtin.output import Output, OutputNode
from liquid.builtin.tags.echo_tag import EchoTag
from liquid.builtin.tags.for_tag import ForLoop, ForNode
from liquid.builtin.tags.tablerow_tag import TablerowNode
from liquid.expression import Expression
from liquid.undefined import UNDEFINED, Undefined
from liquid.utils import ReadOnlyChainMap

from innkeeper.macros.liquid.filters import GROWTH, TEXT_FILTERS
from innkeeper.macros.liquid.session import LiquidSession, size_of, text_of
from innkeeper.macros.liquid.variables import VariablesDrop
from innkeeper.prompt.allowance import charge

_READING_SHIFT: Final = 6
"""A filter reads so many characters of a text in a step, as a power of two."""
_SLOW_FILTERS: Final = frozenset({"escapejs", "split", "strip_html", "url_encode"})
"""Filters that take a step for each character."""
_LONG: Final = 100
"""Texts from this length on are charged for as they are made; shorter ones are covered by the charge of their tags."""

CRASHES: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Python errors that python-liquid lets through on unexpected input."""


class RaisingUndefined(Undefined):
    """Raised as soon as a strict template looks a missing variable up."""

    def __init__(
        self, name: str, *, token: Token | None = None, obj: object = UNDEFINED, hint: str | None = None
    ) -> None:
        raise failures.UndefinedError(hint or f"{name!r} is undefined", token=token)


class Buffer(io.StringIO):
    """Output that counts its bytes and charges the session for them."""

    def __init__(self, session: LiquidSession) -> None:
        super().__init__()
        self._session = session
        self._bytes = 0

    def write(self, text: str) -> int:
        """Append ``text``. Raises `MacroLimitError`."""
        self._bytes += len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if self._bytes > self._session.limits.output_bytes:
            raise self._session.limits.exceeded("output_bytes", "the output of a template")
        if len(text) > _LONG:
            charge("liquid", made=len(text))
        self._session.charge_value(text)
        return super().write(text)


class BoundedContext(RenderContext):
    """A render context that charges the session, and knows neither ``now`` nor ``today``."""

    __slots__ = ("session",)

    session: LiquidSession

    @classmethod
    def of(cls, template: BoundTemplate, session: LiquidSession) -> BoundedContext:
        """The context of one rendering."""
        drops = {"var": VariablesDrop(session, "local"), "global": VariablesDrop(session, "global")}
        names = {**session.assigns, **drops}
        context = cls(template, globals=names)
        context.session = session
        context.scope = ReadOnlyChainMap(context.locals, names, context.counters)
        return context

    def get(self, path: list[object], *, token: Token | None, default: object = UNDEFINED) -> object:
        """The value of a variable."""
        value = super().get(path, token=token, default=default)
        self.session.charge(2 + (len(value) // 256 if isinstance(value, str) else 0))
        return value

    def filter(self, name: str, token: Token | None) -> Callable[..., object]:
        """A filter, wrapped so that what goes in and out is measured."""
        if name not in self.env.filters and not self.session.strict:
            self.session.note(f"unknown filter {name!r} passed over")
            return lambda value, *_args, **_named: value
        return partial(_filtered, self.session, name, super().filter(name, token))

    def assign(self, key: str, val: Any) -> None:
        """Set a variable of the template."""
        session = self.session
        session.namespace_size += session.charge_value(val)
        if session.namespace_size > session.limits.namespace_size:
            raise session.limits.exceeded("namespace_size", "the values assigned", session.namespace_size)
        self.locals[key] = val

    def get_buffer(self, buf: TextIO | None = None) -> io.StringIO:
        """A buffer for ``capture`` and the like."""
        return Buffer(self.session)

    def parentloop(self) -> Any:
        """The loop around this one, or nothing."""
        return next((loop for loop in reversed(self.loops) if isinstance(loop, ForLoop)), None)


def _filtered(
    session: LiquidSession, name: str, function: Callable[..., Any], value: Any, *args: Any, **named: Any
) -> Any:
    session.charge(4)
    for item in (value, *args, *named.values()):
        session.charge_value(item)
    if name in TEXT_FILTERS:
        charge(
            "liquid", len(value) >> (0 if name in _SLOW_FILTERS else _READING_SHIFT) if isinstance(value, str) else 1
        )
        numbers = [isinstance(item, (int, float)) and not isinstance(item, bool) for item in args]
        args = tuple(item if number else text_of(item) for item, number in zip(args, numbers, strict=True))
        value = text_of(value)
    if name in GROWTH and (size := GROWTH[name](value, *args)) > session.limits.value_size:
        raise session.limits.exceeded("value_size", f"the result of {name}", size)
    try:
        return session.bounded(function(value, *args, **named))
    except failures.FilterArgumentError as error:
        if "__init__()" not in str(error.__cause__):
            raise
        # python-liquid makes some of its errors without what they need, and then tells its own signature.
        raise failures.FilterArgumentError(f"{name}: it does not take such values", token=None) from None
    except CRASHES as error:
        if isinstance(error, TypeError):
            raise
        raise failures.FilterArgumentError(f"{name}: {error}", token=None) from error


def session_of(context: RenderContext) -> LiquidSession:
    """The session of a rendering."""
    session: LiquidSession = context.session  # type: ignore[attr-defined]  # every context here is a Context
    return session


class _PrintNode(OutputNode):
    """``{{ … }}``: prints values as `text_of` does."""

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        """Write the value."""
        value = self.expression.evaluate(context)
        if not isinstance(value, str):
            session_of(context).bounded(value)
        return buffer.write(text_of(value))


class BoundedOutput(Output):
    """``{{ … }}``."""

    node_class = _PrintNode


class BoundedEcho(EchoTag):
    """``{% echo … %}``."""

    node_class = _PrintNode  # type: ignore[assignment]  # python-liquid declares its own subclass there


class _Range(RangeLiteral):
    """``(a..b)`` of no more items than allowed."""

    __slots__ = ()

    def evaluate(self, context: RenderContext) -> range:
        """The range. Raises `MacroLimitError`."""
        values = super().evaluate(context)
        size_of(values, session_of(context).limits)
        return values


class _OptionalPath(Path):
    """A variable before ``| default``: missing is no error there, strict or not."""

    __slots__ = ()

    def evaluate(self, context: RenderContext) -> object:
        """The value, or ``None``."""
        path = [part.evaluate(context) if isinstance(part, Path) else part for part in self.path]
        return context.get(path, token=self.token, default=None)


class _Loop(LoopExpression):
    """The items of a loop, charged turn by turn with every tag inside it."""

    __slots__ = ("weight",)

    weight: int

    @classmethod
    def of(cls, loop: LoopExpression, weight: int) -> _Loop:
        """The loop expression with the number of tags in its block."""
        made = cls(
            loop.token,
            loop.identifier,
            loop.iterable,
            limit=loop.limit,
            offset=loop.offset,
            reversed_=loop.reversed,
            cols=loop.cols,
        )
        made.weight = weight
        return made

    def evaluate(self, context: RenderContext) -> tuple[Iterator[object], int]:
        """The items and their number. Raises `MacroLimitError`."""
        items, length = super().evaluate(context)
        session_of(context).charge(length * self.weight)
        return items, length


def bound_nodes(nodes: Iterable[Node], context: RenderContext) -> int:
    """Put the bounded expressions in place of python-liquid's; returns the number of nodes."""
    total = 0
    for node in nodes:
        for expression in node.expressions():
            _bind(expression)
        inside = bound_nodes(node.children(context, include_partials=False), context)
        if isinstance(node, (ForNode, TablerowNode)):
            node.expression = _Loop.of(node.expression, inside + 1)
        total += inside + 1
    return total


def _bind(expression: Expression) -> None:
    # The parser has no hook for its primitives, so the finished objects change their class; layouts are the same.
    if type(expression) is RangeLiteral:
        expression.__class__ = _Range
    elif isinstance(expression, FilteredExpression) and type(expression.left) is Path:
        filters = expression.filters or ()
        if filters and filters[0].name == "default":
            expression.left.__class__ = _OptionalPath
    for child in expression.children():
        _bind(child)
