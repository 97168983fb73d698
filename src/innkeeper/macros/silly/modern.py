"""The present macro engine of SillyTavern 1.19: its grammar, its table, and what it does to a text before and after."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from innkeeper.macros.engine.evaluate import Macro, Pack
from innkeeper.macros.engine.scanner import Grammar
from innkeeper.macros.silly import card, chat, core, settings, variables
from innkeeper.macros.silly.core import without_trims

__all__ = ["GRAMMAR", "PACK", "TABLE", "table_of"]


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
        text = _MARKS.sub(lambda found: _NAMES.get(found[1].lower(), "{{group}}"), text)
    return text


def _after(text: str) -> str:
    if "\\" in text:
        text = text.replace("\\{", "{").replace("\\}", "}")
    if core.ELSE in text:
        text = text.replace(core.ELSE, "")
    return without_trims(text) if "{{" in text else text


PACK: Final = Pack(
    title="new", grammar=GRAMMAR, table=TABLE, before=_before, after=_after, variable=variables.shorthand
)
"""The engine as a pack."""
