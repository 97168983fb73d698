"""Substitution: a text with its macros replaced, by the present engine or the one before it.

Texts whose only macros are ``{{user}}`` and ``{{char}}``, as those of most cards and books are, are filled without either; what
comes out, what it costs of the build's limits and which ranges are recorded is what the present engine would give.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec

from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.macros.engine.errors import CACHED_CHARS, MAX_EXPANSIONS, MAX_OUTPUT
from innkeeper.macros.engine.evaluate import Evaluation, Trace
from innkeeper.macros.engine.macro import Pack
from innkeeper.macros.engine.ranges import MacroRange, made_pieces
from innkeeper.macros.engine.spending import Spent, check_limits, stop
from innkeeper.macros.silly.card import BARE
from innkeeper.prompt.allowance import AllowanceError, allowed, current_allowance
from innkeeper.prompt.block import Origin, Piece
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import LimitError
from innkeeper.prompt.typed.once import once
from innkeeper.text.javascript.values import text_of

_LONG: Final = 1_000
"""Shorter texts are covered by the limits of macros."""
_TAG: Final = re.compile(r"<(?:user|bot|char|group|charifnotgroup)>", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\[{}]")
_NAME: Final = re.compile(r"\{\{(user|char)\}\}")
_BRACES: Final = re.compile(r"[{}\\]")
_RANGE_BYTES: Final = 64
"""The bytes charged for a range."""


class NamedText(msgspec.Struct, frozen=True):
    """A text with the names in it, and the ``ranges`` that they fill; of ``tags``, ``made`` characters came."""

    text: str
    ranges: tuple[MacroRange, ...] = ()
    tags: int = 0
    made: int = 0


_OTHER: Final = NamedText("")
"""Cached for a text that has other macros, braces or escapes."""
_NAMED: Final[BoundedCache[tuple[str, str, str], NamedText]] = BoundedCache(items=4_096)


def is_plain(text: str) -> bool:
    """Whether no macro can be in a text, so that `substitute` would return it as it is. Other tags, as of HTML, are no macros."""
    if "{{" in text or ("<" in text and _TAG.search(text) is not None):
        return False
    return "\\" not in text or _ESCAPE.search(text) is None


def substitute(  # noqa: PLR0913 - each is an input of its own
    text: str,
    env: MacroEnvironment,
    *,
    pack: Literal["new", "legacy"] = "new",
    original: str | None = None,
    dynamic: Mapping[str, Any] | None = None,
    replace_character_card: bool = True,
    trace: Trace | None = None,
    ranges: list[MacroRange] | None = None,
) -> str:
    """``text`` with its macros replaced. Unknown and malformed ones stay as written, with a warning through ``env.warn``.

    ``original`` is what ``{{original}}`` stands for, ``dynamic`` further macros without arguments. With
    ``replace_character_card=False`` card fields stay out. Text without any macro opener is returned as it is. ``ranges``, an
    empty list, is filled with what each macro made of the result, in order. A long text has an allowance of its own where
    there is none.
    """
    if len(text) > _LONG and current_allowance() is None:
        with allowed():
            return substitute(
                text,
                env,
                pack=pack,
                original=original,
                dynamic=dynamic,
                replace_character_card=replace_character_card,
                trace=trace,
                ranges=ranges,
            )
    if pack == "legacy":
        from innkeeper.macros.silly.legacy import substitute_legacy

        return substitute_legacy(
            text,
            env,
            original=original,
            dynamic=dynamic,
            replace_character_card=replace_character_card,
            trace=trace,
            ranges=ranges,
        )
    if is_plain(text):
        return text
    return _modern(text, env, original, dynamic, replace_character_card, trace, ranges)


def expand_pieces(text: str, env: MacroEnvironment, origin: Origin, **options: Any) -> tuple[Piece, ...]:
    """`substitute` with ``options``, as pieces: text of ``origin``, and what a macro made under its name beside that origin."""
    ranges: list[MacroRange] = []
    return made_pieces(substitute(text, env, ranges=ranges, **options), ranges, origin)


def _modern(
    text: str,
    env: MacroEnvironment,
    original: str | None,
    dynamic: Mapping[str, Any] | None,
    replace_character_card: bool,  # noqa: FBT001 - as above
    trace: Trace | None,
    ranges: list[MacroRange] | None,
) -> str:
    pack, finished = _engine()
    try:
        raw, text = text, pack.before(text)
    except AllowanceError as error:
        stop(env, error, text, 0)
        return text
    if pack.grammar.open not in text:
        return pack.after(text)
    if trace is None and not dynamic and not env.dynamic:
        named_text = with_names(text, env.user, env.char)
        if named_text is not None and within_limits(named_text, env.spent):
            if ranges is not None:
                ranges.extend(named_text.ranges)
            return finished(named_text.text, ranges)
    memory: dict[str, Any] = {BARE: not replace_character_card, "original": original}
    named = {**env.dynamic, **dynamic} if dynamic else env.dynamic
    values = {name.lower(): _dynamic(value) for name, value in named.items()} if named else {}
    evaluation = Evaluation(raw, text, pack, env, values, trace, memory=memory, ranges=ranges)
    return finished(evaluation.run(), ranges)


def with_names(text: str, user: str, char: str) -> NamedText | None:
    """The text with these names; ``None`` if it has other macros, braces or escapes, or is long."""
    if len(text) > CACHED_CHARS:
        return None
    key = (text, user, char)
    known = _NAMED.get(key)
    if known is None:
        known = _filled(_NAME.split(text), {"user": user, "char": char})
        _NAMED.put(key, known, 2 * (len(text) + len(known.text)) + _RANGE_BYTES * len(known.ranges))
    return None if known is _OTHER else known


def _filled(parts: list[str], values: Mapping[str, str]) -> NamedText:
    """A text, a macro's name, text, and so on, with the names' values."""
    if any(_BRACES.search(part) for part in parts[::2]):
        return _OTHER
    ranges, position, made = [], 0, 0
    names, parts[1::2] = parts[1::2], [values[name] for name in parts[1::2]]
    for text, value, name in zip(parts[::2], parts[1::2], names, strict=False):
        position += len(text)
        if value:
            ranges.append(MacroRange(position, position + len(value), name))
        position += len(value)
        made += len(value)
    return NamedText("".join(parts), tuple(ranges), len(names), made)


def within_limits(named_text: NamedText, spent: Spent) -> bool:
    """Whether a build may still fill these names, which are counted then; where it may not, the engine says why."""
    if spent.expansions >= spent.next_check:
        try:
            check_limits(spent)
        except LimitError:
            return False
    if spent.expansions + 2 * named_text.tags >= MAX_EXPANSIONS or spent.output + named_text.made > MAX_OUTPUT:
        return False
    spent.expansions += named_text.tags
    spent.output += named_text.made
    return True


@once
def _engine() -> tuple[Pack, Callable[[str, list[MacroRange] | None], str]]:
    """The present engine as a pack, and what finishes an evaluated text; loaded with the first macro."""
    from innkeeper.macros.silly.modern import PACK, finished

    return PACK, finished


def _dynamic(value: Any) -> str | None:
    return None if value is None or isinstance(value, (dict, list, tuple)) else text_of(value)
