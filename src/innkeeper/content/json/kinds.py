"""Kinds of JSON documents, recognised by their keys: character, lorebook, preset, template, persona, chat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["JSON_KINDS", "kind_of_json"]


def _has(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda tree: all(name in tree for name in names)


def _some(count: int, *names: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda tree: sum(name in tree for name in names) >= count


def _is_character(tree: Mapping[str, Any]) -> bool:
    spec = tree.get("spec")
    if isinstance(spec, str):
        return spec.startswith("chara_card")
    data = tree.get("data")
    if isinstance(data, dict) and "name" in data and ("description" in data or "first_mes" in data):
        return True
    if isinstance(tree.get("message"), list) and ("world_book" in tree or tree.get("type") in SMART_TYPES):
        return "name" in tree
    if "char_name" in tree and ("char_persona" in tree or "char_greeting" in tree):
        return True
    early = ("description", "personality", "scenario", "first_mes", "mes_example")
    return "name" in tree and sum(isinstance(tree.get(name), str) for name in early) >= MIN_EARLY_FIELDS


def _is_lorebook(tree: Mapping[str, Any]) -> bool:
    if str(tree.get("spec", "")).startswith("lorebook") or (tree.get("type") == "risu" and "data" in tree):
        return True
    return isinstance(tree.get("entries"), (dict, list))


def _is_persona(tree: Mapping[str, Any]) -> bool:
    if isinstance(tree.get("personas"), dict):
        return True
    return "name" in tree and "description" in tree and not {"entries", "prompts", "data", "spec"} & tree.keys()


def _is_master_export(tree: Mapping[str, Any]) -> bool:
    parts = ("instruct", "context", "sysprompt", "preset", "reasoning")
    return sum(isinstance(tree.get(name), dict) for name in parts) >= MIN_MASTER_PARTS


SMART_TYPES: Final = ("threaded", "sandbox")
"""How a SmartTavern character file says how it is played."""

MIN_EARLY_FIELDS: Final = 2
"""Of the texts of a V1 card, so many beside the name make one."""

MIN_MASTER_PARTS: Final = 2
"""Of the parts of a master export, so many make one."""

JSON_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    "character": _is_character,
    "byaf character": _has("persona", "loreItems", "displayName"),
    "byaf manifest": _has("characters", "scenarios", "schemaVersion"),
    "lorebook": _is_lorebook,
    "master export": _is_master_export,
    "chat header": _has("user_name", "character_name"),
    "chat message": _some(2, "mes", "is_user"),
    "chat preset": _some(
        1, "prompts", "prompt_order", "chat_completion_source", "openai_max_context", "new_chat_prompt"
    ),
    "instruct template": _some(2, "input_sequence", "output_sequence", "system_sequence", "stop_sequence"),
    "context template": _has("story_string"),
    "reasoning template": _has("prefix", "suffix", "separator"),
    "text preset": _some(3, "temp", "top_p", "top_k", "rep_pen", "typical_p", "min_p"),
    "tavernkit preset": _has("tavernkit_preset_version"),
    "system prompt": lambda tree: "name" in tree and isinstance(tree.get("content"), str),
    "persona": _is_persona,
    "chat": lambda tree: isinstance(tree.get("messages"), list),
}
"""Each kind with the test for it, the most telling first."""


def kind_of_json(tree: Any) -> str:
    """The kind of a document: one of `JSON_KINDS`, ``chat`` for a list of messages, or ``unknown``."""
    if isinstance(tree, list):
        return _kind_of_list(tree)
    if not isinstance(tree, dict):
        return "unknown"
    return next((kind for kind, test in JSON_KINDS.items() if test(tree)), "unknown")


def _kind_of_list(items: list[Any]) -> str:
    first = next((item for item in items if isinstance(item, dict)), None)
    if first is None:
        return "unknown"
    if "role" in first or "mes" in first:
        return "chat"
    return "lorebook" if {"key", "keys"} & first.keys() else "unknown"
