"""Macro: one entry of a language's table, the arguments of a call, and the language (`Pack`) that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.macros.engine.errors import MAX_OUTPUT, MacroArgumentError, MacroError
from innkeeper.macros.engine.spending import limit_error
from innkeeper.macros.engine.syntax import Grammar, MacroTag, Run
from innkeeper.text.javascript.values import strip

if TYPE_CHECKING:
    from innkeeper.macros.engine.evaluate import Evaluation


KEEP: Final = "#"
"""The flag that leaves the blank space around and inside a block as it is."""

_LONGEST_NUMBER: Final = 19
_INTEGER: Final = re.compile(r"-?[0-9]+")
_INDENT: Final = re.compile(r"[^\S\n]*")


class Macro(msgspec.Struct, frozen=True):
    """One macro: its name, its function, and the arguments it takes.

    It takes ``least`` to ``most`` arguments, with ``rest`` any number. Arguments numbered (from 0) in ``integers`` must be
    whole numbers. A ``lazy`` macro gets its arguments as `TagSpan` values, not evaluated. ``run`` returns the text it stands
    for; a `MacroError` or `LimitError` it raises leaves the tag as written.
    """

    name: str
    run: Callable[[Call], str]
    least: int = 0
    most: int = 0
    rest: bool = False
    integers: frozenset[int] = frozenset()
    lazy: bool = False
    aliases: tuple[str, ...] = ()


class TagSpan(msgspec.Struct, frozen=True):
    """A piece of a run: its tags ``first`` to ``last`` (exclusive) and the source from ``start`` to ``end``."""

    run: Run
    first: int
    last: int
    start: int
    end: int
    block: bool = False


def whole(run: Run) -> TagSpan:
    """All of a run."""
    return TagSpan(run, 0, len(run.tags), run.start, run.end)


class Call:
    """A call of a macro: its evaluated ``arguments`` (or ``spans``, when it is lazy), and whether the last is a ``block``."""

    __slots__ = ("arguments", "block", "evaluation", "spans", "tag")

    def __init__(
        self,
        evaluation: Evaluation,
        tag: MacroTag,
        arguments: tuple[str, ...] = (),
        spans: tuple[TagSpan, ...] = (),
        *,
        block: bool = False,
    ) -> None:
        self.evaluation = evaluation
        self.tag = tag
        self.arguments = arguments
        self.spans = spans
        self.block = block

    @property
    def env(self) -> MacroEnvironment:
        """The build's world."""
        return self.evaluation.env

    def warn(self, message: str) -> None:
        """Report something about this macro that does not stop it."""
        self.evaluation.warn(MacroError(message, macro=self.tag.name), self.tag.start)

    def keep(self, message: str) -> NoReturn:
        """Leave the tag as it is written. Raises `MacroError`."""
        raise MacroError(message, macro=self.tag.name)

    def whole_number(self, index: int, default: int) -> int:
        """Argument ``index`` (one of ``Macro.integers``) as a number; beyond 18 digits all are alike."""
        if index >= len(self.arguments):
            return default
        text = self.arguments[index]
        return int(text[:_LONGEST_NUMBER])

    def repeated(self, text: str, count: int) -> str:
        """``text``, ``count`` times. Raises `MacroArgumentError` below 0 and `MacroLimitError` past `MAX_OUTPUT`."""
        if count < 0:
            msg = f"{{{{{self.tag.name}}}}} cannot repeat {count} times"
            raise MacroArgumentError(msg, macro=self.tag.name)
        if count * len(text) > MAX_OUTPUT:
            raise limit_error("what macros produce", "MAX_OUTPUT", MAX_OUTPUT)
        return text * count


@dataclass(frozen=True, eq=False, kw_only=True)
class Pack:
    """A macro language. ``table`` is keyed by lower-case name; ``variable`` evaluates shorthands, given their value's text."""

    title: str
    grammar: Grammar
    table: Mapping[str, Macro]
    before: Callable[[str], str]
    after: Callable[[str], str]
    variable: Callable[[Evaluation, MacroTag], str]


def dedent(text: str) -> str:
    """``text`` without blank space around it and without the first line's indentation before each line."""
    lines = text.split("\n")
    first = next((line for line in lines if strip(line)), "")
    indent = _INDENT.match(first).end()  # type: ignore[union-attr]  # it matches the empty text
    if indent:
        lines = [line[min(indent, _INDENT.match(line).end()) :] for line in lines]  # type: ignore[union-attr]
    return strip("\n".join(lines))


def require_arguments(macro: Macro, arguments: tuple[str, ...]) -> None:
    """Raises `MacroArgumentError` where a macro does not take these."""
    if not macro.rest and not macro.least <= len(arguments) <= macro.most:
        raise arity_error(macro, len(arguments))
    for index in macro.integers:
        if index < len(arguments) and not _INTEGER.fullmatch(arguments[index]):
            msg = f"argument {index + 1} of {{{{{macro.name}}}}} must be a whole number"
            raise MacroArgumentError(msg, macro=macro.name)


def arity_error(macro: Macro, count: int) -> MacroArgumentError:
    """The error for a number of arguments that a macro does not take."""
    takes = f"{macro.least}" if macro.least == macro.most else f"{macro.least} to {macro.most}"
    return MacroArgumentError(f"{{{{{macro.name}}}}} takes {takes} arguments, not {count}", macro=macro.name)
