"""Renders Handlebars templates with the helpers ``if``, ``unless``, ``each``, ``with``, ``lookup``; nothing is escaped.

Names that neither the values nor the helpers know go to ``missing``, which is how SillyTavern lets macros stand in a story
string (`sillytavern.md` 67). Values are texts, numbers, truth values, lists and mappings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from innkeeper.macros.engine.errors import MacroArgumentError, UnknownMacroError, where_in
from innkeeper.macros.handlebars.syntax import HANDLEBARS_LIMITS, parse
from innkeeper.macros.handlebars.tree import (
    BlockProgram,
    BlockStatement,
    Content,
    Fragment,
    Literal,
    Path,
    SubExpression,
    Value,
)
from innkeeper.prompt.allowance import allowed, charge

Missing = Callable[[str], str]

_SLICE: Final = 16
"""Pieces of text and tags that are charged for at once."""
_NODE_STEPS: Final = 30
"""The steps charged for each of them."""
_ITEM_STEPS: Final = 6
"""The steps charged for an item of a printed list."""
_READING_SHIFT: Final = 6
_LONG: Final = 100
"""Texts from this length on are charged for as they are made; shorter ones are covered by the charge of their tags."""


def render_handlebars(text: str, values: Mapping[str, Any], missing: Missing | None = None) -> str:
    """The template filled with ``values``; ``missing`` answers for unknown names, which otherwise are empty.

    Raises:
        MacroSyntaxError: the template cannot be read; says where.
        MacroArgumentError: a helper with the wrong arguments, or a value used as a helper.
        UnknownMacroError: a partial or a decorator.
        MacroLimitError: too long, too deep, too much work or output.
        AllowanceError: more than the build may take.
    """
    with allowed():
        renderer = _Renderer(text, missing or (lambda _name: ""))
        root: Any = values
        made = renderer.program(parse(text), _RenderFrame((root,), {"root": root}))
        charge("handlebars", renderer.steps % _SLICE * _NODE_STEPS)
        return made


@dataclass(frozen=True, slots=True)
class _RenderFrame:
    """The scope of an expression: ``this`` and the contexts around it (nearest first), ``@`` data, block arguments."""

    stack: tuple[Any, ...]
    data: Mapping[str, Any]
    names: Mapping[str, Any] = field(default_factory=dict)

    def into(
        self, value: Any, data: Mapping[str, Any] | None = None, names: Mapping[str, Any] | None = None
    ) -> _RenderFrame:
        """A block's frame; one with the same ``this`` adds no level."""
        stack = self.stack if value is self.stack[0] else (value, *self.stack)
        return _RenderFrame(stack, {**self.data, **(data or {})}, {**self.names, **(names or {})})


class _Renderer:
    """One rendering: counts work and output."""

    def __init__(self, text: str, missing: Missing) -> None:
        self.text, self.missing, self.steps, self.size = text, missing, 0, 0

    def program(self, program: BlockProgram | None, frame: _RenderFrame) -> str:
        return "".join(self.parts(program, frame)) if program is not None else ""

    def parts(self, program: BlockProgram, frame: _RenderFrame) -> Iterator[str]:
        for node in program.body:
            self.step()
            if isinstance(node, Content):
                yield self.counted(node.value)
            elif isinstance(node, BlockStatement):
                yield self.block(node, frame)
            elif isinstance(node, Fragment):
                raise UnknownMacroError(
                    f"there is no template {node.name!r}", macro=node.name, where=where_in(self.text, node.at)
                )
            elif node.call is not None:
                yield self.counted(_text(self.called(node.call, frame)))

    def step(self) -> None:
        self.steps += 1
        if self.steps % _SLICE == 0:
            charge("handlebars", _SLICE * _NODE_STEPS)
        if self.steps > HANDLEBARS_LIMITS.steps:
            raise HANDLEBARS_LIMITS.exceeded("steps", "the template's work")

    def counted(self, text: str) -> str:
        if len(text) > _LONG:
            charge("handlebars", made=len(text))
        self.size += len(text)
        if self.size > HANDLEBARS_LIMITS.output_chars:
            raise HANDLEBARS_LIMITS.exceeded("output_chars", "the template's output")
        return text

    def called(self, call: SubExpression, frame: _RenderFrame) -> Any:
        """Return the value of an expression: a helper's, else the name's, else that of ``missing``."""
        name = call.path.parts[0] if call.path.simple else None
        if name in _HELPERS:
            if name in _BLOCKS:
                self.wrong(call, f"{name!r} is a block: {{{{#{name} …}}}}")
            return self.helper(name, call, frame)
        if not call.path.simple and call.plain:
            return _resolve(call.path, frame)
        value = _resolve(call.path, frame)
        if value is None:
            return self.missing(".".join(call.path.parts))
        if not call.plain:
            self.wrong(call, f"{name!r} is a value and takes no arguments")
        return value

    def helper(self, name: str, call: SubExpression, frame: _RenderFrame) -> Any:
        arguments = self.arguments(call, frame)
        if name == "lookup" and len(arguments) > 1:
            return _property(arguments[0], _text(arguments[1]))
        if name in ("if", "unless", "with") and len(arguments) != 1:
            self.wrong(call, f"{name!r} takes exactly one argument")
        if name == "each" and not arguments:
            self.wrong(call, "'each' takes what it goes through")
        return ""

    def arguments(self, call: SubExpression, frame: _RenderFrame) -> list[Any]:
        return [self.valued(param, frame) for param in call.params]

    def valued(self, value: Value, frame: _RenderFrame) -> Any:
        if isinstance(value, Literal):
            return value.value
        if not isinstance(value, SubExpression):
            return _resolve(value, frame)
        if value.path.simple and value.path.parts[0] not in _HELPERS and _resolve(value.path, frame) is not None:
            self.wrong(value, f"{value.path.parts[0]!r} is a value and cannot be called")
        return self.called(value, frame)

    def wrong(self, call: SubExpression, message: str) -> None:
        raise MacroArgumentError(message, macro=".".join(call.path.parts), where=where_in(self.text, call.at))

    def block(self, block: BlockStatement, frame: _RenderFrame) -> str:
        call = block.call
        name = call.path.parts[0] if call.path.simple else None
        if name in _HELPERS:
            return self.standard(name, block, frame)
        value = self.called(call, frame)
        if not call.plain:
            return _text(value)
        return self.section(block, value, frame)

    def standard(self, name: str, block: BlockStatement, frame: _RenderFrame) -> str:
        self.helper(name, block.call, frame)
        arguments = self.arguments(block.call, frame)
        if name == "each":
            return self.each(block, arguments[0], frame)
        if name == "with":
            if _empty(arguments[0]):
                return self.program(block.inverse, frame)
            return self.program(block.program, frame.into(arguments[0], names=_named(block.call, arguments[:1])))
        if name in ("if", "unless"):
            zero = any(key == "includeZero" and self.valued(value, frame) for key, value in block.call.named)
            condition = not _empty(arguments[0]) and (zero or bool(arguments[0]))
            return self.program(block.program if condition is (name == "if") else block.inverse, frame)
        return _text(self.helper(name, block.call, frame))

    def section(self, block: BlockStatement, value: Any, frame: _RenderFrame) -> str:
        """A block with a value for its name: once for a value, for each item of a list, else the other part."""
        if value is True:
            return self.program(block.program, frame)
        if value is None or value is False or (isinstance(value, list | tuple) and not value):
            return self.program(block.inverse, frame)
        if isinstance(value, list | tuple):
            return self.each(block, value, frame)
        return self.program(block.program, frame.into(value))

    def each(self, block: BlockStatement, value: Any, frame: _RenderFrame) -> str:
        if isinstance(value, Mapping | list | tuple):
            charge("handlebars", 1 + len(value))
        items = list(value.items()) if isinstance(value, Mapping) else None
        if isinstance(value, list | tuple):
            items = list(enumerate(value))
        if not items:
            return self.program(block.inverse, frame)
        rendered = []
        for index, (key, item) in enumerate(items):
            self.step()
            data = {"key": key, "index": index, "first": index == 0, "last": index == len(items) - 1}
            inner = frame.into(item, data, _named(block.call, (item, key)))
            rendered.append(self.program(block.program, inner))
        return "".join(rendered)


_BLOCKS: Final = frozenset({"if", "unless", "each", "with"})
_HELPERS: Final = _BLOCKS | {"lookup", "log"}


def _named(call: SubExpression, values: Any) -> dict[str, Any]:
    return dict(zip(call.names, values, strict=False))


def _empty(value: Any) -> bool:
    """Whether a block takes the other part: no value, an empty text or list, but not the number 0."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return False
    return isinstance(value, list | tuple) and not value if value else True


def _resolve(path: Path, frame: _RenderFrame) -> Any:
    parts = path.parts
    if path.data:
        value: Any = frame.data
    elif parts and not path.up and not path.scoped and parts[0] in frame.names:
        value, parts = frame.names[parts[0]], parts[1:]
    else:
        value = frame.stack[path.up] if path.up < len(frame.stack) else None
    for part in parts:
        value = _property(value, part)
    return value


def _property(value: Any, name: str) -> Any:
    """A member of a value as JavaScript has it: of mappings, items of lists and texts, and their ``length``."""
    if isinstance(value, Mapping):
        return value.get(name)
    if not isinstance(value, str | list | tuple):
        return None
    if name == "length":
        return _units(value) if isinstance(value, str) else len(value)
    short = name.isascii() and name.isdigit() and len(name) < _LONGEST_INDEX
    return value[int(name)] if short and int(name) < len(value) else None


_LONGEST_INDEX: Final = 10


def _units(text: str) -> int:
    """The number of UTF-16 units of a text."""
    if text.isascii():
        return len(text)
    charge("handlebars", len(text) >> _READING_SHIFT)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _text(value: Any) -> str:
    """A value as it is printed."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "[object Object]"
    if isinstance(value, list | tuple):
        charge("handlebars", 1 + len(value) * _ITEM_STEPS)
        return ",".join(_text(item) for item in value)
    try:
        return str(value)
    except ValueError as error:
        raise MacroArgumentError(f"a number cannot be printed: {error}") from None
