"""The risu tavern as the registry has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.taverns.inputs import ASKING_PORTS, InputRules
from innkeeper.taverns.risu.imports import is_risu_preset
from innkeeper.taverns.risu.lint import lint_fields
from innkeeper.taverns.risu.reply import REPLIES
from innkeeper.taverns.risu.steps import PIPELINE
from innkeeper.taverns.risu.stored import PROFILES
from innkeeper.taverns.tavern import Tavern

INPUTS: Final = InputRules(
    ignored={
        "injections": "the risu tavern injects nothing; entries of a lorebook have positions and depths",
        "force_lore": "whether an entry fires is up to its keys and decorators; @@activate forces one",
        "lore_state": "what matched is remembered in the chat's variables",
        "macro_vars": "CBS has variables of the chat, and those of the application",
        "context": "the risu tavern has nothing that reads it; configurations of steps are its module_configs",
        "locale": "macros write dates in English",
        **dict.fromkeys(ASKING_PORTS[:2], "the risu tavern has no step that asks it"),
    },
    meta=(),
    settings=frozenset({"risu"}),
    metadata=frozenset({"scenario", "mes_example", "system_prompt"}),
    reads={
        "character": frozenset({
            "name", "nickname", "description", "personality", "scenario", "first_mes", "mes_example", "system_prompt",
            "post_history_instructions", "alternate_greetings", "book", "assets", "extensions.depth_prompt", "extensions.risuai",
        }),
        "user": frozenset({"name", "description", "personality"}),
        "lorebooks": frozenset({"name", "entries", "scan_depth", "token_budget", "recursive_scanning",
            "extensions.risu_fullWordMatching", *(f"entries.{field}" for field in (
            "id", "keys", "secondary_keys", "content", "comment", "name", "constant", "selective", "selective_logic", "order",
            "position", "depth", "role", "match_whole_words", "use_regex", "probability", "use_probability", "delay", "enabled",
        ))}),
        "preset": frozenset({
            "prompts", "orders", "assistant_prefill", "context_window", "max_tokens", "temperature", "frequency_penalty",
            "presence_penalty", "top_p", "top_k", "top_a", "min_p", "repetition_penalty",
            *(f"prompts.{field}" for field in ("identifier", "content", "role")),
        }),
        "history": frozenset({"name", "reasoning", "tool_calls", "tool_call_id", "parts", "signature", "is_error"}),
    },
    own_words=lambda field, raw: field == "preset" and is_risu_preset(raw),
)  # fmt: skip
"""What has no effect here, and why."""


_LORE_SETTINGS: Final = {"depth": "scanDepth", "recursive": "recursiveScanning", "budget": "tokenBudget"}


def _lore_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    own = {_LORE_SETTINGS[name]: int(value) if name == "budget" else value for name, value in options.items()}
    return {"risu": {"character": {"loreSettings": own}}}


TAVERN: Final = Tavern(
    name="risu",
    pipeline=PIPELINE,
    inputs=INPUTS,
    summary="RisuAI's prompts: template cards, decorated lore, CBS macros, request flags per model.",
    profiles=tuple(PROFILES),
    replies=REPLIES,
    lint=lint_fields,
    lore_settings=_lore_settings,
)

build = TAVERN.build
builder = TAVERN.builder
to_messages = TAVERN.to_messages
