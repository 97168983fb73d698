"""The parts of a syntax tree that python-liquid leaves unbounded, bounded: ranges, loops, printed values.

Its parser has no hook for its expressions, so `bound_nodes` goes over the finished tree and replaces them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from liquid import RenderContext
from liquid.ast import Node
from liquid.builtin.expressions import FilteredExpression, LoopExpression, Path
from liquid.builtin.expressions.primitive import RangeLiteral
from liquid.builtin.output import Output, OutputNode
from liquid.builtin.tags.echo_tag import EchoTag
from liquid.builtin.tags.for_tag import ForNode
from liquid.builtin.tags.tablerow_tag import TablerowNode
from liquid.expression import Expression

from innkeeper.macros.liquid_context import session_of
from innkeeper.macros.liquid_session import size_of, text_of

__all__ = ["BoundedEcho", "BoundedOutput", "bound_nodes"]


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
    """What a loop runs over, charged turn by turn with every tag inside it."""

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
    elif isinstance(expression, FilteredExpression) and type(expression.left) is Path and _has_default(expression):
        expression.left.__class__ = _OptionalPath
    for child in expression.children():
        _bind(child)


def _has_default(expression: FilteredExpression) -> bool:
    return expression.filters is not None and [found.name for found in expression.filters[:1]] == ["default"]
