"""Stored: RisuAI's own objects as typed values, with its names and defaults; RisuCompat: where two of its versions differ."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from innkeeper.macros.cbs import LATER, RISU_166, CbsCompat
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.typed.once import convert

T = TypeVar("T", bound=msgspec.Struct)

FORMATING_ORDER: Final = (
    "main", "description", "personaPrompt", "chats", "lastChat", "jailbreak", "lorebook", "globalNote", "authorNote",
)  # fmt: skip
"""The order of a prompt that has no template."""

_UNSET: Final = -1000


class PromptSettings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Settings of the prompt template. A ``max_thought_tag_depth`` of -1 keeps the thoughts of every message."""

    post_end_inner_format: str = ""
    send_chat_as_system: bool = False
    send_name: bool = False
    util_override: bool = False
    custom_chain_of_thought: bool = False
    max_thought_tag_depth: int = -1
    trim_start_new_chat: bool = False


class Card(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A card of the prompt template. Ranges and depths are in messages; a ``range_start`` of -1000 means the whole chat."""

    type: str = ""
    type2: str = ""
    text: str = ""
    role: str = "system"
    inner_format: str = ""
    default_text: str = ""
    range_start: int = 0
    range_end: int | str = "end"
    chat_as_original_on_system: bool = False
    depth: int = 0


class RisuSettings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Settings of the application, and of the preset that is laid over them. Windows and budgets are in tokens.

    A ``max_context`` of 0 is no limit. Temperature and penalties are stored a hundredfold; -1000 is none.
    """

    ai_model: str = ""
    sub_model: str = ""
    main_prompt: str = ""
    jailbreak: str = ""
    global_note: str = ""
    jailbreak_toggle: bool = False
    chain_of_thought: bool = False
    max_context: int = 0
    max_response: int = 500
    formating_order: list[Any] = msgspec.field(default_factory=lambda: list(FORMATING_ORDER))
    prompt_template: list[Any] | None = None
    prompt_settings: dict[str, Any] = {}
    prompt_preprocess: bool = False
    description_prefix: str = "description of {{char}}: "
    additional_prompt: str = ""
    lore_book_depth: int = 5
    lore_book_token: int = 800
    username: str = "User"
    persona_prompt: str = ""
    global_chat_variables: dict[str, Any] = {}
    template_default_variables: str = ""
    preset_regex: list[Any] = []
    modules: list[Any] = []
    enabled_modules: list[Any] = []
    module_intergration: str = ""
    group_template: str = ""
    group_other_bot_role: str = "user"
    automatic_cache_point: bool = False
    system_content_replacement: str = ""
    system_role_replacement: str = "user"
    remove_punctuation_hypa: bool = False
    bias: list[Any] = []
    temperature: float | None = None
    frequency_penalty: float | None = None
    presense_penalty: float | None = msgspec.field(name="PresensePenalty", default=None)
    top_p: float | None = msgspec.field(name="top_p", default=None)
    top_k: float | None = msgspec.field(name="top_k", default=None)
    top_a: float | None = msgspec.field(name="top_a", default=None)
    min_p: float | None = msgspec.field(name="min_p", default=None)
    repetition_penalty: float | None = msgspec.field(name="repetition_penalty", default=None)

    @property
    def options(self) -> dict[str, Any]:
        """The options of a request: sampling as providers have it."""
        scaled = {
            "temperature": self.temperature,
            "frequency_penalty": self.frequency_penalty,
            "presence_penalty": self.presense_penalty,
        }
        options = {name: value / 100 for name, value in scaled.items() if value is not None and value != _UNSET}
        plain = {name: getattr(self, name) for name in ("top_p", "top_k", "top_a", "min_p", "repetition_penalty")}
        return options | {name: value for name, value in plain.items() if value is not None and value != _UNSET}


class StoredCharacter(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A character, or a group, whose lorebook and scripts are its own."""

    name: str = ""
    nickname: str = ""
    desc: str = ""
    personality: str = ""
    scenario: str = ""
    first_message: str = ""
    alternate_greetings: list[Any] = []
    example_message: str = ""
    additional_text: str = ""
    system_prompt: str = ""
    replace_global_note: str = ""
    global_lore: list[Any] = []
    lore_settings: dict[str, Any] = {}
    customscript: list[Any] = []
    triggerscript: list[Any] = []
    default_variables: str = ""
    depth_prompt: dict[str, Any] = msgspec.field(name="depth_prompt", default_factory=dict)
    utility_bot: bool = False
    inlay_view_screen: bool = False
    view_screen: str = "none"
    new_gen_data: dict[str, Any] = {}
    modules: list[Any] = []
    supa_memory: bool = False
    bias: list[Any] = []
    low_level_access: bool = False
    emotion_images: list[Any] = []
    additional_assets: list[Any] = []
    prebuilt_asset_command: bool = False
    prebuilt_asset_exclude: list[Any] = []
    cha_id: str = ""

    @property
    def display_assets(self) -> list[str]:
        """The names of the assets that the model may show."""
        assets = [item for item in self.additional_assets if isinstance(item, list) and item]
        shown = [str(item[0]) for item in assets if not any(path in self.prebuilt_asset_exclude for path in item[1:2])]
        return shown if self.prebuilt_asset_command else []

    def greeting(self, index: int) -> str:
        """A greeting: the first message (-1), or an alternative, empty where there is none."""
        if index < 0:
            return self.first_message
        greeting = self.alternate_greetings[index] if index < len(self.alternate_greetings) else ""
        return greeting if isinstance(greeting, str) else ""


class StoredChat(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A chat. ``fm_index`` is the alternative greeting it begins with, -1 for the first message."""

    id: str = ""
    message: list[Any] = []
    note: str = ""
    local_lore: list[Any] = []
    fm_index: int = -1
    scriptstate: dict[str, Any] = {}
    modules: list[Any] = []
    supa_memory_data: str = ""


def read_stored(kind: type[T], fields: Mapping[str, Any]) -> T:
    """The typed value of a stored object; a field of another type has its default."""
    values: dict[str, Any] = {}
    for field in _fields(kind):
        value = fields.get(field.encode_name)
        if _fits(value, field.type):
            values[field.name] = value
    return kind(**values)


def stored_object(own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """One of RisuAI's own objects; an empty one where it is absent, or none."""
    value = own.get(name)
    return dict(value) if isinstance(value, Mapping) else {}


def stored_names(kind: type[msgspec.Struct]) -> frozenset[str]:
    """The names of the fields that are read."""
    return frozenset(field.encode_name for field in _fields(kind))


_fields = cache(msgspec.structs.fields)


def _fits(value: Any, kind: Any) -> bool:
    if value is None:
        return False
    if kind is int:
        return type(value) is int
    try:
        convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def module_list(db: RisuSettings, *lists: list[Any]) -> list[Mapping[str, Any]]:
    """The enabled modules, in the order of the database, each once: those that a list names by id or namespace."""
    named = {item for each in (db.enabled_modules, *lists) for item in each if isinstance(item, str)}
    named |= {item.strip() for item in db.module_intergration.split(",") if item.strip()}
    modules: dict[Any, Mapping[str, Any]] = {}
    for index, module in enumerate(db.modules):
        if isinstance(module, Mapping) and named & {module.get("id"), module.get("namespace")}:
            modules.setdefault(module.get("id") or index, module)
    return list(modules.values())


class RisuCompat(msgspec.Struct, frozen=True, kw_only=True):
    """The switches of a version. Their defaults are those of the later ones."""

    lore_patterns: bool = True
    """Whether ``/pattern/flags`` as a key is read properly; 166.3.3 takes the first slash for a part of it, and one text."""
    entry_flags: bool = True
    """Whether a decorator that records matches holds for its entry; in 166.3.3 for each that fires after it was read."""
    nested_positions: int = 5
    """How many levels of ``{{position::x}}`` in entries are filled; 166.3.3 fills those of cards alone."""
    macros: CbsCompat = LATER
    """The switches of the macro language."""


_FORMER: Final = RisuCompat(lore_patterns=False, entry_flags=False, nested_positions=0, macros=RISU_166)
PROFILES: Final = MappingProxyType({"later": RisuCompat(), "166.3.3": _FORMER})


def compat_of(profile: str | None) -> RisuCompat:
    """The switches of a profile (``None``: the first one). Raises `UnknownNameError`."""
    if (profile or "later") not in PROFILES:
        raise UnknownNameError("profile", str(profile), PROFILES)
    return PROFILES[profile or "later"]
