"""Character: a character card of any version as one typed value that never changes.

Cards of V1, V2 and V3 are read into the same fields (`read_character`), and the card's JSON is kept whole in ``document``.
An edit (`Character.replace`) writes only the places that change, and `Character.to_version` takes a card from one
specification to another; whatever else the card holds keeps its bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from innkeeper.content.card_versions import (
    DEFAULT_ASSETS,
    FIELDS,
    SPEC_NUMBERS,
    SPECS,
    TEXT_FIELDS,
    V1_NAMES,
    V2_DEFAULTS,
    CardAsset,
    CardVersion,
)
from innkeeper.content.errors import CARD_HINT, LIMITS, AssetError, Limits, WrongKindError
from innkeeper.content.finding import Finding, Level, Path, shown
from innkeeper.content.json import ABSENT
from innkeeper.content.json.document import Document, remembered
from innkeeper.content.json.json_asset import kind_of_json
from innkeeper.content.json.record import FindingCollector, Record, as_integer, as_number, as_role
from innkeeper.content.json.text import encode_json
from innkeeper.content.lorebook import Lorebook, read_lorebook
from innkeeper.content.regex_script import RegexScripts
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import UnknownNameError, UsageError, Where

TALKATIVENESS: Final = 0.5
"""The talkativeness of a character in a group if the card has none."""


class DepthPrompt(msgspec.Struct, frozen=True):
    """A card's note at a depth of the chat: its text, depth in messages and role."""

    prompt: str
    depth: int = 4
    role: str = "system"


class Character(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A character. Field names are those of the card specifications; texts are as written, macros and all.

    Every version is read into the same fields; what a version does not have is empty. ``document`` keeps the card as it
    was read, unknown fields included; ``findings`` say what in it was not as it should be.
    """

    name: str
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_mes: str = ""
    mes_example: str = ""
    creator_notes: str = ""
    system_prompt: str = ""
    post_history_instructions: str = ""
    alternate_greetings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    creator: str = ""
    character_version: str = ""
    nickname: str = ""
    group_only_greetings: tuple[str, ...] = ()
    creator_notes_multilingual: dict[str, str] = {}
    source: tuple[str, ...] = ()
    creation_date: float | None = None
    modification_date: float | None = None
    assets: tuple[CardAsset, ...] = DEFAULT_ASSETS
    extensions: dict[str, Any] = {}
    book: Lorebook | None = None
    version: CardVersion = CardVersion.V2
    spec_version: str = ""
    document: Document = Document(None)
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, value: Any) -> Character:
        """A character from itself, a card as a JSON object, or JSON text. Remembered by content.

        Raises:
            AssetError: it is not a card, or one without a name.
            FormatError: the text is not JSON.
            LimitError: it is beyond a limit.
        """
        return value if isinstance(value, Character) else remembered(_READ, value, read_character, what="a character")

    @property
    def display_name(self) -> str:
        """The character's name in a prompt: the nickname if there is one, else the name."""
        return self.nickname if self.nickname.strip() else self.name

    @property
    def persona_text(self) -> str:
        """The character as a persona: description and personality, with a blank line between them."""
        return "\n\n".join(text for text in (self.description, self.personality) if text.strip())

    @property
    def digest(self) -> str:
        """A hash of the card's content."""
        return self.document.digest

    @property
    def raw(self) -> Mapping[str, Any]:
        """The card as read. It must not be changed; `to_dict` gives a copy."""
        tree: Mapping[str, Any] = self.document.tree
        return tree

    def greetings(self, *, group: bool = False) -> tuple[str, ...]:
        """All greetings in the order of their indexes; in a group those for groups only come last."""
        return (self.first_mes, *self.alternate_greetings, *(self.group_only_greetings if group else ()))

    def greeting(self, index: int = 0, *, group: bool = False) -> str:
        """Return one greeting: 0 or -1 is the first message, 1 the first alternative. Raises `UsageError` for a missing one."""
        greetings = self.greetings(group=group)
        if not -1 <= index < len(greetings):
            hint = f"indexes go from 0 to {len(greetings) - 1}"
            raise UsageError(f"{self.name!r} has no greeting {index}", hint=hint)
        return greetings[max(index, 0)]

    @property
    def depth_prompt(self) -> DepthPrompt | None:
        """The character's note (``extensions.depth_prompt``), or ``None`` where it is absent or empty."""
        note = self.extensions.get("depth_prompt")
        if not isinstance(note, dict) or not isinstance(note.get("prompt"), str) or not note["prompt"]:
            return None
        depth = 0 if note.get("depth") == "" else as_integer(note.get("depth"))  # a number field that was emptied
        return DepthPrompt(note["prompt"], 4 if depth is None else depth, as_role(note.get("role")) or "system")

    @property
    def talkativeness(self) -> float:
        """How readily the character speaks in a group, 0 to 1 (``extensions.talkativeness``)."""
        number = as_number(self.extensions.get("talkativeness"))
        return TALKATIVENESS if number is None or math.isnan(number) else float(number)

    @property
    def world(self) -> str | None:
        """The name of the world info file the card is linked to (``extensions.world``)."""
        name = self.extensions.get("world")
        return name if isinstance(name, str) and name else None

    @cached_property
    def regex_scripts(self) -> RegexScripts:
        """The card's own regex scripts (``extensions.regex_scripts``), with what is wrong in them."""
        return RegexScripts.of(self.extensions.get("regex_scripts"))

    def creator_notes_for(self, language: str = "en") -> str:
        """The creator's notes in a language (ISO 639-1), in English, or as they are."""
        notes = self.creator_notes_multilingual
        primary = language.lower().replace("_", "-").partition("-")[0]
        english = notes.get("en") or self.creator_notes
        return notes.get(primary) or english or next((text for text in notes.values() if text), "")

    def main_asset(self, type_: str = "icon") -> CardAsset | None:
        """The asset named ``main`` of a type, or its first."""
        assets = [asset for asset in self.assets if asset.type == type_]
        return next((asset for asset in assets if asset.name == "main"), assets[0] if assets else None)

    def replace(self, **fields: Any) -> Character:
        """The character with other values in some fields; the rest of the card keeps its bytes.

        Raises:
            UnknownNameError: a card has no such field.
            UsageError: a V1 card has no such field; convert it first.
        """
        return _read(self.document.replace(field_edits(self, fields)))

    def to_version(self, version: CardVersion | str) -> Character:
        """The character as a V2 or V3 card. Fields that only V3 knows stay in a V2 card, where V2 readers pass them by."""
        target = CardVersion(version)
        return self if target is self.version else _read(self.document.replace(version_edits(self, target)))

    def to_dict(self) -> dict[str, Any]:
        """The card as read, as data of the caller's own."""
        card: dict[str, Any] = msgspec.json.decode(encode_json(self.document.tree))
        return card

    def to_json(self) -> bytes:
        """The card as JSON text: byte for byte as read, except where it was edited."""
        return self.document.encode()


_READ: Final[BoundedCache[str, Character]] = BoundedCache(items=256)


V1_EXTENSIONS: Final = ("talkativeness", "fav")
"""Keys of an early card that later versions have in ``extensions``."""

V1_KINDS: Final = frozenset({"character", "persona", "unknown"})
"""Kinds of JSON that can be a V1 card: it has no mark of its own, only a name and some texts."""


def read_character(document: Document, *, limits: Limits = LIMITS, lenient: bool = False) -> Character:
    """The character in a card.

    Args:
        document: the card.
        limits: the limits to hold.
        lenient: accept a card without ``spec`` or of an unknown one, with a finding.

    Raises:
        AssetError: it is not a card.
        WrongKindError: it follows a specification that is not read.
        WrongKindError: it is something else that is read elsewhere.
    """
    findings = FindingCollector(limits.findings, document.findings)
    tree = document.tree
    if not isinstance(tree, dict):
        raise AssetError(f"a card is a JSON object, not {shown(tree)}", hint=CARD_HINT)
    version = _version(tree, findings, lenient=lenient)
    if version is CardVersion.V1:
        return _read_v1(document, findings, limits)
    return _read_data(document, version, findings, limits)


def _version(tree: dict[str, Any], findings: FindingCollector, *, lenient: bool) -> CardVersion:
    spec, data = tree.get("spec"), tree.get("data")
    if isinstance(spec, str) and spec in SPECS:
        return SPECS[spec]
    if spec is None and not isinstance(data, dict) and _is_v1(tree) and kind_of_json(tree) in V1_KINDS:
        return CardVersion.V1
    if lenient and isinstance(data, dict):
        findings.add("unknown-spec", f"{shown(spec)} is not a known specification; read as V3", ("spec",))
        return CardVersion.V3
    raise _refusal(tree, spec)


def _is_v1(tree: Mapping[str, Any]) -> bool:
    """Whether there is a name and at least one more of the fields of a card."""
    present = [name for name in TEXT_FIELDS if any(isinstance(tree.get(other), str) for other in names_of(name))]
    return "name" in present and (len(present) > 1 or isinstance(tree.get("character_book"), dict))


def names_of(field: str) -> tuple[str, ...]:
    """The keys that a field of a card is read from where its fields stand on the card itself."""
    return V1_NAMES.get(field, ("character_book",) if field == "book" else (field,))


_ANYBODYS: Final = ("name", "description")
"""Fields that much else has too: a persona, a package."""


def _refusal(tree: dict[str, Any], spec: Any) -> AssetError | WrongKindError:
    where = Where(path="spec")
    if isinstance(spec, str) and spec.startswith("chara_card"):
        hint = "V1, V2 and V3 are read; programs pass lenient=True to read the rest as V3"
        return WrongKindError(f"cards of {shown(spec)} are not read", found=str(spec), where=where, hint=hint)
    kind = kind_of_json(tree)
    if kind not in {"character", "unknown"}:
        return WrongKindError(f"this is not a character card but a {kind}", found=kind)
    if isinstance(tree.get("data"), dict):
        hint = 'add "spec": "chara_card_v2" and "spec_version": "2.0"; programs pass lenient=True instead'
        return AssetError(f"the card does not say its specification: spec is {shown(spec)}", where=where, hint=hint)
    if _is_v1({**tree, "name": "?"}):
        return AssetError("the character has no name", where=Where(path="name"), hint="give it a name")
    return AssetError("this JSON is not a character card", hint=CARD_HINT)


def _read_v1(document: Document, findings: FindingCollector, limits: Limits) -> Character:
    """An early card; fields of later versions are read where they stand, on the card itself."""
    record = Record(document.tree, (), findings)
    texts: dict[str, Any] = {name: record.text(*names_of(name)) for name in TEXT_FIELDS}
    _demand_name(texts["name"], ("name",))
    if not any(text for name, text in texts.items() if name not in _ANYBODYS):
        findings.add("bare-card", "it has no more than a name and a description: is it a card?", (), level=Level.INFO)
    tags = document.tree.get("tags")
    early = {name: document.tree[name] for name in V1_EXTENSIONS if name in document.tree}
    return Character(
        **texts,
        **_later_fields(document, record, limits),
        tags=tuple(filter(None, map(str.strip, tags.split(",")))) if isinstance(tags, str) else record.texts("tags"),
        extensions={**early, **record.mapping("extensions")},
        version=CardVersion.V1,
        document=document,
        findings=findings.done(),
    )


def _read_data(document: Document, version: CardVersion, findings: FindingCollector, limits: Limits) -> Character:
    data = _data(document.tree, findings)
    record = Record(data, ("data",), findings)
    texts: dict[str, Any] = {name: record.text(name) for name in TEXT_FIELDS}
    _demand_name(texts["name"], ("data", "name"))
    spec_version = Record(document.tree, (), findings).text("spec_version")
    _note_newer(spec_version, version, findings)
    _note_depth_role(record.mapping("extensions"), findings)
    return Character(
        **texts,
        **_later_fields(document, record, limits),
        tags=record.texts("tags"),
        extensions=record.mapping("extensions"),
        version=version,
        spec_version=spec_version,
        document=document,
        findings=findings.done(),
    )


def _later_fields(document: Document, record: Record, limits: Limits) -> dict[str, Any]:
    """The fields that came with V2 and V3 and are not one text each."""
    return {
        "alternate_greetings": record.texts("alternate_greetings"),
        "group_only_greetings": record.texts("group_only_greetings"),
        "source": record.texts("source"),
        "creator_notes_multilingual": _texts_by_name(record, "creator_notes_multilingual"),
        "creation_date": record.number("creation_date"),
        "modification_date": record.number("modification_date"),
        "assets": _assets(record) if record.has("assets") else DEFAULT_ASSETS,
        "book": _book(document, record, limits),
    }


def _note_depth_role(extensions: Mapping[str, Any], findings: FindingCollector) -> None:
    note = extensions.get("depth_prompt")
    role = note.get("role") if isinstance(note, dict) else None
    if role is not None and as_role(role) is None:
        path = ("data", "extensions", "depth_prompt", "role")
        findings.add("unknown-role", f"{shown(role)} is not a role; read as system", path)


def _data(tree: dict[str, Any], findings: FindingCollector) -> dict[str, Any]:
    """The card's ``data``; a text that is missing there is taken from the V1 fields beside it."""
    data = tree.get("data")
    if not isinstance(data, dict):
        if not _is_v1(tree):
            raise AssetError(
                f"the card's data is {shown(data)}, not an object", where=Where(path="data"), hint=CARD_HINT
            )
        findings.add("no-data", "the card has no data; its V1 fields are used", ("data",))
        data = {}
    spare = {name: tree[name] for name in V1_NAMES if data.get(name) is None and isinstance(tree.get(name), str)}
    for name in spare:
        findings.add("v1-fallback", "taken from the V1 field of this name", ("data", name), level=Level.INFO)
    return {**data, **spare} if spare else data


def _demand_name(name: str, path: Path) -> None:
    if not name.strip():
        raise AssetError("the character has no name", where=Where(path=".".join(map(str, path))), hint="give it a name")


def _note_newer(spec_version: str, version: CardVersion, findings: FindingCollector) -> None:
    """Report a newer minor version, which is read all the same (Character Card V3, *spec_version*)."""
    try:
        newer = float(spec_version) > float(version.value[1:])
    except ValueError:
        message = f"{shown(spec_version)} is not the version of a card"
        findings.add("spec-version", message, ("spec_version",))
    else:
        if newer:
            findings.add("newer-spec", f"made for version {spec_version}; new features are not used", ("spec_version",))


def _texts_by_name(record: Record, name: str) -> dict[str, str]:
    mapping = record.mapping(name)
    inner = Record(mapping, (*record.path, name), record.findings)
    return {key: inner.text(key) for key in mapping}


def _assets(record: Record) -> tuple[CardAsset, ...]:
    return tuple(
        CardAsset(item.text("type"), item.text("uri"), item.text("name"), item.text("ext", default="unknown"))
        for item in record.records("assets")
    )


def _book(document: Document, record: Record, limits: Limits) -> Lorebook | None:
    """The card's lorebook. One that cannot be read is a finding, and the card is read without it."""
    if not record.has("character_book"):
        return None
    path = (*record.path, "character_book")
    try:
        return read_lorebook(document, path, limits=limits, findings=record.findings)
    except AssetError as error:
        record.findings.add("bad-lorebook", f"{error.message}; the card is read without it", path)
        return None


def _read(document: Document) -> Character:
    """A card after an edit, which is read as it was before."""
    return read_character(document, lenient=True)


# ---- edits, in a card's own words


def field_edits(character: Character, fields: Mapping[str, Any]) -> dict[Path, Any]:
    """The edits that give a card other values in some fields. Raises `UnknownNameError`, `UsageError` as `Character.replace`."""
    edits: dict[Path, Any] = {}
    for name, value in fields.items():
        if name not in FIELDS:
            raise UnknownNameError("field of a character", name, FIELDS)
        edits.update(_edits(character, name, _plain(name, value)))
    return edits


def version_edits(character: Character, version: CardVersion) -> dict[Path, Any]:
    """The edits that make a card one of another version. Raises `UsageError` for V1."""
    if version is CardVersion.V1:
        raise UsageError("a card is not taken back to V1", hint="V2 cards keep the V1 fields for old readers")
    spec, number = SPEC_NUMBERS[version]
    edits: dict[Path, Any] = {("spec",): spec, ("spec_version",): number}
    if character.version is CardVersion.V1:
        edits.update(_from_v1(character))
    else:
        data = character.document.at(("data",))
        edits.update({("data", key): value for key, value in V2_DEFAULTS.items() if key not in data})
    if version is CardVersion.V3 and character.document.at(("data", "group_only_greetings")) is ABSENT:
        edits["data", "group_only_greetings"] = []
    return edits


def _from_v1(character: Character) -> dict[Path, Any]:
    """The V1 fields moved into ``data``; fields that no V1 reader knows stay beside it."""
    data: dict[str, Any] = {"name": character.name, **V2_DEFAULTS}
    later = {name for field in FIELDS if field not in V1_NAMES for name in names_of(field)} & character.raw.keys()
    data |= {name: character.raw[name] for name in later}
    data |= {name: getattr(character, name) for name in V1_NAMES}
    data |= {"tags": list(character.tags), "extensions": dict(character.extensions)}
    moved = {spelling for names in V1_NAMES.values() for spelling in names} | {*later, "tags", *V1_EXTENSIONS}
    return {("data",): data} | {(name,): ABSENT for name in moved if name in character.raw}


def _edits(character: Character, name: str, value: Any) -> dict[Path, Any]:
    if character.version is CardVersion.V1:
        return {_v1_path(character, name): value}
    key = "character_book" if name == "book" else name
    edits: dict[Path, Any] = {("data", key): ABSENT if value is None else value}
    old = getattr(character, name)
    for mirror in V1_NAMES.get(name, ())[:1]:
        if mirror in character.raw and character.raw[mirror] == old:
            edits[mirror,] = value
    return edits


def _v1_path(character: Character, name: str) -> Path:
    names = names_of(name)
    if name not in V1_NAMES and not character.raw.keys() & set(names):
        hint = "convert it first: character.to_version('v2')"
        raise UsageError(f"a V1 card has no field {name!r}", hint=hint)
    return (next((spelling for spelling in names if spelling in character.raw), names[0]),)


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Lorebook):
        return value.to_card_book()
    if name == "assets" and value is not None:
        return [msgspec.to_builtins(item) if isinstance(item, CardAsset) else item for item in value]
    return list(value) if isinstance(value, tuple) else value
