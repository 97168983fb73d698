"""The filters that Innkeeper adds to Liquid, and those of python-liquid that it replaces.

Added, as TavernKit has them: ``hash7`` (alias ``hash``), ``pick``, ``rollp``, ``unixtime``, ``isodate``, ``isotime``,
``datetimeformat``. Replaced: ``date`` (the build's clock and UTC instead of the machine's), ``join``, ``uniq`` and
``strip_html`` (linear on any input).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from liquid import RenderContext
from liquid.filter import sequence_filter, string_filter, with_context
from liquid.undefined import is_undefined

from innkeeper.macros.liquid.session import LiquidSession, text_of
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.determinism import EPOCH
from innkeeper.prompt.run.variables import number_of
from innkeeper.text.javascript.random_numbers import utf8_units, word_chance
from innkeeper.text.javascript.template_dates import epoch_seconds, format_moment, moment_of, strftime

_HASHES: Final = 10_000_000
_COUNTER_STEP: Final = 15
_STEPS_A_WORD: Final = 16
_NUMBERS_STEPS: Final = 5000
_UNIT_STEPS: Final = 8
"""Steps of the allowance that making the numbers of a word counts, and each of its units."""
_ITEM_BORDER: Final = re.compile(r"(?<!\\),|:")
_LONGEST_DATE: Final = 100
_LONGEST_EPOCH: Final = 15


def _session(context: RenderContext) -> LiquidSession:
    session: LiquidSession = context.session  # type: ignore[attr-defined]  # every context here is ours
    return session


# ------------------------------------------------------------------------------------------------------------- chance


@with_context
def hash7(value: Any, *, context: RenderContext) -> str:
    """Seven digits that depend only on the text."""
    number = math.floor(_chance(_session(context), text_of(value), 0) * _HASHES)
    return f"{min(max(number, 0), _HASHES - 1):07d}"


@with_context
def pick(value: Any, counter: Any = None, word: Any = None, *, context: RenderContext) -> str:
    r"""One item of a list, of a JSON array, or of a text split at ``,`` and ``:`` (``\,`` is a comma).

    The choice depends on ``counter`` (default: the context's ``message_index``, or 0) and ``word`` (default: its
    ``rng_word``, else the character's name, else ``0``). Items that are not text are written as JSON.
    """
    session = _session(context)
    items = _items(value)
    if not items:
        return ""
    number = _chance(session, _word(session, word), _counter(session, counter))
    item = items[math.floor(number * len(items))]
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, separators=(",", ":"))


@with_context
def rollp(value: Any, counter: Any = None, word: Any = None, *, context: RenderContext) -> int | str:
    """The sum of dice: ``NdM``, ``dM`` or ``M``; ``NaN`` for anything else. Die i counts 15·i further than ``counter``.

    Raises `MacroLimitError` beyond the limits ``dice`` and ``dice_sides``.
    """
    session = _session(context)
    dice = _dice(text_of(value))
    if dice is None:
        return "NaN"
    count, sides = dice
    if count > session.limits.dice:
        raise session.limits.exceeded("dice", "the number of dice", count)
    if sides > session.limits.dice_sides:
        raise session.limits.exceeded("dice_sides", "the sides of a die", sides)
    session.charge(count)
    start, name = _counter(session, counter), _word(session, word)
    return sum(math.floor(_chance(session, name, start + _COUNTER_STEP * i) * sides) + 1 for i in range(count))


def _chance(session: LiquidSession, word: str, counter: int) -> float:
    units = utf8_units(word)
    session.charge(1 + len(units) // _STEPS_A_WORD)
    if word != session.word:
        session.word = word
        charge("chance", _NUMBERS_STEPS + len(units) * _UNIT_STEPS)
    return word_chance(units, counter)


def _counter(session: LiquidSession, value: Any) -> int:
    number = number_of(session.context_value("message_index") if _absent(value) else value)
    return int(number or 0)


def _word(session: LiquidSession, value: Any) -> str:
    choices = (value, session.context_value("rng_word"), session.assigns.get("char"))
    return next((text_of(choice) for choice in choices if not _absent(choice)), "0")


def _absent(value: Any) -> bool:
    return value is None or is_undefined(value)


def _items(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple, range)):
        return list(value)
    text = text_of(value)
    if text.lstrip().startswith("["):
        try:
            decoded = json.loads(text)
        except (ValueError, RecursionError):
            decoded = None
        if isinstance(decoded, list):
            return decoded
    return [item.replace("\\,", ",") for item in _ITEM_BORDER.split(text)] if text else []


def _dice(text: str) -> tuple[int, float] | None:
    """Return the number of dice and of their sides."""
    count_text, letter, sides_text = text.strip().lower().rpartition("d")
    count = number_of(count_text) if letter and count_text.strip() else 1
    sides = number_of(sides_text)
    if count is None or sides is None or count <= 0 or sides < 1:
        return None
    return math.ceil(count), sides


# --------------------------------------------------------------------------------------------------------------- time


def _moment(value: Any, context: RenderContext) -> datetime:
    session = _session(context)
    return moment_of(None if is_undefined(value) else value, session.moment, session.context_value("now_ms"))


@with_context
def unixtime(value: Any = None, *, context: RenderContext) -> int:
    """Seconds since 1970, rounded."""
    return epoch_seconds(_moment(value, context))


@with_context
def isodate(value: Any = None, *, context: RenderContext) -> str:
    """``Y-M-D`` without padding, in UTC."""
    return format_moment(_moment(value, context), "YYYY-M-D")


@with_context
def isotime(value: Any = None, *, context: RenderContext) -> str:
    """``H:M:S`` without padding, in UTC."""
    return format_moment(_moment(value, context), "H:m:s")


@with_context
def datetimeformat(value: Any, pattern: Any = "", *, context: RenderContext) -> str:
    """The UTC moment in a pattern such as ``YYYY-MM-DD [at] HH:mm``."""
    return format_moment(_moment(value, context), text_of(pattern))


@with_context
def date(value: Any, pattern: Any = None, *, context: RenderContext) -> str:
    """Liquid's ``date`` with C's directives. Text that is no date, and anything without a pattern, stays as it is."""
    moment = _date(value, _session(context))
    if moment is None or _absent(pattern) or not text_of(pattern):
        return text_of(value)
    return strftime(moment, text_of(pattern))


def _date(value: Any, session: LiquidSession) -> datetime | None:
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in ("now", "today"):
            return session.moment.now
        return (
            _from_epoch(int(text))
            if text.isascii() and text.isdigit() and len(text) <= _LONGEST_EPOCH
            else _read(text, session)
        )
    return _from_epoch(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _from_epoch(seconds: float) -> datetime | None:
    try:
        return EPOCH + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return None


def _read(text: str, session: LiquidSession) -> datetime | None:
    from dateutil import parser, tz  # type: ignore[import-untyped]  # it ships no types

    if not text or len(text) > _LONGEST_DATE:
        return None
    midnight = session.moment.now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        # The callable keeps dateutil from looking zone names up on the machine.
        moment = parser.parse(text, default=midnight, tzinfos=lambda _name, offset: tz.tzoffset(None, offset or 0))
        return moment if isinstance(moment, datetime) else None
    except (ValueError, OverflowError, TypeError, AttributeError):
        return None


# ---------------------------------------------------------------------------------------------------------- sequences


@with_context
@sequence_filter
def join(items: Iterable[Any], separator: Any = " ", *, context: RenderContext) -> str:
    """The items as one text."""
    session, between = _session(context), text_of(separator)
    parts, size = [], 0
    for item in items:
        parts.append(text_of(item))
        size += len(parts[-1]) + len(between)
        if size > session.limits.value_size:
            raise session.limits.exceeded("value_size", "the result of join", size)
    return between.join(parts)


@sequence_filter
def uniq(items: Iterable[Any], key: Any = None) -> list[Any]:
    """The first of all equal items, or of all with an equal value under ``key``."""
    seen: set[str] = set()
    selected = []
    for item in items:
        value = item.get(key) if key is not None and isinstance(item, Mapping) else item
        mark = f"{type(value).__name__} {text_of(value)}"
        if mark not in seen:
            seen.add(mark)
            selected.append(item)
    return selected


@string_filter
def strip_html(text: str) -> str:
    """The text without tags, comments, and the content of scripts and styles."""
    return "".join(_outside_tags(text))


_CLOSERS: Final = {"<!--": "-->", "<script": "</script>", "<style": "</style>"}
_SPECIAL: Final = re.compile(r"<!--|<script(?=[\s>])|<style(?=[\s>])", re.IGNORECASE)


def _outside_tags(text: str) -> Iterator[str]:
    lowered = text.lower() if len(text.lower()) == len(text) else text
    position, missing = 0, set()
    while (start := text.find("<", position)) >= 0:
        yield text[position:start]
        special = _SPECIAL.match(text, start)
        closer = _CLOSERS[special.group().lower()] if special else ">"
        end = -1 if closer in missing else lowered.find(closer, start)
        if end < 0:
            missing.add(closer)
            closer, end = ">", -1 if ">" in missing else text.find(">", start)
        if end < 0:
            yield text[start:]
            return
        position = end + len(closer)
    yield text[position:]


# ----------------------------------------------------------------------------------------------------------- registry


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "hash7": hash7,
    "hash": hash7,
    "pick": pick,
    "rollp": rollp,
    "unixtime": unixtime,
    "isodate": isodate,
    "isotime": isotime,
    "datetimeformat": datetimeformat,
    "date": date,
    "join": join,
    "uniq": uniq,
    "strip_html": strip_html,
}
"""Filters by the name that templates use."""

TEXT_FILTERS: Final = frozenset(
    {
        *("append", "prepend", "capitalize", "downcase", "upcase", "lstrip", "rstrip", "strip", "squish"),
        *(
            "escape",
            "escape_once",
            "escapejs",
            "newline_to_br",
            "strip_newlines",
            "strip_html",
            "url_encode",
            "url_decode",
        ),
        *("remove", "remove_first", "remove_last", "replace", "replace_first", "replace_last", "split", "truncate"),
        *("truncatewords", "base64_encode", "base64_decode", "base64_url_safe_encode", "base64_url_safe_decode"),
    }
)
"""Filters whose input and arguments are texts: other values become what a template would print."""

GROWTH: Final[Mapping[str, Callable[..., int]]] = {
    "replace": lambda text, old="", new="": len(text) + text.count(str(old)) * max(0, len(str(new)) - len(str(old)))
}
"""For filters whose result can be far larger than their input: its size, without making it."""
