"""Framing's prompts: which relative prompts there are, and the placeholders among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from innkeeper.taverns.smart.framing_lore import framing_order
from innkeeper.taverns.smart.values import text_of

__all__ = ["CHAT_HISTORY", "DESCRIPTIONS", "LORE_POSITIONS", "relative_prompts"]

CHAT_HISTORY: Final = "chatHistory"
"""The prompt in whose place the history stands."""

LORE_POSITIONS: Final[Mapping[str, str]] = {"charBefore": "before_char", "charAfter": "after_char"}
"""Prompts in whose place entries of a position stand."""

DESCRIPTIONS: Final[Mapping[str, str]] = {"charDescription": "char", "personaDescription": "persona"}
"""Prompts in whose place a description stands, and what their sources are called."""


def relative_prompts(presets_relative: Any, presets_doc: Any) -> list[dict[str, Any]]:
    """The enabled prompts in their order: of the array where one is given, else the relative ones of the preset.

    Raises `EntryNumberError` for a prompt whose order is no number, though orders do not sort here.
    """
    return list(_enabled(presets_relative, presets_doc))


def _enabled(presets_relative: Any, presets_doc: Any) -> Iterator[dict[str, Any]]:
    for index, prompt in enumerate(_listed(presets_relative, presets_doc)):
        if isinstance(prompt, dict) and prompt.get("enabled") is True:
            framing_order(prompt, f"presets_relative[{index}]")
            yield prompt


def _listed(presets_relative: Any, presets_doc: Any) -> Any:
    if isinstance(presets_relative, (list, tuple)):
        return presets_relative
    prompts = presets_doc.get("prompts") if isinstance(presets_doc, Mapping) else None
    if not isinstance(prompts, (list, tuple)):
        return ()
    return [item for item in prompts if isinstance(item, dict) and text_of(item.get("position"), "") == "relative"]
