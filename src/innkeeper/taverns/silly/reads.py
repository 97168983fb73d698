"""Reads: the settings, and the fields of assets, messages and metadata, that this tavern reads; it notes every other one."""

from __future__ import annotations

from typing import Final

from innkeeper.content.entry import LorebookEntry
from innkeeper.content.preset import Preset, PromptItem
from innkeeper.taverns.inputs import CHAT_METADATA, InputRules
from innkeeper.taverns.silly.lines.media import MEDIA_KEYS

_SETTINGS: Final = frozenset({
    "generation", "power_user", "wi_settings", "world_info", "text", "chat_id", "chat_metadata", "character_filename",
    "character_tags", "character_note", "import_character_book", "regex", "extensions", "on_overflow", "random",
    "prompt_placeholder", "tokenizer", "tool_call_text", "character_allowed_regex", "preset_allowed_regex",
    "disabled_extensions", "cfg", "memory", "vectors", "note", "attachments", "character_attachments", "disabled_attachments",
    "server", "model_list", "bias_presets", "sd", "expressions", "cache_friendly",
})  # fmt: skip
_CARD: Final = frozenset({
    "name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt",
    "post_history_instructions", "alternate_greetings", "group_only_greetings", "character_version", "book",
    "extensions.depth_prompt", "extensions.talkativeness", "extensions.regex_scripts",
})  # fmt: skip
_ENTRIES: Final = frozenset(LorebookEntry.__struct_fields__) - {
    "priority", "name", "spec_case_sensitive", "use_regex", "automation_id", "display_index", "add_memo", "extensions",
}  # fmt: skip
_PRESET: Final = frozenset(Preset.__struct_fields__) - {"name"}
_PROMPTS: Final = frozenset(PromptItem.__struct_fields__) - {"name", "extension", "marker", "enabled"}
_MESSAGES: Final = frozenset({
    "swipes", "swipe_id", "send_date", "hidden", "is_user", "force_avatar", "name", "shown", "tool_calls", "tool_call_id",
    "extra", "reasoning", "reasoning_content", "parts",
    *(f"extra.{key}" for key in ("type", "reasoning", "bias", "memory", "tool_invocations", *MEDIA_KEYS)),
})  # fmt: skip

INPUTS: Final = InputRules(
    ignored={
        "context": "the silly tavern has nothing that reads it; configurations of steps are its module_configs",
        "locale": "macros write dates in English, as SillyTavern does",
    },
    meta=(),
    settings=_SETTINGS,
    metadata=frozenset(CHAT_METADATA),
    reads={
        "character": _CARD,
        "user": frozenset({"name", "description", "personality", "position", "depth", "role"}),
        "lorebooks": frozenset({"name", "entries", "scope", *(f"entries.{field}" for field in _ENTRIES)}),
        "preset": _PRESET | {"extensions.regex_scripts", *(f"prompts.{field}" for field in _PROMPTS)},
        "history": _MESSAGES,
    },
)
"""What has no effect here, and why; `innkeeper.taverns.silly.inputs.read_inputs` notes what has none within a setting."""
