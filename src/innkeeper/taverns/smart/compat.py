"""Compat: where SmartTavern's original and its document differ, each difference a switch; a profile is a set of them.

Both profiles keep the document's rules (3-smarttavern-in-chat-constructor). They differ in what is unsafe in the
original, or loses something without a word. `SmartOptions` is everything the operations take besides their data:
these switches, and time, chance and permissions of macros.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from innkeeper.macros.smart.options import FIXED, SMARTTAVERN, MacroCompat
from innkeeper.prompt.errors import UnknownNameError

if TYPE_CHECKING:
    from datetime import datetime

    from innkeeper.macros.smart import MacroOptions


class Compat(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The switches. Their defaults are those of the profile ``fixed``."""

    order_zero: Literal["zero", "default"] = "zero"
    """What an order of 0 is: 0, as the document's ascending order has it, or the default of 100 (the original)."""

    history_system_type: Literal["history.system", "history.assistant"] = "history.system"
    """The source type of a system message of the history: the document's example, or the original's."""

    framing_system_type: Literal["history.system", "history.assistant"] = "history.assistant"
    """The same in framing, for a history without sources; here no document contradicts the original."""

    negative_depth: Literal["sorted", "scrambled"] = "sorted"
    """How entries of one negative depth stand: in their sorted order, or as inserting them one by one leaves them."""

    emit_source_id: bool = True
    """Whether sources carry ``source_id``, which the document does not know and views of the original read."""

    conditional_presets: bool = True
    """Whether a preset's ``mode`` and ``condition`` count; the document has conditions for world books only."""

    wide_books: bool = True
    """Whether books are found in every container: books in lists, by name, and lists within lists given to the pipeline. The
    original drops all of their entries without a word."""

    chat_python: bool = False
    """Whether ``{{python:…}}`` runs in the messages of a chat too, which users and models write (the original)."""

    macros: MacroCompat = FIXED
    """What macros keep of the original that is not safe: texts of variables that run, and the like."""

    lossy_merges: bool = False
    """Whether merging loses as the original does: of the entries of books that have no ``id`` only the first stays, the key of
    ``union_by_key`` never counts, and a chat's ``roots`` go on naming a root that was removed."""


DEFAULT_PROFILE: Final = "fixed"
"""The profile of requests that name none."""

PROFILES: Final = MappingProxyType(
    {
        DEFAULT_PROFILE: Compat(),
        "smarttavern": Compat(wide_books=False, chat_python=True, macros=SMARTTAVERN, lossy_merges=True),
    }
)


def compat_of(profile: str | None) -> Compat:
    """The switches of a profile (``None``: the default one). Raises `UnknownNameError`."""
    name = profile or DEFAULT_PROFILE
    if name not in PROFILES:
        raise UnknownNameError("profile", name, PROFILES)
    return PROFILES[name]


def _macros() -> MacroOptions:
    from innkeeper.macros.smart import MacroOptions

    return MacroOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class SmartOptions:
    """``compat``: the choices between two behaviours. ``macros``: time, randomness, and what macros may do."""

    compat: Compat = PROFILES["fixed"]
    macros: MacroOptions = field(default_factory=_macros)

    @property
    def now(self) -> datetime:
        """The moment of a call."""
        return self.macros.now

    @property
    def lossy_merges(self) -> bool:
        """`Compat.lossy_merges`."""
        return self.compat.lossy_merges

    @classmethod
    def of(cls, profile: str | None = None, **macros: Any) -> SmartOptions:
        """The options of a profile; ``macros`` are fields of its `MacroOptions`. Raises `UnknownNameError`."""
        from innkeeper.macros.smart import MacroOptions

        compat = compat_of(profile)
        macros.setdefault("compat", compat.macros)
        return cls(compat=compat, macros=MacroOptions(**macros))
