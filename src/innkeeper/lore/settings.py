"""LoreSettings: the settings that hold for every entry of every book in a scan, and the limits of scanning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import ConfigError
from innkeeper.prompt.typed.once import convert

MAX_SCAN_DEPTH: Final = 1000
"""Messages a scan may look back (no error: what is older is not searched)."""

MAX_LOOPS: Final = 1000
"""The most passes of one scan, whatever the settings (no error: it ends with what has fired)."""

MAX_MEMO_BYTES: Final = 32 * 1024 * 1024
"""Bytes of texts and their hits that all compiled books cache together (no error: others are searched again)."""

MAX_MEMO_TEXTS: Final = 32_768
"""Texts whose hits all compiled books cache together (no error: the rest is searched again)."""


class InsertionStrategy(IntEnum):
    """How books of the character and global books mix, by SillyTavern's numbers."""

    EVENLY = 0
    CHARACTER_FIRST = 1
    GLOBAL_FIRST = 2


class LoreSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Depths in messages, ``budget`` in percent of the context, ``budget_cap`` in tokens (0: none).

    ``min_activations`` asks for that many entries, looking further back one message at a time, at most
    ``min_activations_depth_max`` messages (0: the whole chat). ``max_recursion_steps`` limits passes (0: no limit).
    With ``unicode_words`` letters beyond ASCII belong to words too.
    """

    depth: int = 2
    min_activations: int = 0
    min_activations_depth_max: int = 0
    budget: float = 25
    budget_cap: int = 0
    include_names: bool = True
    recursive: bool = False
    case_sensitive: bool = False
    match_whole_words: bool = False
    use_group_scoring: bool = False
    character_strategy: int = InsertionStrategy.CHARACTER_FIRST
    max_recursion_steps: int = 0
    overflow_alert: bool = False
    unicode_words: bool = False

    @classmethod
    def of(cls, fields: Mapping[str, Any] | None) -> LoreSettings:
        """Settings under our names or SillyTavern's ``world_info_…``. Raises `ConfigError` naming the field."""
        named = {str(key).removeprefix(_PREFIX): value for key, value in (fields or {}).items() if value is not None}
        known = {key: value for key, value in named.items() if key in cls.__struct_fields__}
        try:
            return convert(known, cls, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError(f"lore settings: {error}") from error

    def tokens(self, context_tokens: int) -> int:
        """The lore budget in tokens for a context of ``context_tokens`` (window less reply).

        It is 1 where the share rounds to nothing, and below 0 where the reply is larger than the window: no entry fits then.
        """
        within = max(-_MOST_TOKENS, min(context_tokens, _MOST_TOKENS))
        share = math.floor(self.budget * within / 100 + 0.5) or 1
        return min(share, self.budget_cap) if self.budget_cap > 0 else share


_MOST_TOKENS: Final = 2**53
"""A larger window counts as this one: beyond it, floats do not represent every integer."""

_PREFIX: Final = "world_info_"
