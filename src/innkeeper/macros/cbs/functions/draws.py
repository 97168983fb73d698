"""Functions of chance: ``random`` and dice draw from the build's source, ``pick`` and its like from the chat itself."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from innkeeper.macros.cbs.run import MAX_DICE, CbsCall, Function, Result, by_alias, checked
from innkeeper.text.javascript.random_numbers import word_chance
from innkeeper.text.javascript.values import number_text, to_number, units_of

_COMMA: Final = "\ue9ff"
_SEPARATOR: Final = re.compile("[,:]")
_STEPS_BETWEEN_DICE: Final = 15
_CHARACTERS_A_DIE: Final = 16
_USUAL_SIDES: Final = 6


def random_of(call: CbsCall, _draw: int = 0) -> float:
    """The next fraction of the build's source."""
    return call.scope.random.random()


def pick_of(call: CbsCall, draw: int = 0) -> float:
    """A fraction that character, chat and number of messages determine."""
    scope = call.scope
    return word_chance(units_of(scope.character_id + scope.chat_id), len(scope.messages) + draw)


def _choice(source: Callable[[CbsCall], float]) -> Function:
    """A function that chooses one of its arguments, or one of the parts of its only one."""

    def chosen(call: CbsCall) -> Result:
        if not call.args:
            return number_text(source(call))
        options = call.args
        if len(options) == 1:
            options = _SEPARATOR.split(options[0].replace("\\,", _COMMA))
        index = math.floor(source(call) * len(options))
        return options[0 if call.scope.counting else index].replace(_COMMA, ",")

    return chosen


def randint(call: CbsCall) -> Result:
    """A whole number from one to another."""
    low, high = call.number(0), call.number(1)
    if math.isnan(low) or math.isnan(high):
        return "NaN"
    return number_text(_floor(random_of(call) * (high - low + 1)) + low)


def _floor(value: float) -> float:
    return float(math.floor(value)) if math.isfinite(value) else value


def _sum(call: CbsCall, count: float, sides: float, source: Callable[[CbsCall, int], float]) -> str:
    dice = checked(math.ceil(count) if math.isfinite(count) else count, "the number of dice", "MAX_DICE", MAX_DICE)
    call.run.dice = checked(call.run.dice + max(dice, 0), "the number of dice", "MAX_DICE", MAX_DICE)
    call.run.spend(max(dice, 0) * _CHARACTERS_A_DIE)
    draws = (source(call, die * _STEPS_BETWEEN_DICE) for die in range(dice))
    return number_text(sum(_floor(draw * sides) + 1 for draw in draws))


def dice(call: CbsCall) -> Result:
    """The sum of dice: ``2d6``."""
    count, sides = (to_number(part) for part in [*call.text(0).split("d"), "undefined"][:2])
    return "NaN" if math.isnan(count) or math.isnan(sides) else _sum(call, count, sides, random_of)


def _roll(source: Callable[[CbsCall, int], float]) -> Function:
    """A function that rolls ``2d6``, ``d6`` or ``6``; ``2d`` and what has several ``d`` have six sides."""

    def rolled(call: CbsCall) -> Result:
        if not call.args:
            return "1"
        before, *behind = call.args[0].split("d")
        if len(behind) > 1:
            return _sum(call, 1.0, _USUAL_SIDES, source)
        count = to_number(before or "1") if behind else 1.0
        sides = to_number(behind[0] or str(_USUAL_SIDES)) if behind else to_number(before)
        return _sum(call, count, sides, source) if count >= 1 and sides >= 1 else "NaN"

    return rolled


FUNCTIONS: Final[Mapping[str, Function]] = by_alias(
    {
        "random": _choice(random_of),
        "pick": _choice(pick_of),
        "randint": randint,
        "dice": dice,
        "roll": _roll(random_of),
        "rollp rollpick": _roll(pick_of),
    }
)
