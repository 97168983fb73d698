"""Preset: a chat-completion preset, and TextPreset, the sampling settings for text completion. In SillyTavern's fields.

A `Preset` has prompts and their order, formats, behaviour and sampling. Presets from before the prompt manager, and
TavernKit's two-part ones, are read as today's (`migrate_preset`), each old field with a finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Final

import msgspec

from innkeeper.content.finding import Level
from innkeeper.content.json.json_asset import JsonAsset, NumberedEnum
from innkeeper.content.json.record import FindingCollector, Record, as_flag, as_integer, as_text
from innkeeper.content.regex_script import RegexScripts

GLOBAL_ORDER: Final = 100001
"""The character id under which SillyTavern keeps the order that holds for all characters."""


class NamesBehavior(NumberedEnum):
    """How a chat message names its speaker."""

    NONE = "none"
    DEFAULT = "default"
    """In the content, in groups and for messages under another name."""
    COMPLETION = "completion"
    """In the message's name field."""
    CONTENT = "content"

    @classmethod
    def numbers(cls) -> Mapping[int, NamesBehavior]:
        """The members by SillyTavern's numbers, which begin at -1."""
        return dict(enumerate(cls, -1))


class PromptPosition(StrEnum):
    """The position of a prompt: in the order of prompts, or at a depth of the chat."""

    RELATIVE = "relative"
    IN_CHAT = "in_chat"


class PromptItem(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt of the prompt manager. ``depth`` is in messages; a ``marker`` is replaced by text from elsewhere."""

    identifier: str
    name: str = ""
    content: str = ""
    role: str = "system"
    system_prompt: bool = False
    marker: bool = False
    position: PromptPosition = PromptPosition.RELATIVE
    depth: int = 4
    order: int = 100
    triggers: tuple[str, ...] = ()
    forbid_overrides: bool = False
    enabled: bool | None = None
    extension: bool = False
    raw: dict[str, Any] = {}


class OrderItem(msgspec.Struct, frozen=True):
    """A prompt's turn in an order, and whether it is on."""

    identifier: str
    enabled: bool = True


class PromptOrder(msgspec.Struct, frozen=True):
    """The order of prompts for one character id; ``None`` for an order that names none."""

    character_id: int | str | None
    items: tuple[OrderItem, ...]


class Preset(JsonAsset, frozen=True, kw_only=True, dict=True):
    """A chat-completion preset. ``context_window`` and ``max_tokens`` are in tokens; ``None`` if not set.

    Texts that SillyTavern has words of its own for have words of ours where a preset does not say them.
    """

    WHAT: ClassVar[str] = "a preset"
    NAMES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "context_window": ("openai_max_context", "context_window_tokens"),
        "max_tokens": ("openai_max_tokens", "reserved_response_tokens"),
        "temperature": ("temperature", "temp_openai", "temp"),
        "top_p": ("top_p", "top_p_openai"),
        "top_k": ("top_k", "top_k_openai"),
        "top_a": ("top_a", "top_a_openai"),
        "min_p": ("min_p", "min_p_openai"),
        "frequency_penalty": ("frequency_penalty", "freq_pen_openai"),
        "presence_penalty": ("presence_penalty", "pres_pen_openai"),
        "repetition_penalty": ("repetition_penalty", "repetition_penalty_openai"),
        "media_inlining": ("media_inlining", "image_inlining"),
        "use_sysprompt": ("use_sysprompt", "claude_use_sysprompt", "use_makersuite_sysprompt"),
        "stream": ("stream_openai",),
    }

    name: str = ""
    prompts: tuple[PromptItem, ...] = ()
    orders: tuple[PromptOrder, ...] = ()

    impersonation_prompt: str = "[Write the next message as {{user}}, in the way {{user}} has written so far.]"
    new_chat_prompt: str = "[A new chat begins]"
    new_group_chat_prompt: str = "[A new group chat begins. Members: {{group}}]"
    new_example_chat_prompt: str = "[An example of the chat]"
    continue_nudge_prompt: str = "[Go on where the last message ends, without repeating any of it.]"
    group_nudge_prompt: str = "[Write only as {{char}} now.]"
    send_if_empty: str = ""
    wi_format: str = "{0}"
    scenario_format: str = "{{scenario}}"
    personality_format: str = "{{personality}}"

    names_behavior: NamesBehavior = NamesBehavior.DEFAULT
    squash_system_messages: bool = False
    continue_prefill: bool = False
    continue_postfix: str = " "
    assistant_prefill: str = ""
    assistant_impersonation: str = ""
    use_sysprompt: bool = False
    wrap_in_quotes: bool = False
    function_calling: bool = False
    media_inlining: bool = True
    inline_image_quality: str = "auto"
    custom_prompt_post_processing: str = ""
    bias_preset_selected: str = ""

    context_window: int | None = None
    max_tokens: int | None = None
    max_context_unlocked: bool = False

    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    top_a: float | None = None
    min_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    n: int | None = None
    stream: bool | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None
    show_thoughts: bool | None = None
    enable_web_search: bool | None = None

    chat_completion_source: str = ""
    extensions: dict[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def migrated(cls, raw: dict[str, Any], findings: FindingCollector) -> dict[str, Any]:
        """Old names, and presets of the prompt manager's predecessors (see `migrate_preset`)."""
        return migrate_preset(raw, findings)

    @classmethod
    def derived(cls, record: Record) -> dict[str, Any]:
        """Prompts and orders."""
        prompts = [_prompt(item) for item in record.records("prompts")]
        _note_prompts(prompts, record)
        return {"prompts": tuple(prompts), "orders": tuple(_orders(record))}

    @property
    def model(self) -> str | None:
        """The model of the preset's own source."""
        name = self.raw.get(self.model_key)
        return name if isinstance(name, str) and name else None

    @property
    def model_key(self) -> str:
        """The key of that model, such as ``claude_model``."""
        source = {"makersuite": "google"}.get(self.chat_completion_source, self.chat_completion_source)
        return f"{source}_model"

    def prompt(self, identifier: str) -> PromptItem | None:
        """The first prompt with this identifier."""
        return next((item for item in self.prompts if item.identifier == identifier), None)

    @cached_property
    def regex_scripts(self) -> RegexScripts:
        """The preset's own regex scripts (``extensions.regex_scripts``), with what is wrong in them."""
        return RegexScripts.of(self.extensions.get("regex_scripts"))

    def order_for(self, character_id: int | str = GLOBAL_ORDER) -> tuple[OrderItem, ...] | None:
        """Return the order for a character id, or ``None`` if the preset has none for it. An order without an id is for all."""
        for order in self.orders:
            if order.character_id is None or str(order.character_id) == str(character_id):
                return order.items
        return None


PROMPT_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "identifier": ("identifier", "id", "key"),
    "position": ("injection_position", "position"),
    "depth": ("injection_depth", "depth"),
    "order": ("injection_order", "order"),
    "triggers": ("injection_trigger", "triggers"),
}
"""The names of a prompt's fields that are not called as they are here, the name to write first."""


def _prompt(record: Record) -> PromptItem:
    """A prompt. Numbers of positions are read as SillyTavern does: 1 is in the chat, anything else in its turn."""
    return PromptItem(
        identifier=record.text(*PROMPT_NAMES["identifier"]),
        name=record.text("name"),
        content=record.text("content"),
        role=record.role("role"),
        system_prompt=record.flag("system_prompt"),
        marker=record.flag("marker"),
        position=_position(record),
        depth=record.integer(*PROMPT_NAMES["depth"], default=4),
        order=record.integer(*PROMPT_NAMES["order"], default=100),
        triggers=record.texts(*PROMPT_NAMES["triggers"]),
        forbid_overrides=record.flag("forbid_overrides"),
        enabled=record.flag("enabled", default=None),
        extension=record.flag("extension"),
        raw=dict(record.raw),
    )


def _position(record: Record) -> PromptPosition:
    _, value = record.get(*PROMPT_NAMES["position"])
    is_in_chat = value in {"in_chat", "in-chat"} if isinstance(value, str) else as_integer(value) == 1
    return PromptPosition.IN_CHAT if is_in_chat or value == "1" else PromptPosition.RELATIVE


def _note_prompts(prompts: list[PromptItem], record: Record) -> None:
    seen: set[str] = set()
    for index, item in enumerate(prompts):
        path = (*record.path, "prompts", index)
        if not item.identifier:
            record.findings.add("no-identifier", "a prompt without an identifier is never used", path)
        elif item.identifier in seen:
            message = f"another prompt is called {item.identifier!r}; the first one counts"
            record.findings.add("duplicate-id", message, path, level=Level.INFO)
        seen.add(item.identifier)


def _orders(record: Record) -> list[PromptOrder]:
    """Read one order for each character id, or one for all if the list names prompts itself."""
    records = record.records("prompt_order")
    if any(item.has("identifier") for item in records):
        return [PromptOrder(None, tuple(map(_order_item, records)))]
    return [PromptOrder(_character_id(item), tuple(map(_order_item, item.records("order")))) for item in records]


def _order_item(record: Record) -> OrderItem:
    return OrderItem(record.text("identifier", "id"), bool(as_flag(record.raw.get("enabled", True))))


def _character_id(record: Record) -> int | str:
    number = as_integer(record.raw.get("character_id"))
    return record.text("character_id") if number is None else number


class TextPreset(JsonAsset, frozen=True, kw_only=True, dict=True):
    """Sampling settings of a text-completion backend. ``samplers`` has every number and flag under its own name.

    ``context_window`` and ``max_tokens`` are in tokens.
    """

    WHAT: ClassVar[str] = "a text-completion preset"
    NAMES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "context_window": ("max_length",),
        "max_tokens": ("genamt", "amount_gen"),
        "temperature": ("temp",),
        "repetition_penalty": ("rep_pen",),
        "frequency_penalty": ("freq_pen",),
        "presence_penalty": ("presence_pen",),
        "banned_strings": ("banned_tokens",),
    }

    name: str = ""
    context_window: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    banned_strings: str = ""
    samplers: dict[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def derived(cls, record: Record) -> dict[str, Any]:
        """Every setting that is a number or flag."""
        return {"samplers": {key: value for key, value in record.raw.items() if isinstance(value, (bool, int, float))}}


POSTFIXES: Final = ("", " ", "\n", "\n\n")
"""The texts of the numbers 0 to 3 in ``continue_postfix``."""

OLD_PROMPTS: Final[Mapping[str, str]] = {
    "main_prompt": "main",
    "nsfw_prompt": "nsfw",
    "auxiliary_prompt": "nsfw",
    "jailbreak_prompt": "jailbreak",
    "post_history_instructions": "jailbreak",
    "enhance_definitions_prompt": "enhanceDefinitions",
}
"""Texts that stood on the preset itself before there was a list of prompts, and the prompts they became."""


def migrate_preset(raw: dict[str, Any], findings: FindingCollector) -> dict[str, Any]:
    """A preset in today's fields: TavernKit's two parts in one, single texts as prompts, numbers and flags as words."""
    current = _joined(raw)
    _migrate_prompts(current, findings)
    if current.get("names_behavior") is None and "names_in_completion" in current:
        current["names_behavior"] = int(bool(as_flag(current["names_in_completion"])))
        findings.add("old-field", "read as names_behavior", ("names_in_completion",), level=Level.INFO)
    postfix = (
        as_integer(current.get("continue_postfix")) if not isinstance(current.get("continue_postfix"), str) else None
    )
    if postfix is not None and 0 <= postfix < len(POSTFIXES):
        current["continue_postfix"] = POSTFIXES[postfix]
        findings.add("old-field", "a number is read as the text it stood for", ("continue_postfix",), level=Level.INFO)
    return current


def _joined(raw: dict[str, Any]) -> dict[str, Any]:
    """TavernKit keeps sampling and prompts in two objects."""
    if "tavernkit_preset_version" not in raw:
        return dict(raw)
    parts = [raw.get(name) for name in ("generation_settings", "preset_settings")]
    inner = {key: value for part in parts if isinstance(part, dict) for key, value in part.items()}
    return inner | raw


def _migrate_prompts(current: dict[str, Any], findings: FindingCollector) -> None:
    if isinstance(current.get("prompts"), list):
        return
    prompts = []
    for old, identifier in OLD_PROMPTS.items():
        text = as_text(current.get(old))
        if text is not None:
            prompts.append({"identifier": identifier, "name": identifier, "content": text, "system_prompt": True})
            findings.add("old-field", f"read as the prompt {identifier!r}", (old,), level=Level.INFO)
    if prompts:
        current["prompts"] = prompts
