"""JsonAsset: the base of presets, templates and personas: typed fields over a JSON object that is preserved.

`kind_of_json` recognises by its keys which asset a JSON document is: character, lorebook, preset, template, persona or chat.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, ClassVar, Final, NamedTuple, Self, Union, get_args, get_origin

import msgspec

from innkeeper.content.errors import LIMITS, AssetError, Limits
from innkeeper.content.finding import Finding, Path, shown
from innkeeper.content.json import ABSENT
from innkeeper.content.json.document import Document, remembered
from innkeeper.content.json.record import FindingCollector, Record, as_integer
from innkeeper.content.json.text import encode_json
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import UnknownNameError


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
"""The types by which a SmartTavern character file is played."""

MIN_EARLY_FIELDS: Final = 2
"""The number of texts of a V1 card, besides the name, that identify one."""

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
    "risu preset": _some(1, "promptTemplate", "formatingOrder", "mainPrompt"),
    "risu module": lambda tree: (
        (tree.get("type") == "risuModule" and isinstance(tree.get("module"), dict))
        or (tree.get("type") == "regex" and isinstance(tree.get("data"), list))
    ),
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


class NumberedEnum(StrEnum):
    """Words for which SillyTavern writes numbers, by default from 0 on in their order."""

    @classmethod
    def numbers(cls) -> Mapping[int, Self]:
        """The members by SillyTavern's numbers."""
        return dict(enumerate(cls))


class JsonAsset(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Typed fields read from the object at ``path`` of a document, which keeps everything else.

    A field is read from the first of its ``NAMES`` that is present, its own name being the last of them; a value of
    another type is read as well as it can be, with a finding. Absent fields have their defaults.
    """

    document: Document = Document(None)
    path: Path = ()
    findings: tuple[Finding, ...] = ()

    WHAT: ClassVar[str] = "an asset"
    NAMES: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    HINT: ClassVar[str | None] = None

    @classmethod
    def of(cls, value: Any) -> Self:
        """The asset from itself, a JSON object or JSON text. Remembered by content.

        Raises:
            FormatError: the text is not JSON, or not an object.
            LimitError: it is beyond a limit.
        """
        if isinstance(value, cls):
            return value
        asset: Self = remembered(_cache_of(cls), value, cls.read, what=cls.WHAT)
        return asset

    @classmethod
    def read(cls, document: Document, path: Path = (), *, limits: Limits = LIMITS) -> Self:
        """Read the asset at a path of a document. Raises `AssetError` if there is no object."""
        raw = document.at(path)
        if not isinstance(raw, dict):
            raise AssetError(f"{cls.WHAT} is a JSON object, not {shown(raw)}", hint=cls.HINT)
        findings = FindingCollector(limits.findings, document.findings)
        record = Record(cls.migrated(raw, findings), path, findings)
        values = {slot.attribute: slot.read(record) for slot in _slots(cls)} | cls.derived(record)
        return cls(**values, document=document, path=path, findings=findings.done())

    @classmethod
    def names(cls, field: str) -> tuple[str, ...]:
        """The keys a field is read from; the first is the one it is written to."""
        return tuple(dict.fromkeys((*cls.NAMES.get(field, ()), field)))

    @classmethod
    def migrated(cls, raw: dict[str, Any], findings: FindingCollector) -> dict[str, Any]:  # noqa: ARG003 - for subclasses
        """The object with old fields under today's names; by default as it is."""
        return raw

    @classmethod
    def derived(cls, record: Record) -> dict[str, Any]:  # noqa: ARG003 - for subclasses
        """Fields that need more than a look at one key."""
        return {}

    @property
    def raw(self) -> Mapping[str, Any]:
        """The object as read. It must not be changed; `to_dict` gives a copy."""
        raw: Mapping[str, Any] = self.document.at(self.path)
        return raw

    @cached_property
    def digest(self) -> str:
        """A hash of the content."""
        return sha256(encode_json(self.raw)).hexdigest()

    def replace(self, **fields: Any) -> Self:
        """The asset with other values in some fields; everything else keeps its bytes. Raises `UnknownNameError`."""
        edits: dict[Path, Any] = {}
        for name, value in fields.items():
            if name not in {slot.attribute for slot in _slots(type(self))}:
                raise UnknownNameError(f"field of {self.WHAT}", name, self.__struct_fields__)
            names = self.names(name)
            key = next((key for key in names if key in self.raw), names[0])
            plain = list(value) if isinstance(value, tuple) else str(value) if isinstance(value, StrEnum) else value
            edits[(*self.path, key)] = ABSENT if plain is None else plain
        return type(self).read(self.document.replace(edits), self.path)

    def to_dict(self) -> dict[str, Any]:
        """The object as read, as data of the caller's own."""
        data: dict[str, Any] = msgspec.json.decode(encode_json(self.raw))
        return data

    def to_json(self) -> bytes:
        """The object as JSON text: byte for byte as read, except where it was edited."""
        return Document(self.raw).encode() if self.path else self.document.encode()


class _Slot(NamedTuple):
    """One field: its name and how it is read from a record."""

    attribute: str
    read: Callable[[Record], Any]


_OWN: Final = frozenset(JsonAsset.__struct_fields__)
_GETTERS: Final[Mapping[Any, Callable[..., Any]]] = {
    str: Record.text,
    bool: Record.flag,
    int: Record.integer,
    float: Record.number,
}


@lru_cache(maxsize=64)
def _slots(cls: type[JsonAsset]) -> tuple[_Slot, ...]:
    """Return the reader of each field of a class, by its type; fields of other types are left to `derived`."""
    slots = []
    for field in msgspec.structs.fields(cls):
        read = None if field.name in _OWN else _getter(cls, field)
        if read is not None:
            slots.append(_Slot(field.name, read))
    return tuple(slots)


def _getter(cls: type[JsonAsset], field: msgspec.structs.FieldInfo) -> Callable[[Record], Any] | None:
    names, default = cls.names(field.name), field.default
    kind: Any = field.type
    if get_origin(kind) in {Union, types.UnionType}:
        kind = next(part for part in get_args(kind) if part is not type(None))  # without ``| None``
    if field.name == "role" or field.name.endswith("_role"):
        return lambda record: record.role(*names, default=default)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return lambda record: _choice(record, names, kind, default)
    if get_origin(kind) is dict:
        return lambda record: record.mapping(*names)
    getter = _GETTERS.get(kind)
    return None if getter is None else lambda record: getter(record, *names, default=default)


def _choice(record: Record, names: tuple[str, ...], kind: type[StrEnum], default: Any) -> Any:
    """A member by its name, or by its number where the words have numbers."""
    name, value = record.get(*names)
    if value is ABSENT:
        return default
    word = str(value).strip().lower()
    if not isinstance(value, bool) and word in set(kind):
        return kind(word)
    numbers: Mapping[int, StrEnum] = kind.numbers() if issubclass(kind, NumberedEnum) else {}
    number = as_integer(value)
    if number is not None and number in numbers and not isinstance(value, bool):
        return numbers[number]
    record.wrong(name, value, f"one of {', '.join(kind)}")
    return default


@lru_cache(maxsize=64)
def _cache_of(cls: type[JsonAsset]) -> BoundedCache[str, Any]:
    return BoundedCache(items=64)
