"""Settings of SillyTavern that a build depends on, read from ``request.settings`` under its own names.

Every setting is used or named in the plan's notes; a wrong type is a `ConfigError` that names the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from innkeeper.prompt.errors import ConfigError, Where
from innkeeper.prompt.frozen import thaw

__all__ = [
    "ROLES",
    "AuthorsNote",
    "CharacterNote",
    "Generation",
    "GroupSettings",
    "PowerUser",
    "Reasoning",
    "read_settings",
]

T = TypeVar("T", bound=msgspec.Struct)

ROLES: Final = {0: "system", 1: "user", 2: "assistant"}
"""SillyTavern's numbers for roles."""


class Reasoning(msgspec.Struct, frozen=True, kw_only=True):
    """How stored reasoning goes into prompts: the newest ``max_additions`` of it, between ``prefix`` and ``suffix``."""

    add_to_prompts: bool = False
    prefix: str = "<think>\n"
    suffix: str = "\n</think>"
    separator: str = "\n\n"
    max_additions: int = 1


class PowerUser(msgspec.Struct, frozen=True, kw_only=True):
    """User settings that change prompts (SillyTavern's *power user* settings)."""

    experimental_macro_engine: bool = True
    prefer_character_prompt: bool = True
    prefer_character_jailbreak: bool = True
    collapse_newlines: bool = False
    pin_examples: bool = False
    strip_examples: bool = False
    always_force_name2: bool | None = None
    user_prompt_bias: str = ""
    single_line: bool = False
    token_padding: int = 64
    custom_stopping_strings: str = ""
    custom_stopping_strings_macro: bool = True
    trim_sentences: bool = False
    encode_tags: bool = False
    disable_group_trimming: bool = False
    reasoning: Reasoning = Reasoning()


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """What is particular to one generation. A dry run squashes nothing and leaves timed effects alone."""

    quiet_prompt: str = ""
    quiet_to_loud: bool = False
    quiet_name: str = ""
    skip_wian: bool = False
    force_name2: bool | None = None
    dry_run: bool = False


class AuthorsNote(msgspec.Struct, frozen=True, kw_only=True):
    """The note: after (0), in (1) or before (2) the prompt, every ``interval`` user messages (0: never)."""

    text: str = ""
    depth: int = 4
    position: int = 1
    role: int = 0
    interval: int = 1
    allow_wi_scan: bool = False


class CharacterNote(msgspec.Struct, frozen=True, kw_only=True):
    """A character's own note: instead of (0), before (1) or after (2) the chat's."""

    text: str = ""
    use: bool = True
    position: int = 0


class GroupSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A group chat. ``members`` are ``{card, filename}``; ``speaker`` and ``disabled`` are places in that list.

    ``generation_mode``: each speaker's own card (0), all cards appended (1), muted members' cards too (2).
    """

    name: str = "Group"
    members: tuple[Any, ...] = ()
    speaker: int | None = None
    disabled: tuple[int, ...] = ()
    generation_mode: int = 0
    join_prefix: str = ""
    join_suffix: str = ""
    activation_strategy: int = 0
    allow_self_responses: bool = False


def read_settings(kind: type[T], raw: Any, name: str) -> tuple[T, tuple[str, ...]]:
    """A settings value from a mapping, and the names of fields it does not have. Raises `ConfigError`."""
    if isinstance(raw, kind):
        return raw, ()
    fields = dict(raw) if isinstance(raw, Mapping) else {}
    known = {key: thaw(value) for key, value in fields.items() if key in kind.__struct_fields__ and value is not None}
    try:
        return msgspec.convert(known, kind, strict=False), tuple(sorted(fields.keys() - known.keys()))
    except (msgspec.ValidationError, UnicodeError) as error:
        raise ConfigError(f"{name}: {error}", where=Where(asset="settings", path=name)) from error
