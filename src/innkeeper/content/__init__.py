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
    from innkeeper.content.chat import Chat as Chat
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
    "ABSENT": "json",
    "AssetError": "errors",
    "BadLine": "chat",
    "CardAsset": "card_versions",
    "CardError": "errors",
    "CardFile": "files.format",
    "CardVersion": "card_versions",
    "Character": "character",
    "CharacterFilter": "entry",
    "Chat": "chat",
    "ChatMessage": "chat_message",
    "ContextTemplate": "templates",
    "DamagedFileError": "errors",
    "Decorator": "entry",
    "DepthPrompt": "character",
    "Difference": "validation",
    "Document": "json.document",
    "FORMATS": "files.formats",
    "Finding": "finding",
    "Format": "files.format",
    "GLOBAL_ORDER": "preset",
    "InstructNames": "templates",
    "InstructTemplate": "templates",
    "JsonError": "errors",
    "LIMITS": "errors",
    "Level": "finding",
    "Limits": "errors",
    "LorePosition": "entry",
    "Lorebook": "lorebook",
    "LorebookEntry": "entry",
    "MissingFileError": "errors",
    "NamesBehavior": "preset",
    "OrderItem": "preset",
    "OutputExistsError": "errors",
    "Persona": "persona",
    "PersonaPosition": "persona",
    "Preset": "preset",
    "PresetFile": "files.loading",
    "PromptItem": "preset",
    "PromptOrder": "preset",
    "PromptPosition": "preset",
    "Reader": "files.reader",
    "ReasoningTemplate": "templates",
    "RegexScript": "regex_script",
    "RegexScripts": "regex_script",
    "ScriptPlacement": "regex_script",
    "SelectiveLogic": "entry",
    "Sniffed": "files.formats",
    "Spelling": "entry",
    "StoryPosition": "templates",
    "SystemPrompt": "templates",
    "TextPreset": "preset",
    "ToolInvocation": "chat_message",
    "WrongKindError": "errors",
    "append_to_chat": "files.saving",
    "blank_png": "files.png",
    "card_bytes": "files.formats",
    "decode_json": "json.text",
    "diff": "validation",
    "diff_trees": "validation",
    "embed_in_png": "files.png",
    "encode_json": "json.text",
    "load_asset": "files.loading",
    "load_character": "files.loading",
    "load_chat": "files.loading",
    "load_lorebook": "files.loading",
    "load_persona": "files.loading",
    "load_personas": "files.loading",
    "load_preset": "files.loading",
    "load_preset_file": "files.loading",
    "open_card": "files.formats",
    "read_chat": "chat",
    "read_personas": "persona",
    "refuse_findings": "finding",
    "save_bytes": "files.saving",
    "save_card": "files.saving",
    "save_chat": "files.saving",
    "save_lorebook": "files.saving",
    "sniff": "files.formats",
    "split_decorators": "entry",
    "split_keys": "spellings.reading",
    "validate": "validation",
}
"""The module of this package that has each public name."""

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
