"""Patterns of several languages, from ``gate/data/patterns.toml``, which documents them."""

from __future__ import annotations

import re
from functools import cache

from innkeeper.gate.words.tables import tables


def pattern_names() -> tuple[str, ...]:
    """Return the names of all patterns."""
    return tuple(tables().patterns)


@cache
def gate_pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of this name, compiled on first use."""
    return re.compile(tables().patterns[name])
