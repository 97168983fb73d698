"""The tree of a Handlebars template: content, expressions, blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["Block", "Call", "Content", "Fragment", "Literal", "Mustache", "Node", "Path", "Program", "Strip", "Value"]


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
class Call:
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


Value: TypeAlias = Path | Literal | Call


@dataclass(frozen=True, slots=True)
class Strip:
    """Whether a tag eats the blanks before (``{{~``) and behind it (``~}}``)."""

    left: bool = False
    right: bool = False


@dataclass(slots=True)
class Content:
    """Text. ``value`` is what is left of ``original`` after tags ate blanks beside them."""

    original: str
    value: str = ""
    cut_left: bool = False
    cut_right: bool = False


@dataclass(slots=True)
class Mustache:
    """An expression to print; a comment when ``call`` is ``None``."""

    call: Call | None
    strip: Strip = Strip()


@dataclass(slots=True)
class Fragment:
    """A tag that would need another template (a partial, a decorator): it cannot be rendered."""

    name: str
    at: int
    strip: Strip = Strip()


@dataclass(slots=True)
class Program:
    """What stands between two tags. ``chained`` marks an ``{{else if}}``, which holds one block."""

    body: list[Node] = field(default_factory=list)
    chained: bool = False


@dataclass(slots=True)
class Block:
    """``{{#call}} program {{else}} inverse {{/call}}``. The strips are those of its tags."""

    call: Call
    program: Program | None
    inverse: Program | None
    opened: Strip = Strip()
    turned: Strip = Strip()
    closed: Strip = Strip()


Node: TypeAlias = Content | Mustache | Block | Fragment
