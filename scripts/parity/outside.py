"""Python's own generator, for runs that must draw what SmartTavern drew: seeded by the caller, never by the machine."""

from __future__ import annotations

import random


def python_chance(seed: int) -> random.Random:
    """The generator of ``random.seed(seed)``; a `innkeeper.macros.smart.options.Chance`."""
    return random.Random(seed)  # noqa: S311 - it throws dice
