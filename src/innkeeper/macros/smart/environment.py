"""MacroEnvironment: the variables of one run of the smart macros, and what the run has to tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from innkeeper.macros.smart.chance import Chance
from innkeeper.macros.smart.options import MacroOptions
from innkeeper.prompt.note import Note

__all__ = ["MacroEnvironment"]


@dataclass(slots=True, kw_only=True)
class MacroEnvironment:
    """One run. ``table`` holds the variables and is the run's own; make one with `of`, which copies the caller's."""

    table: dict[str, Any]
    options: MacroOptions
    chance: Chance
    undefined_get: str = "error"
    error_token: str = "[UndefinedVar:{name}]"  # noqa: S105 - a placeholder, no secret
    contains: Callable[[str], bool] | None = None
    notes: list[Note] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        variables: Mapping[str, Any] | None = None,
        policy: Mapping[str, Any] | None = None,
        options: MacroOptions = MacroOptions(),  # noqa: B008 - a frozen value
        contains: Callable[[str], bool] | None = None,
    ) -> MacroEnvironment:
        """The environment of a run; the caller's variables are copied, all the way down."""
        raise NotImplementedError

    def read(self, path: str) -> Any:
        """The value at ``path``, or the placeholder of the policy."""
        raise NotImplementedError

    def write(self, path: str, value: Any) -> None:
        """Set a variable."""
        raise NotImplementedError
