"""Templates for text completion: context, instruct, system prompt and reasoning, in SillyTavern's fields.

Old fields are read as today's; defaults are ours where SillyTavern's would be a text of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from innkeeper.content.finding import Level
from innkeeper.content.json.json_asset import JsonAsset, NumberedEnum
from innkeeper.content.json.record import FindingCollector, as_flag

DEFAULT_STORY: Final = "".join(
    f"{{{{#if {name}}}}}{{{{{name}}}}}\n{{{{/if}}}}"
    for name in ("system", "wiBefore", "description", "personality", "scenario", "wiAfter", "persona")
)
"""A plain story string: every part that has text, each on its own lines."""


class StoryPosition(NumberedEnum):
    """The position of the story string."""

    IN_PROMPT = "in_prompt"
    IN_CHAT = "in_chat"
    BEFORE_PROMPT = "before_prompt"


class InstructNames(NumberedEnum):
    """When names stand in front of messages."""

    NONE = "none"
    FORCE = "force"
    """In groups and for messages under another name."""
    ALWAYS = "always"


class ContextTemplate(JsonAsset, frozen=True, kw_only=True, dict=True):
    """How the parts of a text prompt are joined. ``story_string_depth`` is in messages."""

    WHAT: ClassVar[str] = "a context template"
    NAMES: ClassVar[Mapping[str, tuple[str, ...]]] = {"name": ("name", "preset")}

    name: str = ""
    story_string: str = DEFAULT_STORY
    example_separator: str = ""
    chat_start: str = ""
    use_stop_strings: bool = False
    names_as_stop_strings: bool = True
    story_string_position: StoryPosition = StoryPosition.IN_PROMPT
    story_string_role: str = "system"
    story_string_depth: int = 1
    always_force_name2: bool | None = None
    trim_sentences: bool | None = None
    single_line: bool | None = None


class InstructTemplate(JsonAsset, frozen=True, kw_only=True, dict=True):
    """The sequences around messages of a text prompt."""

    WHAT: ClassVar[str] = "an instruct template"
    NAMES: ClassVar[Mapping[str, tuple[str, ...]]] = {"name": ("name", "preset")}

    name: str = ""
    enabled: bool | None = None
    input_sequence: str = ""
    input_suffix: str = ""
    output_sequence: str = ""
    output_suffix: str = ""
    system_sequence: str = ""
    system_suffix: str = ""
    first_input_sequence: str = ""
    first_output_sequence: str = ""
    last_input_sequence: str = ""
    last_output_sequence: str = ""
    last_system_sequence: str = ""
    story_string_prefix: str = ""
    story_string_suffix: str = ""
    stop_sequence: str = ""
    wrap: bool = True
    macro: bool = True
    names_behavior: InstructNames = InstructNames.FORCE
    activation_regex: str = ""
    bind_to_context: bool = False
    user_alignment_message: str = ""
    system_same_as_user: bool = False
    sequences_as_stop_strings: bool = True
    skip_examples: bool = False

    @classmethod
    def migrated(cls, raw: dict[str, Any], findings: FindingCollector) -> dict[str, Any]:
        """Old names: a separator for both suffixes, flags for names, the system prompt's own prefix and suffix."""
        fields = dict(raw)
        for old, new in _RENAMED.items():
            if old in raw and raw.get(new) is None:
                fields[new] = raw[old]
                findings.add("old-field", f"read as {new}", (old,), level=Level.INFO)
        if raw.get("names_behavior") is None and ("names" in raw or "names_force_groups" in raw):
            always, groups = as_flag(raw.get("names")), as_flag(raw.get("names_force_groups"))
            names = InstructNames.ALWAYS if always else InstructNames.FORCE if groups else InstructNames.NONE
            fields["names_behavior"] = names.value
            findings.add("old-field", "read as names_behavior", ("names",), level=Level.INFO)
        return fields


_RENAMED: Final[Mapping[str, str]] = {
    "separator_sequence": "output_suffix",
    "system_sequence_prefix": "story_string_prefix",
    "system_sequence_suffix": "story_string_suffix",
    "instructStop": "stop_sequence",
}


class SystemPrompt(JsonAsset, frozen=True, kw_only=True, dict=True):
    """The system prompt of a text prompt, and the text after the history."""

    WHAT: ClassVar[str] = "a system prompt"
    NAMES: ClassVar[Mapping[str, tuple[str, ...]]] = {"content": ("content", "system_prompt", "prompt")}

    name: str = ""
    content: str = ""
    post_history: str = ""
    enabled: bool | None = None


class ReasoningTemplate(JsonAsset, frozen=True, kw_only=True, dict=True):
    """How a model's reasoning is marked, and whether it is sent back in prompts."""

    WHAT: ClassVar[str] = "a reasoning template"

    name: str = ""
    prefix: str = ""
    suffix: str = ""
    separator: str = ""
    add_to_prompts: bool | None = None
    auto_parse: bool | None = None
    max_additions: int | None = None
