"""Presets as they were written once, told in today's fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.content.finding import Level
from innkeeper.content.record import Findings, as_flag, as_integer, as_text

__all__ = ["migrate_preset"]

POSTFIXES: Final = ("", " ", "\n", "\n\n")
"""What the numbers 0 to 3 stood for in ``continue_postfix``."""

OLD_PROMPTS: Final[Mapping[str, str]] = {
    "main_prompt": "main",
    "nsfw_prompt": "nsfw",
    "auxiliary_prompt": "nsfw",
    "jailbreak_prompt": "jailbreak",
    "post_history_instructions": "jailbreak",
    "enhance_definitions_prompt": "enhanceDefinitions",
}
"""Texts that stood on the preset itself before there was a list of prompts, and the prompts they became."""


def migrate_preset(raw: dict[str, Any], findings: Findings) -> dict[str, Any]:
    """A preset in today's fields: TavernKit's two parts in one, single texts as prompts, numbers and flags as words."""
    told = _joined(raw)
    _migrate_prompts(told, findings)
    _migrate_names(told, findings)
    postfix = as_integer(told.get("continue_postfix")) if not isinstance(told.get("continue_postfix"), str) else None
    if postfix is not None and 0 <= postfix < len(POSTFIXES):
        told["continue_postfix"] = POSTFIXES[postfix]
        findings.add("old-field", "a number is read as the text it stood for", ("continue_postfix",), level=Level.INFO)
    return told


def _joined(raw: dict[str, Any]) -> dict[str, Any]:
    """TavernKit keeps sampling and prompts in two objects."""
    if "tavernkit_preset_version" not in raw:
        return dict(raw)
    parts = [raw.get(name) for name in ("generation_settings", "preset_settings")]
    inner = {key: value for part in parts if isinstance(part, dict) for key, value in part.items()}
    return inner | raw


def _migrate_prompts(told: dict[str, Any], findings: Findings) -> None:
    if isinstance(told.get("prompts"), list):
        return
    prompts = []
    for old, identifier in OLD_PROMPTS.items():
        text = as_text(told.get(old))
        if text is not None:
            prompts.append({"identifier": identifier, "name": identifier, "content": text, "system_prompt": True})
            findings.add("old-field", f"read as the prompt {identifier!r}", (old,), level=Level.INFO)
    if prompts:
        told["prompts"] = prompts


def _migrate_names(told: dict[str, Any], findings: Findings) -> None:
    if told.get("names_behavior") is None and "names_in_completion" in told:
        told["names_behavior"] = int(bool(as_flag(told["names_in_completion"])))
        findings.add("old-field", "read as names_behavior", ("names_in_completion",), level=Level.INFO)
