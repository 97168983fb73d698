"""What adapters read answers with: fields of foreign JSON that may be missing, of another type, or new."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from innkeeper.prompt.data import EMPTY, FrozenDict, freeze


def count(value: Any) -> int | None:
    """A number of tokens, or None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def total(*figures: int | None) -> int | None:
    """The sum of the figures that are known; None where none is."""
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list; none where it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping, or an empty one for anything else."""
    return value if isinstance(value, Mapping) else EMPTY


def text(value: Any) -> str:
    """A text, or an empty one for anything else."""
    return value if isinstance(value, str) else ""


def others(data: Mapping[str, Any], known: frozenset[str]) -> FrozenDict:
    """The fields that are not ``known`` and say something: what is kept as the provider wrote it."""
    if data.keys() <= known:
        return EMPTY
    told = {name: value for name, value in data.items() if name not in known and value not in (None, "", [], {})}
    return freeze(told) if told else EMPTY


def arguments_text(value: Any) -> str:
    """A call's arguments as text: itself where it is one, nothing for null, else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
