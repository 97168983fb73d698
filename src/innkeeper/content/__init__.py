"""Typed assets: characters, lorebooks, presets, personas and chats, parsed once and never changed.

Each name is imported from its home the first time it is asked for, so that ``import innkeeper.content`` costs next to
nothing.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.content.card_versions import CardAsset as CardAsset
    from innkeeper.content.card_versions import CardVersion as CardVersion
    from innkeeper.content.character import Character as Character
    from innkeeper.content.character import DepthPrompt as DepthPrompt
    from innkeeper.content.chat import BadLine as BadLine
    from innkeeper.content.chat import ChatLog as ChatLog
    from innkeeper.content.chat import read_chat as read_chat
    from innkeeper.content.chat_message import ChatMessage as ChatMessage
    from innkeeper.content.chat_message import ToolInvocation as ToolInvocation
    from innkeeper.content.entry import CharacterFilter as CharacterFilter
    from innkeeper.content.entry import Decorator as Decorator
    from innkeeper.content.entry import LorebookEntry as LorebookEntry
    from innkeeper.content.entry import LorePosition as LorePosition
    from innkeeper.content.entry import SelectiveLogic as SelectiveLogic
    from innkeeper.content.entry import Spelling as Spelling
    from innkeeper.content.entry import split_decorators as split_decorators
    from innkeeper.content.errors import LIMITS as LIMITS
    from innkeeper.content.errors import AssetError as AssetError
    from innkeeper.content.errors import CardError as CardError
    from innkeeper.content.errors import DamagedFileError as DamagedFileError
    from innkeeper.content.errors import JsonError as JsonError
    from innkeeper.content.errors import Limits as Limits
    from innkeeper.content.errors import MissingFileError as MissingFileError
    from innkeeper.content.errors import OutputExistsError as OutputExistsError
    from innkeeper.content.errors import WrongKindError as WrongKindError
    from innkeeper.content.files.format import CardFile as CardFile
    from innkeeper.content.files.format import Format as Format
    from innkeeper.content.files.formats import FORMATS as FORMATS
    from innkeeper.content.files.formats import Sniffed as Sniffed
    from innkeeper.content.files.formats import card_bytes as card_bytes
    from innkeeper.content.files.formats import open_card as open_card
    from innkeeper.content.files.formats import sniff as sniff
    from innkeeper.content.files.loading import PresetFile as PresetFile
    from innkeeper.content.files.loading import load_asset as load_asset
    from innkeeper.content.files.loading import load_character as load_character
    from innkeeper.content.files.loading import load_chat as load_chat
    from innkeeper.content.files.loading import load_lorebook as load_lorebook
    from innkeeper.content.files.loading import load_persona as load_persona
    from innkeeper.content.files.loading import load_personas as load_personas
    from innkeeper.content.files.loading import load_preset as load_preset
    from innkeeper.content.files.loading import load_preset_file as load_preset_file
    from innkeeper.content.files.png import blank_png as blank_png
    from innkeeper.content.files.png import embed_in_png as embed_in_png
    from innkeeper.content.files.reader import Reader as Reader
    from innkeeper.content.files.saving import append_to_chat as append_to_chat
    from innkeeper.content.files.saving import save_bytes as save_bytes
    from innkeeper.content.files.saving import save_card as save_card
    from innkeeper.content.files.saving import save_chat as save_chat
    from innkeeper.content.files.saving import save_lorebook as save_lorebook
    from innkeeper.content.finding import Finding as Finding
    from innkeeper.content.finding import Level as Level
    from innkeeper.content.finding import refuse_findings as refuse_findings
    from innkeeper.content.json import ABSENT as ABSENT
    from innkeeper.content.json.document import Document as Document
    from innkeeper.content.json.text import decode_json as decode_json
    from innkeeper.content.json.text import encode_json as encode_json
    from innkeeper.content.lorebook import Lorebook as Lorebook
    from innkeeper.content.persona import Persona as Persona
    from innkeeper.content.persona import PersonaPosition as PersonaPosition
    from innkeeper.content.persona import read_personas as read_personas
    from innkeeper.content.preset import GLOBAL_ORDER as GLOBAL_ORDER
    from innkeeper.content.preset import NamesBehavior as NamesBehavior
    from innkeeper.content.preset import OrderItem as OrderItem
    from innkeeper.content.preset import Preset as Preset
    from innkeeper.content.preset import PromptItem as PromptItem
    from innkeeper.content.preset import PromptOrder as PromptOrder
    from innkeeper.content.preset import PromptPosition as PromptPosition
    from innkeeper.content.preset import TextPreset as TextPreset
    from innkeeper.content.regex_script import RegexScript as RegexScript
    from innkeeper.content.regex_script import RegexScripts as RegexScripts
    from innkeeper.content.regex_script import ScriptPlacement as ScriptPlacement
    from innkeeper.content.spellings.reading import split_keys as split_keys
    from innkeeper.content.templates import ContextTemplate as ContextTemplate
    from innkeeper.content.templates import InstructNames as InstructNames
    from innkeeper.content.templates import InstructTemplate as InstructTemplate
    from innkeeper.content.templates import ReasoningTemplate as ReasoningTemplate
    from innkeeper.content.templates import StoryPosition as StoryPosition
    from innkeeper.content.templates import SystemPrompt as SystemPrompt
    from innkeeper.content.validation import Difference as Difference
    from innkeeper.content.validation import diff as diff
    from innkeeper.content.validation import diff_trees as diff_trees
    from innkeeper.content.validation import validate as validate
    from innkeeper.prompt.errors import LimitError as LimitError

_HOMES: Final = {
    "card_versions": ("CardAsset", "CardVersion"),
    "character": ("Character", "DepthPrompt"),
    "chat": ("BadLine", "ChatLog", "read_chat"),
    "chat_message": ("ChatMessage", "ToolInvocation"),
    "entry": (
        "CharacterFilter",
        "Decorator",
        "LorePosition",
        "LorebookEntry",
        "SelectiveLogic",
        "Spelling",
        "split_decorators",
    ),
    "errors": (
        "AssetError",
        "CardError",
        "DamagedFileError",
        "JsonError",
        "LIMITS",
        "Limits",
        "MissingFileError",
        "OutputExistsError",
        "WrongKindError",
    ),
    "files.format": ("CardFile", "Format"),
    "files.formats": ("FORMATS", "Sniffed", "card_bytes", "open_card", "sniff"),
    "files.loading": (
        "PresetFile",
        "load_asset",
        "load_character",
        "load_chat",
        "load_lorebook",
        "load_persona",
        "load_personas",
        "load_preset",
        "load_preset_file",
    ),
    "files.png": ("blank_png", "embed_in_png"),
    "files.reader": ("Reader",),
    "files.saving": ("append_to_chat", "save_bytes", "save_card", "save_chat", "save_lorebook"),
    "finding": ("Finding", "Level", "refuse_findings"),
    "json": ("ABSENT",),
    "json.document": ("Document",),
    "json.text": ("decode_json", "encode_json"),
    "lorebook": ("Lorebook",),
    "persona": ("Persona", "PersonaPosition", "read_personas"),
    "preset": (
        "GLOBAL_ORDER",
        "NamesBehavior",
        "OrderItem",
        "Preset",
        "PromptItem",
        "PromptOrder",
        "PromptPosition",
        "TextPreset",
    ),
    "regex_script": ("RegexScript", "RegexScripts", "ScriptPlacement"),
    "spellings.reading": ("split_keys",),
    "templates": (
        "ContextTemplate",
        "InstructNames",
        "InstructTemplate",
        "ReasoningTemplate",
        "StoryPosition",
        "SystemPrompt",
    ),
    "validation": ("Difference", "diff", "diff_trees", "validate"),
}
"""The module of this package that has each public name."""

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
