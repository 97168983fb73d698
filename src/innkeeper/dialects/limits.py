"""The limits of this floor: one name, one number each. Crossing one raises a `LimitError` that carries the name."""

from __future__ import annotations

from typing import Final

__all__ = [
    "MAX_DATA_DEPTH",
    "MAX_TEMPLATE_CHARS",
    "MAX_TEMPLATE_OUTPUT_CHARS",
    "TEMPLATE_CPU_SECONDS",
    "TEMPLATE_FUEL",
    "TEMPLATE_FUEL_PER_MESSAGE",
    "TEMPLATE_MEMORY_BYTES",
    "TEMPLATE_SECONDS",
]

MAX_DATA_DEPTH: Final = 100
"""How deep metadata, tool schemas, tool arguments and options may nest."""

MAX_TEMPLATE_CHARS: Final = 262_144
"""The longest chat template that is read, in characters. The longest published ones have some 30,000."""

MAX_TEMPLATE_OUTPUT_CHARS: Final = 64 * 1024 * 1024
"""The longest prompt a chat template may make, in characters."""

TEMPLATE_FUEL: Final = 200_000
"""Steps of the template engine a rendering may take whatever the chat's length."""

TEMPLATE_FUEL_PER_MESSAGE: Final = 5_000
"""Further steps for each message. ChatML takes about 30, templates with tools a few hundred."""

TEMPLATE_MEMORY_BYTES: Final = 1024 * 1024 * 1024
"""Address space of the process that renders an untrusted template, where the system can limit it."""

TEMPLATE_CPU_SECONDS: Final = 10
"""Processor time of that process, where the system can limit it."""

TEMPLATE_SECONDS: Final = 20.0
"""Wall time of that process."""
