"""Every limit of this package, by name. Each is raised as the `LimitError` that names it, unless its docstring says more."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CANCEL_INTERVAL",
    "DEFAULT_MAX_TOOL_BYTES",
    "DEFAULT_OPEN_TIMEOUT",
    "DEFAULT_TIMEOUT",
    "DEFAULT_TOTAL_TIMEOUT",
    "MAX_DIRECTIVE_BYTES",
    "MAX_EVENT_BYTES",
    "MAX_GGUF_FACTS",
    "MAX_GGUF_TEXT_BYTES",
    "MAX_MODEL_BYTES",
    "MAX_OUTPUT_DEPTH",
    "MAX_OUTPUT_ITEMS",
    "MAX_OUTPUT_NODES",
    "MAX_RESPONSE_BYTES",
    "MAX_TOOL_CALLS",
    "SAMPLE_CHARACTERS",
]

CANCEL_INTERVAL: Final = 0.05
"""Seconds between two looks at whether a request that waits is still wanted, where its caller can cancel it."""

DEFAULT_TIMEOUT: Final = 120.0
"""Seconds that a server may stay silent, before its first byte and between two of them."""

DEFAULT_OPEN_TIMEOUT: Final = 10.0
"""Seconds to reach a server: name, connection, TLS."""

DEFAULT_TOTAL_TIMEOUT: Final = 900.0
"""Seconds that a whole answer may take, from the request to its last byte."""

MAX_RESPONSE_BYTES: Final = 64 * 1024 * 1024
"""Bytes of one answer, counted after decompression while reading."""

MAX_EVENT_BYTES: Final = 8 * 1024 * 1024
"""Bytes of one server-sent event."""

SAMPLE_CHARACTERS: Final = 200
"""How much of an answer an error or a trace quotes."""

MAX_TOOL_CALLS: Final = 128
"""Tool calls in one answer; those past it are ignored and counted."""

DEFAULT_MAX_TOOL_BYTES: Final = 200_000
"""Bytes of one tool call's arguments, and of one tool's output."""

MAX_OUTPUT_DEPTH: Final = 20
"""Levels of a tool's output."""

MAX_OUTPUT_NODES: Final = 50_000
"""Values in a tool's output, containers included."""

MAX_OUTPUT_ITEMS: Final = 50_000
"""Items of one list, or keys of one mapping, in a tool's output."""

MAX_DIRECTIVE_BYTES: Final = 200_000
"""Bytes of an answer that is read as directives."""

MAX_MODEL_BYTES: Final = 64 * 1024**3
"""Bytes of a local model's file."""

MAX_GGUF_FACTS: Final = 65_536
"""Facts in the head of a local model's file, and items of a list there."""

MAX_GGUF_TEXT_BYTES: Final = 1024 * 1024
"""Bytes of one text in the head of a local model's file."""
