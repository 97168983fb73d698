"""Ports: what a build may be handed besides its request: objects that are not data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from innkeeper.prompt.dialect import Dialects
    from innkeeper.prompt.hooks import HookRegistry
    from innkeeper.prompt.injections import InjectionRegistry
    from innkeeper.prompt.note import Note
    from innkeeper.prompt.randomness import Randomness
    from innkeeper.prompt.trace import Instrumenter
    from innkeeper.prompt.variables import VariablesStore

__all__ = ["ExplainedPlan", "Ports", "TokenCounter"]


class TokenCounter(Protocol):
    """Counts tokens. `count` never raises on any text.

    A counter of one model may have ``framing``, the rule by which that model's messages are counted (`innkeeper.tokens.Framing`).
    """

    def count(self, text: str, model: str | None = None) -> int:
        """Tokens of ``text`` for ``model`` (an id or hint; ``None`` for the counter's default)."""
        ...

    def describe(self, model: str | None = None) -> Mapping[str, Any]:
        """How ``model`` is counted: tokenizer, ``exact`` or the estimate's ± percent, and where that is known from."""
        ...


class ExplainedPlan(Protocol):
    """A plan explained: as JSON-ready data, and as a table in plain text."""

    def to_dict(self) -> dict[str, Any]:
        """The same facts as JSON-ready data."""
        ...

    def render(self) -> str:
        """The same facts as lines of text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything non-serialisable a build uses. All optional; ``None`` means the tavern's default.

    ``warning_handler`` is called with each warning `Note` after it is recorded. ``random`` replaces the request's seed by
    a generator of your own: such a plan cannot be replayed and says so.
    """

    token_counter: TokenCounter | None = None
    variables: VariablesStore | None = None
    instrumenter: Instrumenter | None = None
    hooks: HookRegistry | None = None
    injections: InjectionRegistry | None = None
    dialects: Dialects | None = None
    warning_handler: Callable[[Note], None] | None = None
    random: Callable[[int], Randomness] | None = None
