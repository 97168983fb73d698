"""LiquidSession: the resources of one rendering: its work budget, the clock, the variables, the context."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from innkeeper.macros.engine.errors import MacroArgumentError, NamedLimits
from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.prompt.allowance import charge, end_build
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.run.variables import StagedVariables
from innkeeper.prompt.text import kind_of


class LiquidLimits(NamedLimits, frozen=True, kw_only=True):
    """The limits of one Liquid template (`MacroLimitError`; in a tolerant build the whole template stays as text)."""

    template_bytes: int = 200_000
    """The template, in bytes of UTF-8."""
    output_bytes: int = 200_000
    """Bytes of UTF-8 of the output, or of one capture."""
    tags: int = 10_000
    """Tags and outputs in it."""
    nesting: int = 64
    """Blocks inside one another."""
    brackets: int = 100
    """Brackets and parentheses in one expression."""
    value_size: int = 1_000_000
    """One value: characters of its texts, plus 8 for each item or number."""
    namespace_size: int = 2_000_000
    """All values assigned or captured, sized likewise."""
    items: int = 200_000
    """Items of a range or list."""
    loop_iterations: int = 10_000
    """Turns of a loop, times those of the loops around it."""
    steps: int = 200_000
    """Work: one step for a variable, filter, output or turn of a loop and each tag in it, more for long texts."""
    seconds: float = 2.0
    """Time of the processor. ``steps`` are spent long before on any usual machine, so that what renders does not hang on it."""
    number_bits: int = 1024
    """Binary digits of a whole number."""
    dice: int = 1_000
    """Dice in one throw."""
    dice_sides: int = 1_000_000_000
    """Sides of a die."""


LIQUID_LIMITS: Final = LiquidLimits()
"""The defaults."""


CACHED_TEMPLATES: Final = 256
"""Parsed Liquid templates in the cache."""

CACHED_TEMPLATE_BYTES: Final = 4_000_000
"""Bytes of the texts of all cached Liquid templates."""

_CHECK_EVERY: Final = 2_000
_STEPS_A_STEP: Final = 20
"""Steps of the allowance that a step of a template counts."""
_CHARS_A_STEP: Final = 256
_ITEMS_A_STEP: Final = 2
_ITEM: Final = 8


@dataclass(slots=True)
class LiquidSession:
    """One rendering. ``assigns`` are the template's variables, ``registers`` are for filters (``context``)."""

    assigns: Mapping[str, Any] = EMPTY
    variables: StagedVariables | None = None
    strict: bool = False
    registers: Mapping[str, Any] = EMPTY
    clock: Clock | None = None
    limits: LiquidLimits = LIQUID_LIMITS
    warnings: list[Note] = field(default_factory=list)
    ranges: list[MacroRange] = field(default_factory=list)
    namespace_size: int = 0
    _spent: int = 0
    word: str | None = None
    """The word whose numbers were drawn from last."""
    _next_check: int = _CHECK_EVERY
    _charged: int = 0
    _deadline: float | None = None

    def __post_init__(self) -> None:
        """Check sooner where few steps are allowed."""
        if self.limits.steps < _CHECK_EVERY:
            self._next_check = self.limits.steps + 1

    @property
    def moment(self) -> Clock:
        """The build's clock; outside a build the machine's, read once."""
        if self.clock is None:
            self.clock = Clock.at(None)
        return self.clock

    def context_value(self, key: str) -> Any:
        """A value of the application's context, or ``None``."""
        context = self.registers.get("context")
        return context.get(key) if isinstance(context, Mapping) else None

    def charge(self, steps: int) -> None:
        """Count work. Raises `MacroLimitError` when the steps or the time are spent."""
        self._spent += steps
        if self._spent >= self._next_check:
            self.settle()
            if self._spent > self.limits.steps:
                raise self.limits.exceeded("steps", "the work of a template")
            self._check_time()

    def settle(self) -> None:
        """Charge the build's allowance for the work since it was charged last."""
        due, self._charged = min(self._spent, self.limits.steps) - self._charged, min(self._spent, self.limits.steps)
        self._next_check = min(self._spent + _CHECK_EVERY, self.limits.steps + 1)
        charge("liquid", due * _STEPS_A_STEP)

    def charge_value(self, value: Any) -> int:
        """Count the work of reading a value once; returns its size."""
        size = size_of(value, self.limits)
        items = len(value) if isinstance(value, (list, tuple, dict)) else 0
        self.charge(1 + items // _ITEMS_A_STEP + size // _CHARS_A_STEP)
        return size

    def bounded(self, value: Any) -> Any:
        """The value, if it is within the limits and, if a number, one that can be written.

        Raises `MacroLimitError`, `MacroArgumentError`.
        """
        if isinstance(value, float) and not math.isfinite(value):
            raise MacroArgumentError("the result is not a number")
        if isinstance(value, int) and value.bit_length() > self.limits.number_bits:
            raise self.limits.exceeded("number_bits", "a number", value.bit_length())
        size_of(value, self.limits)
        return value

    def note(self, message: str) -> None:
        """Record something that was passed over."""
        self.warnings.append(Note(NoteKind.MACRO, message))

    def _check_time(self) -> None:
        now = time.thread_time()
        if self._deadline is None:
            self._deadline = now + self.limits.seconds
        if now > self._deadline:
            end_build("liquid")
            raise self.limits.exceeded("seconds", "the time of a template")


def size_of(value: Any, limits: LiquidLimits) -> int:
    """Characters of all texts in a value plus 8 for anything else. Raises `MacroLimitError` past ``value_size``.

    Text that occurs twice counts twice: what is done with the value is done to each.
    """
    if isinstance(value, str):
        total = len(value)
    else:
        total = _ITEM
        boxes = [value]
        while boxes and total <= limits.value_size:
            for item in _parts(boxes.pop(), limits):
                if isinstance(item, str):
                    total += len(item)
                else:
                    total += _ITEM
                    if isinstance(item, (list, tuple, dict, range)):
                        boxes.append(item)
    if total > limits.value_size:
        raise limits.exceeded("value_size", "a value", total)
    return total


def _parts(value: Any, limits: LiquidLimits) -> Iterable[Any]:
    if isinstance(value, range):
        if value.stop - value.start > limits.items:
            raise limits.exceeded("items", "the items of a range", value.stop - value.start)
        return ()
    if isinstance(value, dict):
        return chain(value, value.values())
    return value if isinstance(value, (list, tuple)) else ()


def text_of(value: Any) -> str:
    """A value as a template prints it: ``true``, nothing for nil, the items of a list one after the other.

    Raises `MacroArgumentError` for what is not data.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, range):
        return f"{value.start}..{value.stop - 1}"
    if isinstance(value, (list, tuple)):
        return "".join(text_of(item) for item in value)
    if value is None or isinstance(value, (int, float)) or type(value).__module__.startswith("liquid."):
        return "" if value is None else str(value)
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False, separators=(",", ":"), default=text_of)
    raise MacroArgumentError(f"{kind_of(value)} cannot be printed")
