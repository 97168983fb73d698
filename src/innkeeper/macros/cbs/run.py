"""Run: the state of one expansion (variables, functions, what it has spent), its limits, and `CbsCall`, a tag and its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from innkeeper.macros.cbs.scope import CbsScope
from innkeeper.macros.engine.errors import MacroLimitError
from innkeeper.prompt.allowance import charge
from innkeeper.text.javascript.values import to_number

MAX_TAGS: Final = 100_000
"""Tags and blocks evaluated, those in fields and in texts that blocks insert included (`MacroLimitError`)."""

MAX_OPEN: Final = 512
"""Tags and blocks open at once in one text (`MacroLimitError`)."""

MAX_CALLS: Final = 20
"""Fields and functions inside one another (no error: deeper ones print a message, as in RisuAI)."""

MAX_CHARACTERS: Final = 4 * 1024 * 1024
"""Characters of a text, and characters that its tags and blocks produce together (`MacroLimitError`)."""

MAX_ITEMS: Final = 100_000
"""Items of a list that a tag makes (`MacroLimitError`)."""

MAX_DICE: Final = 100_000
"""Dice thrown in one text (`MacroLimitError`)."""


def exceeded(what: str, limit: str, allowed: int, actual: float | None = None) -> MacroLimitError:
    """Return the error for a limit of this module."""
    hint = "shorten the text, or split it into several"
    return MacroLimitError(what, limit=limit, allowed=allowed, found=actual, hint=hint)


def checked(count: float, what: str, limit: str, allowed: int) -> int:
    """Return a count within its limit. Raises `MacroLimitError`."""
    if not count <= allowed:
        raise exceeded(what, limit, allowed, count)
    return int(count)


_STEPS_A_TAG: Final = 40
_CHARACTERS_A_STEP: Final = 16
UNDEFINED: Final = "undefined"
"""How JavaScript prints an argument that is not there."""


class ThrownError(Exception):
    """A function failed; its tag stays as text."""


@dataclass(slots=True)
class CbsRun:
    """What one expansion has changed, defined and spent."""

    scope: CbsScope
    parse: Callable[[CbsRun, str], str]
    """Expands a text inside this run."""
    changes: dict[str, str | None] = field(default_factory=dict)
    """Chat variables that were written; ``None`` for one that was removed."""
    functions: dict[str, str] = field(default_factory=dict)
    temporary: dict[str, str] | None = field(default_factory=dict)
    """The temporary variables of the parse at work, or ``None`` where a result that is no text has wiped them."""
    answer: str | None = None
    """What ``{{return::…}}`` of the parse at work answered."""
    depth: int = 0
    tags: int = 0
    dice: int = 0
    made: int = 0
    notes: list[str] = field(default_factory=list)

    def spend(self, characters: int) -> None:
        """Count characters that were produced. Raises `MacroLimitError`."""
        self.made += characters
        if self.made > MAX_CHARACTERS:
            raise exceeded("what the tags of a text produce", "MAX_CHARACTERS", MAX_CHARACTERS)
        charge("macros", characters // _CHARACTERS_A_STEP, made=characters)

    def count_tag(self, length: int) -> None:
        """Count a tag or block of ``length`` characters. Raises `MacroLimitError`."""
        self.tags += 1
        if self.tags > MAX_TAGS:
            raise exceeded("the number of tags in a text", "MAX_TAGS", MAX_TAGS)
        charge("macros", _STEPS_A_TAG + length // _CHARACTERS_A_STEP)

    def variable(self, name: str) -> str:
        """The text of a chat variable, as this run has written it."""
        value = self.changes.get(name)
        if value is not None:
            return value
        return self.scope.defaults.get(name, "null") if name in self.changes else self.scope.variable(name)


class CbsCall(NamedTuple):
    """One tag: its whole text, its arguments, and the run it is in."""

    run: CbsRun
    tag: str
    args: list[str]

    @property
    def scope(self) -> CbsScope:
        """What the run reads."""
        return self.run.scope

    def text(self, index: int) -> str:
        """An argument that must be there. Raises `ThrownError`."""
        if 0 <= index < len(self.args):
            return self.args[index]
        raise ThrownError

    def shown(self, index: int, absent: str = UNDEFINED) -> str:
        """An argument, or how JavaScript prints one that is not there."""
        return self.args[index] if index < len(self.args) else absent

    def number(self, index: int) -> float:
        """An argument as a number; NaN where it is not there."""
        return to_number(self.shown(index))


Result: TypeAlias = Any
"""The text of a tag; ``None`` leaves the tag as it is; other JSON values print as RisuAI prints them."""

Function: TypeAlias = Callable[[CbsCall], Result]


def by_alias(table: Mapping[str, Function]) -> dict[str, Function]:
    """A table whose keys list the names of a function, separated by blanks, as one by name."""
    return {name: function for names, function in table.items() for name in names.split()}
