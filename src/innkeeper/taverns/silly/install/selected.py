"""Selected: what is selected in ``settings.json``, in the fields of a build request: API, preset, templates, lore, scripts.

What stands in the settings counts, whatever a preset file of that name says: SillyTavern reads the file when the preset is
chosen, and from then on its own copy. `selecting` is that choice, as changes of the settings; nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from innkeeper.content.preset import Preset
from innkeeper.lore import LoreSettings
from innkeeper.prompt.data import EMPTY, deep_merge
from innkeeper.prompt.errors import UnknownNameError, Where
from innkeeper.prompt.note import NoteKind
from innkeeper.taverns.silly.extensions.memory import MemorySettings
from innkeeper.taverns.silly.extensions.note import character_note
from innkeeper.taverns.silly.extensions.vectors import VectorSettings
from innkeeper.taverns.silly.install.files import SETTINGS, UserFolder, list_of, mapping_of, text_of
from innkeeper.taverns.silly.install.names import NamedCard
from innkeeper.taverns.silly.settings import MAIN_PROMPT, PowerUser
from innkeeper.tokens import SILLYTAVERN_TOKENIZERS

_JSON: Final = ".json"
_CHAT: Final = ("OpenAI Settings", "reasoning")
_TEXT: Final = ("TextGen Settings", "instruct", "context", "sysprompt", "reasoning")
PRESETS: Final = tuple(dict.fromkeys((*_CHAT, *_TEXT)))
"""The folders of presets and templates."""

_PROMPTS: Final[Mapping[str, str]] = {
    "main": MAIN_PROMPT,
    "enhanceDefinitions": "What you know of {{char}} beyond these definitions may be used too.",
}
"""The prompts with a text that SillyTavern adds to settings without them. The words are ours."""
_LENGTHS: Final[Mapping[str, str]] = {"genamt": "amount_gen", "max_length": "max_context"}


def selecting(folder: UserFolder, names: Iterable[str], *, is_text: bool) -> dict[str, Any]:
    """The settings that change when these are selected, in the shape of ``settings.json``. Raises `UnknownNameError`."""
    changes: dict[str, Any] = {}
    for name in names:
        stem = name.removesuffix(_JSON)
        folders = _TEXT if is_text else _CHAT
        known = {subfolder: folder.names(subfolder, suffix=_JSON) for subfolder in folders}
        matching = [subfolder for subfolder in folders if f"{stem}{_JSON}" in known[subfolder]]
        if not matching:
            names_here = {file.removesuffix(_JSON) for files in known.values() for file in files}
            error = UnknownNameError("preset", name, sorted(names_here))
            error.where = Where(asset=", ".join(folders))
            raise error
        for subfolder in matching:
            changes = deep_merge(changes, _selected(subfolder, stem, folder.json(subfolder, f"{stem}{_JSON}") or {}))
    return changes


def _selected(folder: str, name: str, preset: Mapping[str, Any]) -> dict[str, Any]:
    """The effects of selecting a preset."""
    if folder == "OpenAI Settings":
        return {"oai_settings": {**preset, "preset_settings_openai": name}}
    if folder == "TextGen Settings":
        lengths = {key: preset[own] for own, key in _LENGTHS.items() if own in preset}
        return {"textgenerationwebui_settings": {**preset, "preset": name}, **lengths}
    if folder in ("sysprompt", "reasoning"):
        return {"power_user": {folder: {**preset, "name": name}}}
    return {"power_user": {folder: {**preset, "preset": name}}}


CHAT_API: Final = "openai"
"""SillyTavern's name for all chat completion."""

TEXT_API: Final = "textgenerationwebui"
DEFAULT_API: Final = "kobold"
"""The API if the settings name none."""

OWN_EXTENSIONS: Final = "extensions"
STOCK_EXTENSIONS: Final = (
    "assets", "attachments", "caption", "connection-manager", "expressions", "gallery", "memory", "quick-reply", "regex",
    "stable-diffusion", "token-counter", "translate", "tts", "vectors",
)  # fmt: skip
"""The extensions of SillyTavern 1.19, by the names that macros ask for."""

_LORE_PREFIX: Final = "world_info_"
_TEMPLATES: Final = ("context", "instruct", "sysprompt")
"""The templates that text completion has in a setting of its own."""

_OF_MACROS: Final = (
    ("stable-diffusion", "sd", ("character_prompts", "character_negative_prompts")),
    ("expressions", "expressions", ("fallback_expression", "custom")),
)
"""Extensions that only macros ask for here: their names, the names of their settings, and the fields that count."""

_ON: Final = ("memory", "sd", "expressions")
"""Extensions that need no settings to be on."""


class Selected:
    """The settings of a user, with readers for their parts. ``raw`` is the file's object with ``changes`` over it."""

    def __init__(self, folder: UserFolder, changes: Mapping[str, Any] = EMPTY) -> None:
        raw = folder.json(SETTINGS)
        if raw is None:
            folder.note("there are no settings: defaults are used", kind=NoteKind.FALLBACK, at=SETTINGS)
        self.changes = changes
        self.raw: Mapping[str, Any] = deep_merge(raw or {}, changes)
        self.power = mapping_of(self.raw, "power_user")
        self.extensions = mapping_of(self.raw, "extension_settings")
        self.chat_settings = mapping_of(self.raw, "oai_settings")
        self.text_settings = mapping_of(self.raw, "textgenerationwebui_settings")

    @property
    def api(self) -> str:
        """The name of the API that is on; ``openai`` is any chat completion."""
        return text_of(self.raw.get("main_api")) or (DEFAULT_API if self.raw else CHAT_API)

    @property
    def is_text(self) -> bool:
        """Whether prompts are one text."""
        return self.api != CHAT_API

    @property
    def disabled(self) -> frozenset[str]:
        """The extensions that are switched off."""
        return frozenset(filter(None, map(text_of, list_of(self.extensions.get("disabledExtensions")))))

    def preset(self, folder: UserFolder) -> Mapping[str, Any]:
        """The settings of chat completion, with the prompts that SillyTavern adds where there are none."""
        prompts = list_of(self.chat_settings.get("prompts"))
        listed = {text_of(mapping_of(prompt).get("identifier")) for prompt in prompts}
        added = [
            {"identifier": name, "name": name, "system_prompt": True, "role": "system", "content": text}
            for name, text in _PROMPTS.items()
            if name not in listed
        ]
        if not added or "main_prompt" in self.chat_settings:
            return self.chat_settings
        if "main" not in listed:
            message = "the settings have no main prompt: our own stands in the place of SillyTavern's"
            folder.note(message, kind=NoteKind.FALLBACK, at=SETTINGS)
        return {**self.chat_settings, "prompts": [*prompts, *added]}

    def preset_files(self, folder: UserFolder) -> tuple[str, ...]:
        """The files of the presets and templates that are selected, where they are there."""
        names = {"OpenAI Settings": self.chat_settings.get("preset_settings_openai")}
        if self.is_text:
            names = {"TextGen Settings": self.text_settings.get("preset")}
            names |= {name: mapping_of(self.power, name).get("preset") for name in ("instruct", "context")}
            names["sysprompt"] = mapping_of(self.power, "sysprompt").get("name")
        known = {subfolder: folder.names(subfolder, suffix=_JSON) for subfolder in names}
        return tuple(f"{key}/{name}{_JSON}" for key, name in names.items() if f"{name}{_JSON}" in known[key])

    @property
    def model(self) -> str | None:
        """The model of the source of chat completion that is on."""
        return Preset.of(self.chat_settings).model

    def variables(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """The variables of the chat, and those of all chats."""
        everywhere = mapping_of(self.extensions, "variables", "global")
        return {"local": mapping_of(metadata.get("variables")), "global": everywhere}

    def scripts(self) -> dict[str, Any]:
        """The scripts of all chats, which cards and presets may run theirs, and whether any are run."""
        names = ("regex", "character_allowed_regex", "preset_allowed_regex")
        scripts = {name: self.extensions[name] for name in names if self.extensions.get(name)}
        return scripts | ({"disabled_extensions": sorted(self.disabled)} if self.disabled else {})

    def of_character(self, card: NamedCard | None) -> dict[str, Any]:
        """The tavern's settings for the speaker: the file's name, its tags, its note."""
        if card is None:
            return {}
        tags = filter(None, map(text_of, list_of(mapping_of(self.raw, "tag_map").get(card.avatar))))
        settings: dict[str, Any] = {"character_filename": card.stem, "character_tags": tuple(tags)}
        own = character_note(mapping_of(self.extensions, "note"), card.stem)
        if own is not None:
            settings["character_note"] = own
        return settings

    def settings(self) -> dict[str, Any]:
        """The tavern's settings: what it has no use for is left out here, and would be in any build."""
        templates = _TEMPLATES if self.is_text else ()
        power = {
            name: self.power[name]
            for name in PowerUser.__struct_fields__
            if name in self.power and name not in templates
        }
        lore = mapping_of(self.raw, "world_info_settings")
        known = (name for name in lore if name.removeprefix(_LORE_PREFIX) in LoreSettings.__struct_fields__)
        settings: dict[str, Any] = {"power_user": power, "wi_settings": {name: lore[name] for name in known}}
        settings["import_character_book"] = False
        settings |= self.scripts() | self.stock_extensions()
        if self.is_text:
            settings["text"] = self.text()
        elif biases := mapping_of(self.chat_settings, "bias_presets"):
            settings["bias_presets"] = biases
        return settings

    def stock_extensions(self) -> dict[str, Any]:
        """The settings of the active stock extensions. The summary's needs no settings to be on."""
        settings: dict[str, Any] = {"cfg": mapping_of(self.extensions, "cfg")}
        for name, kind in (("memory", MemorySettings), ("vectors", VectorSettings)):
            if name not in self.disabled:
                stored = mapping_of(self.extensions, name)
                settings[name] = {field: stored[field] for field in kind.__struct_fields__ if field in stored}
        for extension, name, fields in _OF_MACROS:
            if extension not in self.disabled:
                stored = mapping_of(self.extensions, name)
                settings[name] = {field: stored[field] for field in fields if field in stored}
        if default := text_of(mapping_of(self.extensions, "note").get("default")):
            settings["note"] = {"default": default}
        return {name: fields for name, fields in settings.items() if fields or name in _ON}

    def text(self) -> dict[str, Any]:
        """The templates and lengths of text completion."""
        instruct = mapping_of(self.power, "instruct")
        text: dict[str, Any] = {
            name: self.raw[name] for name in ("max_context", "amount_gen") if isinstance(self.raw.get(name), int)
        }
        text |= {"context": self.power.get("context") or {}, "sysprompt": self.power.get("sysprompt") or {}}
        text |= {"instruct": instruct} if instruct.get("enabled") else {}
        return text | {"textgen": self.text_settings}

    def tokenizer(self, folder: UserFolder) -> dict[str, str]:
        """The setting for the tokenizer; nothing, with a note, if it is unknown or unavailable."""
        source = text_of(self.chat_settings.get("chat_completion_source"))
        chosen = self.power.get("tokenizer")
        name = text_tokenizer(chosen) if self.is_text else chat_tokenizer(source, self.model or "")
        if name is None:
            folder.note("SillyTavern asks the backend for counts of tokens: they are estimated", kind=NoteKind.ESTIMATE)
        elif not SILLYTAVERN_TOKENIZERS[name].available:
            folder.note(f"SillyTavern counts by {name}, which is not here: by another's tokens", kind=NoteKind.ESTIMATE)
        else:
            return {"tokenizer": name}
        return {}

    def enabled(self, folder: UserFolder) -> tuple[str, ...]:
        """The names of the extensions that are on: those of every install, and the user's own."""
        own = (f"third-party/{name}" for name in folder.names(OWN_EXTENSIONS, suffix=""))
        return tuple(name for name in (*STOCK_EXTENSIONS, *own) if name not in self.disabled)

    def note_api(self, folder: UserFolder) -> None:
        """Say where the API that is on has rules of its own that are not followed."""
        if self.api not in (CHAT_API, TEXT_API):
            what = f"the API {self.api!r} is read as text completion; its own request is not made"
            folder.note(what, kind=NoteKind.FALLBACK, at=SETTINGS)


DEFAULT: Final = "gpt-3.5-turbo"

_BY_SOURCE: Final[Mapping[str, str]] = {
    "claude": "claude",
    "makersuite": "gemma",
    "vertexai": "gemma",
    "mistralai": "mistral",
    "cohere": "llama3",
    "deepseek": "llama3",
    "ai21": "jamba",
}
"""Sources that count all their models alike."""

_MODELS: Final = (
    ("claude", "claude"), ("llama3", "llama3"), ("llama-3", "llama3"), ("llama", "llama"), ("mistral", "mistral"),
    ("yi", "yi"), ("deepseek", "llama3"), ("gemma", "gemma"), ("gemini", "gemma"), ("jamba", "jamba"), ("qwen2", "llama3"),
    ("command-r", "llama3"), ("command-a", "llama3"), ("nemo", "llama3"), ("o1", "gpt-4o"), ("o3", "gpt-4o"),
    ("o4-mini", "gpt-4o"), ("gpt-5", "gpt-4o"), ("gpt-4o", "gpt-4o"), ("gpt-4.1", "gpt-4o"), ("gpt-4.5", "gpt-4o"),
    ("gpt-4", "gpt-4"),
)  # fmt: skip
"""Parts of a model's name, the first that is in it, for sources that take any model."""

_ROUTED: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "openai": _MODELS,
    "custom": _MODELS,
    "azure_openai": _MODELS,
    "openrouter": (
        ("gpt-4o", "gpt-4o"), ("gpt-4", "gpt-4"), ("claude", "claude"), ("jamba", "jamba"), ("deepseek", "llama3"),
    ),
    "electronhub": (("gpt-4o", "gpt-4o"), ("claude", "claude"), ("llama-3", "llama3"), ("mistral", "mistral")),
    "groq": (("llama-3", "llama3"), ("mistral", "mistral")),
    "perplexity": (("llama-3", "llama3"), ("mistral", "mistral")),
    "chutes": (("llama-3", "llama3"), ("mistral", "mistral")),
}  # fmt: skip
"""The parts of a model's name that count, by source; where none is in it, and for all other sources, it is `DEFAULT`."""

_BY_NUMBER: Final[Mapping[int, str]] = {
    0: "none", 1: "gpt2", 2: "openai", 3: "llama", 4: "nerdstash", 5: "nerdstash_v2", 7: "mistral", 8: "yi", 11: "claude",
    12: "llama3", 13: "gemma", 14: "jamba", 15: "llama3", 16: "llama3", 17: "llama3", 18: "llama3", 19: "llama3",
}  # fmt: skip


def chat_tokenizer(source: str, model: str) -> str:
    """The name of the tokenizer that chat prompts are counted by."""
    if source in _BY_SOURCE:
        return _BY_SOURCE[source]
    return next((name for part, name in _ROUTED.get(source, ()) if part in model), DEFAULT)


def text_tokenizer(number: object) -> str | None:
    """The tokenizer for text prompts; ``None`` if the backend counts, or its best match."""
    return _BY_NUMBER.get(number) if isinstance(number, int) else None
