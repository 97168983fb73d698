"""SmartOptions: what the operations of this tavern are told besides their data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from innkeeper.taverns.smart.compat import PROFILES, Compat, compat_of

if TYPE_CHECKING:
    from innkeeper.macros.smart import MacroOptions

__all__ = ["SmartOptions"]


def _macros() -> MacroOptions:
    from innkeeper.macros.smart import MacroOptions

    return MacroOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class SmartOptions:
    """``compat``: which of two behaviours where there are two. ``macros``: time, chance, and what macros may do."""

    compat: Compat = PROFILES["fixed"]
    macros: MacroOptions = field(default_factory=_macros)

    @classmethod
    def of(cls, profile: str | None = None, **macros: Any) -> SmartOptions:
        """The options of a profile; ``macros`` are fields of its `MacroOptions`. Raises `UnknownNameError`."""
        from innkeeper.macros.smart import MacroOptions

        compat = compat_of(profile)
        macros.setdefault("compat", compat.macros)
        return cls(compat=compat, macros=MacroOptions(**macros))
