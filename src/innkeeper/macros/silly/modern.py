"""The present macro engine of SillyTavern 1.19: its grammar, its table, and what it does to a text before and after."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from innkeeper.macros.engine.macro import Macro, Pack
from innkeeper.macros.engine.ranges import MacroRange, RangeEdit, edited
from innkeeper.macros.engine.syntax import Grammar
from innkeeper.macros.silly import card, chat, core, settings, variables
from innkeeper.prompt.allowance import AllowanceError, charge


def table_of(macros: Iterable[Macro]) -> dict[str, Macro]:
    """A table by lower-case name, other names included."""
    return {name.lower(): macro for macro in macros for name in (macro.name, *macro.aliases)}


TABLE: Final = table_of(
    (
        *core.CORE_MACROS,
        *core.CHANCE_MACROS,
        *card.MACROS,
        *chat.CHAT_MACROS,
        *chat.TIME_MACROS,
        *variables.MACROS,
        *settings.INSTRUCT_MACROS,
        *settings.STATE_MACROS,
        *settings.STOCK_MACROS,
    )
)
"""Every macro of the engine by lower-case name."""


def _takes_block(name: str, arguments: int) -> bool:
    macro = TABLE.get(name)
    return macro is None or (not macro.rest and macro.least <= arguments + 1 <= macro.most)


GRAMMAR: Final = Grammar(
    title="sillytavern-1.19",
    flags="!?~>#/",
    comment="//(?!/)",
    scopes=".$",
    operators=variables.OPERATORS,
    valued=variables.VALUED,
    takes_block=_takes_block,
)

_LEGACY: Final = re.compile(r"\{\{time_(UTC[+-][0-9]+)\}\}", re.IGNORECASE | re.ASCII)
_MARKS: Final = re.compile(r"<(USER|BOT|CHAR|GROUP|CHARIFNOTGROUP)>", re.IGNORECASE | re.ASCII)
_NAMES: Final = {"user": "{{user}}", "bot": "{{char}}", "char": "{{char}}"}


def _before(text: str) -> str:
    if "_" in text:
        text = _LEGACY.sub(r"{{time::\1}}", text)
    if "<" in text:
        charge("macros", text.count("<") * _MARK_STEPS)
        text = _MARKS.sub(lambda match: _NAMES.get(match[1].lower(), "{{group}}"), text)
    return text


_MARK_STEPS: Final = 5
"""The steps charged for an angle bracket."""
_EDIT_STEPS: Final = 10
"""The steps charged for a removed part with ranges behind it."""
_ESCAPES: Final = re.compile(r"\\(?=[{}])")
_ELSE: Final = re.compile(re.escape(core.ELSE))
_REMOVED: Final[tuple[tuple[str, Callable[[str], Iterable[tuple[int, int]]], Callable[[str], str]], ...]] = (
    ("\\", lambda text: (match.span() for match in _ESCAPES.finditer(text)), lambda text: _ESCAPES.sub("", text)),
    (core.ELSE, lambda text: (match.span() for match in _ELSE.finditer(text)), lambda text: _ELSE.sub("", text)),
    ("{{", core.trimmed_spans, core.without_trims),
)
"""The parts removed from an evaluated text, in this order: their mark, their spans, and the text without them."""


def finished(text: str, ranges: list[MacroRange] | None) -> str:
    """An evaluated text without the backslashes of escapes and without trims; ``ranges`` are moved with it.

    Where the allowance does not reach for moving them, they are given up.
    """
    for mark, spans_of, without in _REMOVED:
        if mark in text:
            if ranges:
                ranges[:] = _moved(ranges, text.count(mark), spans_of(text))
            text = without(text)
    return text


def _moved(ranges: list[MacroRange], count: int, spans: Iterable[tuple[int, int]]) -> list[MacroRange]:
    try:
        charge("macros", count * _EDIT_STEPS)
    except AllowanceError:
        return []
    return edited(ranges, (RangeEdit(start, end, 0) for start, end in spans))


PACK: Final = Pack(
    title="new",
    grammar=GRAMMAR,
    table=TABLE,
    before=_before,
    after=lambda text: finished(text, None),
    variable=variables.shorthand,
)
"""The engine as a pack."""
