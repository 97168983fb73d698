"""GGUF files for tests: a head of any facts, and nothing behind it."""

import struct
from typing import Any

__all__ = ["fact", "gguf", "tiny_model"]


def text(value: str) -> bytes:
    """A text as GGUF writes it."""
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def fact(key: str, value: Any) -> bytes:
    """One fact: texts, whole numbers, and lists of texts."""
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, list):
        return text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(text(item) for item in value)
    return text(key) + struct.pack("<II", 4, value)


def gguf(*facts: bytes, version: int = 3, count: int | None = None) -> bytes:
    """A file with these facts; ``count`` lies about how many there are."""
    return b"GGUF" + struct.pack("<IQQ", version, 2, len(facts) if count is None else count) + b"".join(facts)


def tiny_model(window: int = 512) -> bytes:
    """The head of a model that could be."""
    return gguf(
        fact("general.architecture", "llama"),
        fact("general.name", "Tiny"),
        fact("general.license", "apache-2.0"),
        fact("general.tags", ["small", "made up"]),
        fact("llama.context_length", window),
        fact("tokenizer.ggml.tokens", ["a", "b"]),
    )
