"""Limits of lore scanning (RELIABILITY: lore and regex rows). Past one, the rule is reported and the build goes on."""

from __future__ import annotations

from typing import Final

__all__ = [
    "MAX_LOOPS",
    "MAX_MEMO_BYTES",
    "MAX_MEMO_TEXTS",
    "MAX_SCAN_DEPTH",
]

MAX_SCAN_DEPTH: Final = 1000
"""How many messages a scan may look back."""

MAX_LOOPS: Final = 1000
"""How many passes one scan may take, whatever the settings."""

MAX_MEMO_BYTES: Final = 16 * 1024 * 1024
"""How many bytes of texts, with what was found in them, one matcher remembers."""

MAX_MEMO_TEXTS: Final = 8192
"""How many texts a compiled set of books remembers the hits of."""
