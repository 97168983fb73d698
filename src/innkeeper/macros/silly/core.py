"""Macros that need neither card nor chat: blank space, trimming, comments, conditions, dice and choices.

``{{trim}}`` takes the newlines around it along. ``{{pick}}`` chooses the same for its place in a chat each time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Final

from msgspec import structs

from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.macros.engine.errors import MacroLimitError
from innkeeper.macros.engine.macro import KEEP, Call, Macro, TagSpan, dedent
from innkeeper.macros.silly.variables import falsy
from innkeeper.prompt.allowance import charge
from innkeeper.text.javascript.random_numbers import Dice, SeedRandom, read_dice, string_hash, throw
from innkeeper.text.javascript.values import number_text, strip

MAX_DICE: Final = 100_000
"""Dice thrown in one build (`MacroLimitError`; the throw stays as text)."""

TRIM = "{{trim}}"
"""The mark that a ``{{trim}}`` without content leaves: it is removed at the end, with the newlines around it."""

ELSE = "\x00\x1fELSE\x1f\x00"
"""The mark that an ``{{else}}`` outside of a condition leaves until the text is done."""

_COMPLETE = 2
_BARE = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*|//")
_VARIABLE = re.compile(r"[.$][a-zA-Z](?:[a-zA-Z0-9_-]*[a-zA-Z0-9_])?")


def _repeat(name: str, text: str) -> Macro:
    return Macro(name, lambda call: call.repeated(text, call.whole_number(0, 1)), most=1, integers=frozenset({0}))


def _if(call: Call) -> str:
    condition, body = call.spans
    then, other = _branches(body if body.block else call.evaluation.stripped(body), call.tag.loose)
    text = call.evaluation.branch(call.tag, then if _holds(call, condition) else other)
    if not body.block:
        return strip(text)
    return text if KEEP in call.tag.flags else dedent(text)


def _branches(body: TagSpan, loose: int) -> tuple[TagSpan, TagSpan]:
    """The texts before and after the first ``{{else}}`` of this condition; without one the second is empty."""
    depth = 0
    for index in range(body.first, body.last):
        tag = body.run.tags[index]
        if body.block and tag.loose != loose:
            continue
        if tag.name == "if":
            depth += -1 if tag.closing else len(tag.arguments) < _COMPLETE
        elif tag.name == "else" and depth <= 0:
            then = structs.replace(body, last=index, end=tag.start)
            return then, structs.replace(body, first=index + 1, start=tag.end)
    return body, structs.replace(body, first=body.last, start=body.end)


def _holds(call: Call, condition: TagSpan) -> bool:
    evaluation = call.evaluation
    condition = evaluation.stripped(condition)
    inverted = evaluation.text.startswith("!", condition.start, condition.end)
    if inverted:
        condition = evaluation.stripped(structs.replace(condition, start=condition.start + 1))
    text = evaluation.branch(call.tag, condition)
    if _VARIABLE.fullmatch(text) or (_BARE.fullmatch(text) and text.lower() in evaluation.pack.table):
        text = evaluation.nested("{{" + text + "}}")
    return falsy(text) is inverted


CORE_MACROS = (
    _repeat("space", " "),
    _repeat("newline", "\n"),
    Macro("noop", lambda _call: ""),
    Macro("trim", lambda call: call.arguments[0] if call.block else TRIM, most=1),
    Macro("if", _if, 2, 2, lazy=True),
    Macro("else", lambda _call: ELSE),
    Macro("//", lambda _call: "", 1, 1, aliases=("comment",)),
    Macro("reverse", lambda call: call.arguments[0][::-1], 1, 1),
)
"""``space``, ``newline``, ``noop``, ``trim``, ``if``, ``else``, comments, ``reverse``."""


_TRIM: Final = re.compile(r"\{\{trim\}\}", re.IGNORECASE | re.ASCII)
_NEWLINES: Final = re.compile(r"(?:\r?\n)*")


def trimmed_spans(text: str) -> Iterator[tuple[int, int]]:
    r"""Each ``{{trim}}`` with the newlines before and behind it, from start to end (exclusive); other blank space stays.

    >>> list(trimmed_spans("a\n\n{{trim}}\n b"))
    [(1, 12)]
    """
    position = 0
    for match in _TRIM.finditer(text):
        start = max(position, match.start())
        while start > position and text[start - 1] == "\n":
            start -= 2 if start - 1 > position and text[start - 2] == "\r" else 1
        position = max(position, _NEWLINES.match(text, match.end()).end())  # type: ignore[union-attr]  # it matches nothing
        yield start, position


def without_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """``text`` without these spans, which are in order."""
    pieces, position = StringIO(), 0
    for start, end in spans:
        pieces.write(text[position:start])
        position = end
    return pieces.getvalue() + text[position:] if position else text


def without_trims(text: str) -> str:
    r"""``text`` without its `trimmed_spans`.

    >>> without_trims("a\n\n{{trim}}\n b")
    'a b'
    """
    first, *others = _TRIM.split(text)
    charge("macros", len(others) * (_RETURN_STEPS if "\r" in text else _TRIM_STEPS))
    if not others or "\r" in text:
        return without_spans(text, trimmed_spans(text))
    *inner, last = others
    return "".join([first.rstrip("\n"), *[part.strip("\n") for part in inner], last.lstrip("\n")])


_TRIM_STEPS: Final = 3
_RETURN_STEPS: Final = 30
"""What a ``{{trim}}`` counts for in a text that has carriage returns, whose line breaks are looked at one by one."""


_COMMA = "\x00"
_HASHED = "hashed"
_NOTHING = (None, 0)


def roll(formula: str, env: MacroEnvironment) -> str | None:
    """Throw dice: the sum as text; ``None`` for an invalid formula. Raises `MacroLimitError` past `MAX_DICE` in a build."""
    dice = read_dice(formula)
    if dice is None:
        return None
    _count(dice, env)
    return number_text(throw(dice, env.random))


def _count(dice: Dice, env: MacroEnvironment) -> None:
    rolled = env.spent.dice + dice.count
    if rolled > MAX_DICE:
        what = "the number of dice thrown in one build"
        raise MacroLimitError(what, limit="MAX_DICE", allowed=MAX_DICE, found=rolled)
    env.spent.dice = rolled


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
    if evaluation.memory.get(_HASHED, _NOTHING)[0] is not evaluation.raw:
        evaluation.memory[_HASHED] = (evaluation.raw, string_hash(evaluation.raw))
    number = chat_hash(call.env)
    if not isinstance(number, int) and call.env.chat_id is not None:
        number = string_hash(call.env.chat_id)
    seed = f"{number}-{evaluation.memory[_HASHED][1]}-{evaluation.offset(call.tag)}"
    if call.env.pick_seed:
        seed += f"-{call.env.pick_seed}"
    return picked(items, f"{string_hash(seed)}")


def picked(items: tuple[str, ...], seed: str) -> str:
    """The item that a seed chooses."""
    return items[math.floor(SeedRandom(seed).random() * len(items))]


def chat_hash(env: MacroEnvironment) -> int | str:
    """The hash of the chat's name, unless the chat keeps one: a renamed chat picks as it did."""
    return env.chat_id_hash or (0 if env.chat_id is None else string_hash(env.chat_id))


CHANCE_MACROS = (Macro("roll", _roll, 1, 1), Macro("random", _random, rest=True), Macro("pick", _pick, rest=True))
"""``roll``, ``random``, ``pick``."""
