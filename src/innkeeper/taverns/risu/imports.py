"""Imports: cards, presets and chats as the objects RisuAI would keep of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.content.character import Character
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.preset import Preset, PromptItem
from innkeeper.prompt.data import thaw
from innkeeper.taverns.risu.stored import FORMATING_ORDER

_SAME_NAMES: Final = (
    "triggerscript", "defaultVariables", "utilityBot", "bias", "viewScreen", "additionalText", "lowLevelAccess",
    "prebuiltAssetCommand", "inlayViewScreen", "newGenData",
)  # fmt: skip
_EXTENSIONS: Final[Mapping[str, str]] = {"customScripts": "customscript", **{name: name for name in _SAME_NAMES}}
"""What a card has for RisuAI (``extensions.risuai``), and what a character calls it."""

_ASSETS: Final = "x-risu-asset"
"""The type of those assets of a card that are neither its icons nor its emotions."""


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
        "emotionImages": _pairs(own.get("emotions")) or _assets(card, "emotion"),
        "additionalAssets": _pairs(own.get("additionalAssets")) or _assets(card, _ASSETS),
        **{name: own[key] for key, name in _EXTENSIONS.items() if own.get(key) is not None},
    }
    note = card.depth_prompt
    if note is not None:
        stored["depth_prompt"] = {"depth": note.depth, "prompt": note.prompt}
    if settings := lore_settings(card.book):
        stored["loreSettings"] = settings
    return stored


def _pairs(value: Any) -> list[list[Any]]:
    """The assets that a card's extension lists, each with its name first."""
    return [list(item) for item in value if isinstance(item, list | tuple)] if isinstance(value, list | tuple) else []


def _assets(card: Character, type_: str) -> list[list[Any]]:
    return [[asset.name, asset.uri, asset.ext] for asset in card.assets if asset.type == type_]


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


_OWN_KEYS: Final = frozenset({"promptTemplate", "mainPrompt", "formatingOrder", "globalNote", "promptSettings"})
"""Keys that only RisuAI's presets have."""


def is_risu_preset(preset: Any) -> bool:
    """Whether a preset is RisuAI's own."""
    return isinstance(preset, Mapping) and not _OWN_KEYS.isdisjoint(preset)


_PRESET: Final[Mapping[str, Any]] = {"temperature": 80, "maxContext": 4_000, "maxResponse": 300}
"""What a preset has that does not say (`risuai.md` 1, 16); windows and replies in tokens."""


def whole_preset(preset: Mapping[str, Any]) -> dict[str, Any]:
    """A preset of RisuAI's laid over the one that its page begins with."""
    return {**_PRESET, "formatingOrder": list(FORMATING_ORDER), **thaw(dict(preset))}


_CARDS: Final[Mapping[str, dict[str, Any]]] = {
    "chatHistory": {"type": "chat", "rangeEnd": "end", "rangeStart": 0},
    "worldInfoBefore": {"type": "lorebook"},
    "charDescription": {"type": "description"},
    "personaDescription": {"type": "persona"},
}
_LEFT_OUT: Final = frozenset({"dialogueExamples", "charPersonality", "scenario", "worldInfoAfter"})
_PRESENCE: Final = 0.7
_AS_THEY_ARE: Final = ("top_p", "top_k", "top_a", "min_p", "repetition_penalty")


def imported_preset(preset: Preset) -> dict[str, Any]:
    """RisuAI's preset of SillyTavern's: its first order, where it has one, as a template, and its sampling."""
    turns = preset.orders[0].items if preset.orders else ()
    prompts = [preset.prompt(turn.identifier) for turn in turns if turn.enabled]
    cards = [card for prompt in prompts if prompt is not None and (card := _card(prompt)) is not None]
    if preset.assistant_prefill:
        text = f"{{{{#if {{{{prefill_supported}}}}}}}}{preset.assistant_prefill}{{{{/if}}}}"
        cards += [{"type": "postEverything"}, {"type": "plain", "type2": "main", "text": text, "role": "bot"}]
    fields = {
        "name": "Imported ST Preset",
        "promptTemplate": cards if preset.orders else None,
        "temperature": None if preset.temperature is None else preset.temperature * 100,
        "frequencyPenalty": None if preset.frequency_penalty is None else preset.frequency_penalty * 100,
        "PresensePenalty": None if preset.presence_penalty is None else preset.presence_penalty * _PRESENCE * 100,
        "maxContext": preset.context_window,
        "maxResponse": preset.max_tokens,
        **{name: getattr(preset, name) for name in _AS_THEY_ARE},
    }
    return {name: value for name, value in fields.items() if value is not None}


_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "STCHAT": ("chat_completion_source", "prompts", "prompt_order"),
    "PARAMETERS": ("temp", "rep_pen", "min_length"),
    "STCONTEXT": ("story_string", "chat_start"),
    "STINST": ("input_sequence", "output_sequence"),
}
_LISTS: Final = ("prompts", "prompt_order")


def file_kind(content: Any) -> str:
    """What RisuAI takes a JSON file of SillyTavern for, by the fields it has; ``NOTSUPPORTED`` for any other."""
    fields = content if isinstance(content, Mapping) else {}
    has = {name for name in fields if fields[name] is not None}
    has -= {name for name in _LISTS if not isinstance(fields.get(name), list | tuple)}
    return next((kind for kind, names in _KINDS.items() if has.issuperset(names)), "NOTSUPPORTED")


def _card(prompt: PromptItem) -> dict[str, Any] | None:
    """The card of a prompt, None for one that RisuAI leaves out."""
    name = prompt.identifier
    if name in _LEFT_OUT:
        return None
    if name in _CARDS:
        return dict(_CARDS[name])
    kind = "jailbreak" if name in ("jailbreak", "nsfw") else "plain"
    type2 = "main" if name == "main" else "normal"
    return {"type": kind, "type2": type2, "text": prompt.content, "role": prompt.role or "system"}


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
