"""Lore: which lorebook entries a chat calls up, and the decision about every one of them."""

from innkeeper.lore.activation import Activated, LoreInput, LoreResult, scan
from innkeeper.lore.compiled import CompiledEntry, CompiledLore, compile_lore
from innkeeper.lore.lint import lint_book
from innkeeper.lore.matcher import ScanSources
from innkeeper.lore.order import LoreScope, ScopedBook
from innkeeper.lore.settings import InsertionStrategy, LoreSettings
from innkeeper.lore.timed import TimedEffects
from innkeeper.lore.verdict import BaseReason, Reason, Verdict

__all__ = [
    "Activated",
    "BaseReason",
    "CompiledEntry",
    "CompiledLore",
    "InsertionStrategy",
    "LoreInput",
    "LoreResult",
    "LoreScope",
    "LoreSettings",
    "Reason",
    "ScanSources",
    "ScopedBook",
    "TimedEffects",
    "Verdict",
    "compile_lore",
    "lint_book",
    "scan",
]
