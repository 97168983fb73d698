"""Macros of chance: dice, a random choice, and a choice that stays the same for its place in a chat."""

from __future__ import annotations

import math

from innkeeper.macros.environment import MacroEnvironment
from innkeeper.macros.errors import MacroLimitError
from innkeeper.macros.evaluate import Call, Macro
from innkeeper.macros.limits import MAX_DICE
from innkeeper.text.javascript.random_numbers import Dice, SeedRandom, read_dice, string_hash, throw
from innkeeper.text.javascript.values import number_text, strip

__all__ = ["MACROS", "chat_hash", "picked", "roll"]

_COMMA = "\x00"


def roll(formula: str, env: MacroEnvironment) -> str | None:
    """A throw of dice as text; ``None`` when the formula is none. Raises `MacroLimitError` past `MAX_DICE` in a build."""
    dice = read_dice(formula)
    if dice is None:
        return None
    _count(dice, env)
    return number_text(throw(dice, env.random))


def _count(dice: Dice, env: MacroEnvironment) -> None:
    found = env.spent.dice + dice.count
    if found > MAX_DICE:
        what = "the number of dice thrown in one build"
        raise MacroLimitError(what, limit="MAX_DICE", allowed=MAX_DICE, found=found)
    env.spent.dice = found


def _roll(call: Call) -> str:
    result = roll(call.arguments[0], call.env)
    if result is None:
        call.warn(f"{call.arguments[0][:40]!r} is no throw of dice")
        return ""
    return result


def items_of(arguments: tuple[str, ...]) -> tuple[str, ...]:
    r"""What there is to choose from: the arguments, or the parts of a single one: at ``::``, else at commas (not ``\,``)."""
    if len(arguments) != 1:
        return arguments
    if "::" in arguments[0]:
        return tuple(strip(part) for part in arguments[0].split("::"))
    parts = arguments[0].replace("\\,", _COMMA).split(",")
    return tuple(strip(part).replace(_COMMA, ",") for part in parts)


def _random(call: Call) -> str:
    items = items_of(call.arguments)
    return items[math.floor(call.env.random.random() * len(items))] if items else ""


def _pick(call: Call) -> str:
    items = items_of(call.arguments)
    if not items:
        return ""
    evaluation = call.evaluation
    seed = f"{_number(chat_hash(call.env), call.env)}-{string_hash(evaluation.raw)}-{evaluation.offset(call.tag)}"
    if call.env.pick_seed:
        seed += f"-{call.env.pick_seed}"
    return picked(items, f"{string_hash(seed)}")


def _number(found: int | str, env: MacroEnvironment) -> int | str:
    return found if isinstance(found, int) or env.chat_id is None else string_hash(env.chat_id)


def picked(items: tuple[str, ...], seed: str) -> str:
    """The item that a seed chooses."""
    return items[math.floor(SeedRandom(seed).random() * len(items))]


def chat_hash(env: MacroEnvironment) -> int | str:
    """The hash of the chat's name, unless the chat keeps one: a renamed chat picks as it did."""
    return env.chat_id_hash or (0 if env.chat_id is None else string_hash(env.chat_id))


MACROS = (
    Macro("roll", _roll, 1, 1),
    Macro("random", _random, rest=True),
    Macro("pick", _pick, rest=True),
)
"""``roll``, ``random``, ``pick``."""
