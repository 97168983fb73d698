"""Imports: cards, presets and chats as the objects RisuAI would keep of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.content.character import Character
from innkeeper.content.lorebook import Lorebook

_EXTENSIONS: Final[Mapping[str, str]] = {
    "customScripts": "customscript",
    "triggerscript": "triggerscript",
    "defaultVariables": "defaultVariables",
    "utilityBot": "utilityBot",
    "bias": "bias",
    "viewScreen": "viewScreen",
    "additionalText": "additionalText",
    "lowLevelAccess": "lowLevelAccess",
    "prebuiltAssetCommand": "prebuiltAssetCommand",
    "inlayViewScreen": "inlayViewScreen",
    "newGenData": "newGenData",
}
"""What a card has for RisuAI (``extensions.risuai``), and what a character calls it."""


def stored_character(card: Character) -> dict[str, Any]:
    """The character that RisuAI makes of a card, without its lorebook's entries."""
    own = card.extensions.get("risuai")
    own = own if isinstance(own, Mapping) else {}
    stored: dict[str, Any] = {
        "name": card.name,
        "nickname": card.nickname,
        "desc": card.description,
        "personality": card.personality,
        "scenario": card.scenario,
        "firstMessage": card.first_mes,
        "alternateGreetings": list(card.alternate_greetings),
        "exampleMessage": card.mes_example,
        "systemPrompt": card.system_prompt,
        "replaceGlobalNote": card.post_history_instructions,
        "postHistoryInstructions": "",
        "chaId": card.name,
        **{name: own[key] for key, name in _EXTENSIONS.items() if own.get(key) is not None},
    }
    note = card.depth_prompt
    if note is not None:
        stored["depth_prompt"] = {"depth": note.depth, "prompt": note.prompt}
    if settings := lore_settings(card.book):
        stored["loreSettings"] = settings
    return stored


def lore_settings(book: Lorebook | None) -> dict[str, Any]:
    """The settings of a card's book, which count only where it has all three."""
    if book is None or None in (book.recursive_scanning, book.scan_depth, book.token_budget):
        return {}
    return {
        "tokenBudget": book.token_budget,
        "scanDepth": book.scan_depth,
        "recursiveScanning": book.recursive_scanning,
        "fullWordMatching": bool(book.extensions.get("risu_fullWordMatching")),
    }


def is_sillytavern_preset(preset: Mapping[str, Any]) -> bool:
    """Whether a preset is SillyTavern's."""
    return isinstance(preset.get("prompts"), (list, tuple)) and isinstance(preset.get("prompt_order"), (list, tuple))


_CARDS: Final[Mapping[str, dict[str, Any]]] = {
    "chatHistory": {"type": "chat", "rangeEnd": "end", "rangeStart": 0},
    "worldInfoBefore": {"type": "lorebook"},
    "charDescription": {"type": "description"},
    "personaDescription": {"type": "persona"},
}
_LEFT_OUT: Final = frozenset({"dialogueExamples", "charPersonality", "scenario", "worldInfoAfter"})
_SCALED: Final[Mapping[str, tuple[str, float]]] = {
    "temperature": ("temperature", 1.0),
    "frequency_penalty": ("frequencyPenalty", 1.0),
    "presence_penalty": ("PresensePenalty", 0.7),
}
_AS_THEY_ARE: Final = ("top_p", "top_k", "top_a", "min_p", "repetition_penalty")


def imported_preset(preset: Mapping[str, Any]) -> dict[str, Any]:
    """RisuAI's preset of SillyTavern's: its first order as a template, and its sampling."""
    prompts = {item.get("identifier"): item for item in preset["prompts"] if isinstance(item, Mapping)}
    first = next((item for item in preset["prompt_order"] if isinstance(item, Mapping)), {})
    order = first.get("order") or ()
    turns = [turn.get("identifier") for turn in order if isinstance(turn, Mapping) and turn.get("enabled")]
    cards = [card for name in turns if (card := _card(str(name), prompts.get(name))) is not None]
    prefill = preset.get("assistant_prefill")
    if isinstance(prefill, str) and prefill:
        text = f"{{{{#if {{{{prefill_supported}}}}}}}}{prefill}{{{{/if}}}}"
        cards += [{"type": "postEverything"}, {"type": "plain", "type2": "main", "text": text, "role": "bot"}]
    stored: dict[str, Any] = {"name": "Imported ST Preset", "promptTemplate": cards}
    for name, (field, factor) in _SCALED.items():
        if isinstance(value := preset.get(name), (int, float)):
            stored[field] = value * factor * 100
    return stored | {name: preset[name] for name in _AS_THEY_ARE if preset.get(name) is not None}


def _card(name: str, prompt: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The card of a prompt, None for one that RisuAI leaves out."""
    if name in _LEFT_OUT or prompt is None:
        return None
    if name in _CARDS:
        return dict(_CARDS[name])
    kind = "jailbreak" if name in ("jailbreak", "nsfw") else "plain"
    text, role = prompt.get("content") or "", prompt.get("role") or "system"
    return {"type": kind, "type2": "main" if name == "main" else "normal", "text": text, "role": role}


def read_toggles(text: str) -> list[dict[str, Any]]:
    """The toggles of a preset or module, a line each: ``key=label=type=options``."""
    toggles = []
    for each in text.split("\n"):
        key, _, rest = each.partition("=")
        label, *more = rest.split("=")
        if not label:
            continue
        kind, options = [*more, "", ""][:2]
        toggle: dict[str, Any] = {"key": key, "value": label}
        if kind in _TOGGLES:
            toggle["type"] = kind
        if kind in ("divider", "group", "groupEnd"):
            toggle["children"] = []
        else:
            toggle["options"] = options.split(",") if options else []
        toggles.append(toggle)
    return toggles


_TOGGLES: Final = frozenset({"select", "text", "group", "groupEnd", "divider"})
