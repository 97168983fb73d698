"""TextPreset: sampling settings for text completion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from innkeeper.content.json_asset import JsonAsset
from innkeeper.content.record import Record

__all__ = ["TextPreset"]


class TextPreset(JsonAsset, frozen=True, kw_only=True, dict=True):
    """Sampling settings of a text-completion backend. ``samplers`` has every number and flag under its own name.

    ``context_window`` and ``max_tokens`` are in tokens.
    """

    WHAT: ClassVar[str] = "a text-completion preset"
    NAMES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "context_window": ("max_length",),
        "max_tokens": ("genamt", "amount_gen"),
        "temperature": ("temp",),
        "repetition_penalty": ("rep_pen",),
        "frequency_penalty": ("freq_pen",),
        "presence_penalty": ("presence_pen",),
        "banned_strings": ("banned_tokens",),
    }

    name: str = ""
    context_window: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    banned_strings: str = ""
    samplers: dict[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def derived(cls, record: Record) -> dict[str, Any]:
        """Every setting that is a number or flag."""
        return {"samplers": {key: value for key, value in record.raw.items() if isinstance(value, (bool, int, float))}}
