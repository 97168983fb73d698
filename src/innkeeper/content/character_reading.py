"""From a card's JSON to a `Character`: which version it is, and where each field stands in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.content.asset import DEFAULT_ASSETS, Asset
from innkeeper.content.character import CardVersion, Character
from innkeeper.content.document import Document
from innkeeper.content.errors import CardError, CardNameError, CardVersionError, LorebookError, WrongKindError
from innkeeper.content.finding import Level, Path, shown
from innkeeper.content.limits import LIMITS, Limits
from innkeeper.content.lorebook import Lorebook, read_lorebook
from innkeeper.content.record import Findings, Record
from innkeeper.content.shapes import kind_of_json
from innkeeper.prompt.errors import Where

__all__ = ["TEXT_FIELDS", "V1_NAMES", "read_character"]

V1_KINDS: Final = frozenset({"character", "persona", "unknown"})
"""Kinds of JSON that can be a V1 card: it has no mark of its own, only a name and some texts."""

SPECS: Final[Mapping[str, CardVersion]] = {"chara_card_v2": CardVersion.V2, "chara_card_v3": CardVersion.V3}

V1_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("name", "char_name"),
    "description": ("description", "char_persona"),
    "personality": ("personality",),
    "scenario": ("scenario", "world_scenario"),
    "first_mes": ("first_mes", "char_greeting"),
    "mes_example": ("mes_example", "example_dialogue"),
    "creator_notes": ("creatorcomment", "creator_notes"),
}
"""The fields of a V1 card, with the names that other early formats have for them."""

TEXT_FIELDS: Final = (
    "name",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "creator_notes",
    "system_prompt",
    "post_history_instructions",
    "creator",
    "character_version",
    "nickname",
)


def read_character(document: Document, *, limits: Limits = LIMITS, lenient: bool = False) -> Character:
    """The character in a card.

    Args:
        document: the card.
        limits: the limits to hold.
        lenient: accept a card without ``spec`` or of an unknown one, with a finding.

    Raises:
        CardError: it is no card.
        CardNameError: the character has no name.
        CardVersionError: it follows a specification that is not read.
        WrongKindError: it is something else that is read elsewhere.
    """
    findings = Findings(limits.findings, document.findings)
    tree = document.tree
    if not isinstance(tree, dict):
        raise CardError(f"a card is a JSON object, not {shown(tree)}")
    version = _version(tree, findings, lenient=lenient)
    if version is CardVersion.V1:
        return _read_v1(document, findings)
    return _read_data(document, version, findings, limits)


def _version(tree: dict[str, Any], findings: Findings, *, lenient: bool) -> CardVersion:
    spec, data = tree.get("spec"), tree.get("data")
    if isinstance(spec, str) and spec in SPECS:
        return SPECS[spec]
    if spec is None and not isinstance(data, dict) and _is_v1(tree) and kind_of_json(tree) in V1_KINDS:
        return CardVersion.V1
    if lenient and isinstance(data, dict):
        findings.add("unknown-spec", f"{shown(spec)} is no known specification; read as V3", ("spec",))
        return CardVersion.V3
    raise _refusal(tree, spec)


def _is_v1(tree: Mapping[str, Any]) -> bool:
    """Whether there is a name and at least one more of the fields of an early card."""
    present = [name for name, names in V1_NAMES.items() if any(isinstance(tree.get(other), str) for other in names)]
    return "name" in present and len(present) > 1


def _refusal(tree: dict[str, Any], spec: Any) -> CardError | CardVersionError | WrongKindError:
    where = Where(path="spec")
    if isinstance(spec, str) and spec.startswith("chara_card"):
        hint = "V1, V2 and V3 are read; lenient=True reads the rest as V3"
        return CardVersionError(f"cards of {shown(spec)} are not read", where=where, hint=hint)
    kind = kind_of_json(tree)
    if kind not in {"character", "unknown"}:
        return WrongKindError(f"this is not a character card but a {kind}", found=kind)
    if isinstance(tree.get("data"), dict):
        hint = 'add "spec": "chara_card_v2" and "spec_version": "2.0", or read it with lenient=True'
        return CardError(f"the card does not say its specification: spec is {shown(spec)}", where=where, hint=hint)
    if _is_v1({**tree, "name": "?"}):
        return CardNameError("the character has no name", where=Where(path="name"), hint="give it a name")
    return CardError(
        "this JSON is no character card", hint="a card has `spec` and `data`, or at least name and description"
    )


def _read_v1(document: Document, findings: Findings) -> Character:
    record = Record(document.tree, (), findings)
    texts: dict[str, Any] = {name: record.text(*names) for name, names in V1_NAMES.items()}
    _demand_name(texts["name"], ("name",))
    tags = document.tree.get("tags")
    return Character(
        **texts,
        tags=tuple(filter(None, map(str.strip, tags.split(",")))) if isinstance(tags, str) else record.texts("tags"),
        extensions={name: document.tree[name] for name in ("talkativeness", "fav") if name in document.tree},
        version=CardVersion.V1,
        document=document,
        findings=findings.done(),
    )


def _read_data(document: Document, version: CardVersion, findings: Findings, limits: Limits) -> Character:
    data = _data(document.tree, findings)
    record = Record(data, ("data",), findings)
    texts: dict[str, Any] = {name: record.text(name) for name in TEXT_FIELDS}
    _demand_name(texts["name"], ("data", "name"))
    spec_version = Record(document.tree, (), findings).text("spec_version")
    _note_newer(spec_version, version, findings)
    return Character(
        **texts,
        alternate_greetings=record.texts("alternate_greetings"),
        group_only_greetings=record.texts("group_only_greetings"),
        source=record.texts("source"),
        tags=record.texts("tags"),
        creator_notes_multilingual=_texts_by_name(record, "creator_notes_multilingual"),
        creation_date=record.number("creation_date"),
        modification_date=record.number("modification_date"),
        assets=_assets(record) if record.has("assets") else DEFAULT_ASSETS,
        extensions=record.mapping("extensions"),
        book=_book(document, record, limits),
        version=version,
        spec_version=spec_version,
        document=document,
        findings=findings.done(),
    )


def _data(tree: dict[str, Any], findings: Findings) -> dict[str, Any]:
    """The card's ``data``; a text that is missing there is taken from the V1 fields beside it."""
    data = tree.get("data")
    if not isinstance(data, dict):
        if not _is_v1(tree):
            raise CardError(f"the card's data is {shown(data)}, not an object", where=Where(path="data"))
        findings.add("no-data", "the card has no data; its V1 fields are used", ("data",))
        data = {}
    spare = {name: tree[name] for name in V1_NAMES if data.get(name) is None and isinstance(tree.get(name), str)}
    for name in spare:
        findings.add("v1-fallback", "taken from the V1 field of this name", ("data", name), level=Level.INFO)
    return {**data, **spare} if spare else data


def _demand_name(name: str, path: Path) -> None:
    if not name.strip():
        raise CardNameError(
            "the character has no name", where=Where(path=".".join(map(str, path))), hint="give it a name"
        )


def _note_newer(spec_version: str, version: CardVersion, findings: Findings) -> None:
    """A newer minor version is read all the same, and said (Character Card V3, *spec_version*)."""
    try:
        newer = float(spec_version) > float(version.value[1:])
    except ValueError:
        message = f"{shown(spec_version)} is not the version of a card"
        findings.add("spec-version", message, ("spec_version",))
    else:
        if newer:
            findings.add("newer-spec", f"made for version {spec_version}; new features are not used", ("spec_version",))


def _texts_by_name(record: Record, name: str) -> dict[str, str]:
    found = record.mapping(name)
    inner = Record(found, (*record.path, name), record.findings)
    return {key: inner.text(key) for key in found}


def _assets(record: Record) -> tuple[Asset, ...]:
    return tuple(
        Asset(item.text("type"), item.text("uri"), item.text("name"), item.text("ext", default="unknown"))
        for item in record.records("assets")
    )


def _book(document: Document, record: Record, limits: Limits) -> Lorebook | None:
    """The card's lorebook. One that cannot be read is a finding, and the card is read without it."""
    if not record.has("character_book"):
        return None
    path = (*record.path, "character_book")
    try:
        return read_lorebook(document, path, limits=limits, findings=record.findings)
    except LorebookError as error:
        record.findings.add("bad-lorebook", f"{error.message}; the card is read without it", path)
        return None
