"""Lore: which lorebook entries a chat calls up, and the decision about every one of them."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.lore.activation import Activated as Activated
    from innkeeper.lore.activation import LoreInput as LoreInput
    from innkeeper.lore.activation import LoreResult as LoreResult
    from innkeeper.lore.activation import scan as scan
    from innkeeper.lore.compiled import CompiledEntry as CompiledEntry
    from innkeeper.lore.compiled import CompiledLore as CompiledLore
    from innkeeper.lore.compiled import compile_lore as compile_lore
    from innkeeper.lore.lint import lint_book as lint_book
    from innkeeper.lore.matcher import ScanSources as ScanSources
    from innkeeper.lore.order import LoreScope as LoreScope
    from innkeeper.lore.order import ScopedBook as ScopedBook
    from innkeeper.lore.settings import InsertionStrategy as InsertionStrategy
    from innkeeper.lore.settings import LoreSettings as LoreSettings
    from innkeeper.lore.timed import TimedEffects as TimedEffects
    from innkeeper.lore.verdict import BaseReason as BaseReason
    from innkeeper.lore.verdict import Reason as Reason
    from innkeeper.lore.verdict import Verdict as Verdict

_HOMES: Final = {
    "activation": ("Activated", "LoreInput", "LoreResult", "scan"),
    "compiled": ("CompiledEntry", "CompiledLore", "compile_lore"),
    "lint": ("lint_book",),
    "matcher": ("ScanSources",),
    "order": ("LoreScope", "ScopedBook"),
    "settings": ("InsertionStrategy", "LoreSettings"),
    "timed": ("TimedEffects",),
    "verdict": ("BaseReason", "Reason", "Verdict"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
