"""Words and patterns of several languages, from ``gate/data/patterns.toml``, which documents them."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Final

from innkeeper.prompt.typed.once import once

_REFERENCE: Final = re.compile(r"\{\{(\w+)\}\}")


@once
def _data() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("innkeeper.gate").joinpath("data", "patterns.toml").read_text("utf-8"))


def turned_words(name: str) -> frozenset[str]:
    """Return the common words of a language that tell a turned text, or those ``either_way``."""
    return frozenset(_data()["turned"].get(name, "").split())


def pattern_names() -> tuple[str, ...]:
    """Return the names of all patterns."""
    return tuple(_data()["patterns"])


@cache
def gate_pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of this name, compiled on first use."""
    return re.compile(_expanded(_data()["patterns"][name]))


def _expanded(pattern: str) -> str:
    return _REFERENCE.sub(lambda match: _expanded(_data()["parts"][match[1]]), pattern.replace("\n", ""))
