"""MacroCompat: what of SmartTavern's macro engine is kept although it is unsafe; each a switch."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["FIXED", "SMARTTAVERN", "MacroCompat"]


class MacroCompat(msgspec.Struct, frozen=True, kw_only=True):
    """Each field is true where SmartTavern's behaviour is kept."""

    rescan_values: bool = False
    """What a macro produced is scanned again, so a variable's text can run macros (`smarttavern-notes.md` 1), and is put into
    ``{{python:…}}`` as code. Off: it is data; in ``{{python:…}}`` it is a number or a part of a string, never code."""

    shared_initial: bool = False
    """``variables.initial`` shows writes below its top level, as a shallow copy does (`smarttavern-notes.md` 2-5). Off: it is
    what the variables were."""

    search_placeholder: bool = False
    """Without a history, keywords are searched in the placeholder ``[UndefinedVar:chat_history_text]``
    (`smarttavern-notes.md` 2-7). Off: none is found."""

    functions_as_objects: bool = False
    """A function that ``{{python:setvar(…)}}`` stores becomes an empty object, as in the original's replies
    (`smarttavern-notes.md` 1). Off: it is refused, with a note."""


SMARTTAVERN: Final = MacroCompat(
    rescan_values=True, shared_initial=True, search_placeholder=True, functions_as_objects=True
)
"""The original's behaviour, for ``--profile smarttavern`` and parity."""

FIXED: Final = MacroCompat()
"""The default."""
