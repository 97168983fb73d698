"""Spending: what the macros of one build have used up, and the reports at a limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from innkeeper.macros.engine.errors import MAX_EXPANSIONS, MAX_OUTPUT, MAX_REPORTS, MacroLimitError
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import InnkeeperError, LimitError, Where
from innkeeper.prompt.note import Note, NoteKind

if TYPE_CHECKING:
    from innkeeper.macros.engine.environment import MacroEnvironment


_SLICE: Final = 16
"""Expansions that are charged for at once."""
_TAG_STEPS: Final = 40
"""The steps charged for an expansion."""


@dataclass(slots=True)
class Spent:
    """What the macros of one build have used up: expansions, characters, dice, reports.

    ``stopped``: a limit was reached and reported. ``charged`` are the characters that the build's allowance was charged for,
    ``next_check`` is the number of expansions at which the limits are compared next. ``listed`` has the place and the sentence
    of each report about a text of an asset: such a text is evaluated several times.
    """

    expansions: int = 0
    output: int = 0
    dice: int = 0
    reports: int = 0
    stopped: bool = False
    charged: int = field(default=0, compare=False)
    next_check: int = field(default=0, compare=False)
    listed: set[tuple[Where, str]] = field(default_factory=set, compare=False)


def report(env: MacroEnvironment, error: InnkeeperError, text: str, position: int) -> None:
    """Pass an error on to ``env.warn`` as a note that says where in ``text`` it is."""
    if env.warn is None or env.spent.reports > MAX_REPORTS:
        return
    where = env.locate(text, position)
    if where.asset is not None and (where, error.message) in env.spent.listed:
        return
    env.spent.listed.add((where, error.message))
    env.spent.reports += 1
    if env.spent.reports > MAX_REPORTS:
        env.warn(
            Note(NoteKind.LIMIT, f"more than {MAX_REPORTS} macros could not be evaluated; the others are not listed")
        )
        return
    kind = NoteKind.LIMIT if isinstance(error, LimitError) else NoteKind.MACRO
    env.warn(Note(kind, error.message, where=where, hint=error.hint, data=FrozenDict(error.details)))


def within_limits(env: MacroEnvironment, text: str, position: int) -> bool:
    """Count one more macro of this build. False, and once a report, when the build has had its share."""
    spent = env.spent
    spent.expansions += 1
    if spent.expansions < spent.next_check and spent.output <= MAX_OUTPUT:
        return True
    if spent.stopped:
        return False
    try:
        check_limits(spent)
    except LimitError as error:
        stop(env, error, text, position)
    return not spent.stopped


def check_limits(spent: Spent) -> None:
    """Compare with the limits, and charge the allowance for expansions since it was charged and the next. Raises `LimitError`."""
    if spent.expansions > MAX_EXPANSIONS:
        raise limit_error("the number of macros of this build", "MAX_EXPANSIONS", MAX_EXPANSIONS)
    if spent.output > MAX_OUTPUT:
        raise limit_error("what macros produced", "MAX_OUTPUT", MAX_OUTPUT)
    due = max(spent.expansions - spent.next_check, 0) + _SLICE
    charge("macros", due * _TAG_STEPS, made=spent.output - spent.charged)
    spent.charged = spent.output
    spent.next_check = min(spent.expansions + _SLICE, MAX_EXPANSIONS + 1)


def stop(env: MacroEnvironment, error: LimitError, text: str, position: int) -> None:
    """Have all further macros of this build stay as text, with a note that says why."""
    env.spent.stopped, env.spent.next_check = True, 0
    report(env, error, text, position)


def limit_error(what: str, name: str, allowed: int) -> MacroLimitError:
    """The error for a limit that was reached."""
    return MacroLimitError(what, limit=name, allowed=allowed, hint="the macros beyond it stay as text")
