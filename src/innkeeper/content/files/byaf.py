"""BYAF, the Backyard archive: a manifest, one character, its scenarios and images, read as a V3 card.

Nothing is lost: the manifest, the character and the scenarios stay in the card under ``extensions.byaf``. Model settings
and chat messages of the scenarios are kept there and not used.
"""

from __future__ import annotations

import posixpath
import re
from datetime import datetime
from typing import Any, Final

import msgspec

from innkeeper.content.character import Character, read_character
from innkeeper.content.errors import CARD_HINT, AssetError
from innkeeper.content.files.archive import Archive
from innkeeper.content.files.format import CardFile, Format, OpenFile
from innkeeper.content.finding import Finding, Level
from innkeeper.content.json.document import Document
from innkeeper.content.json.record import FindingCollector, Record
from innkeeper.content.spellings.reading import split_keys
from innkeeper.prompt.errors import Where

MANIFEST: Final = "manifest.json"
SCHEMA_VERSION: Final = 1

_PLACEHOLDER: Final = re.compile(r"(?<!\{)#?\{(user|character)\}(?!\})")


def read_byaf(archive: Archive) -> Character:
    """The character of a BYAF archive, as a V3 card.

    Raises:
        AssetError: the archive names no character, or one that is not there.
        FormatError, LimitError: as the archive and the JSON do.
    """
    findings = FindingCollector(archive.reader.limits.findings)
    manifest = _record(archive, MANIFEST, findings)
    version = manifest.integer("schemaVersion", default=SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        findings.add("newer-spec", f"made for version {version} of the archive; new parts are not used", (MANIFEST,))
    path = _character_path(archive, manifest, findings)
    character = _record(archive, path, findings)
    scenarios = [_record(archive, name, findings) for name in _scenario_paths(archive, manifest, findings)]
    card = _card(archive, manifest, character, scenarios, posixpath.dirname(path), findings)
    read = read_character(Document.of(card), limits=archive.reader.limits)
    return msgspec.structs.replace(read, findings=(*findings.done(), *read.findings))


def open_byaf(file: OpenFile, lenient: bool) -> CardFile:  # noqa: FBT001 - one form for all openers
    """The card of a BYAF archive, and the files in it that are not its own JSON."""
    names = tuple(name for name in file.archive.names if not name.endswith(".json"))
    return CardFile(read_byaf(file.archive), "byaf", names=names, read=file.member)


def _record(archive: Archive, name: str, findings: FindingCollector) -> Record:
    collected: list[Finding] = []
    limits = archive.reader.limits
    document = Document.parse(archive.read(name), limits, name=name)
    collected += document.findings
    if not isinstance(document.tree, dict):
        raise AssetError(
            "a JSON object must stand here", where=Where(asset=archive.reader.name, path=name), hint=CARD_HINT
        )
    for item in collected:
        findings.add(item.rule, item.message, (name,), level=item.level)
    return Record(document.tree, (name,), findings)


def _character_path(archive: Archive, manifest: Record, findings: FindingCollector) -> str:
    paths = manifest.texts("characters")
    if not paths or paths[0] not in archive.names:
        where = Where(asset=archive.reader.name, path=f"{MANIFEST}: characters")
        raise AssetError("the archive names no character that is in it", where=where, hint=CARD_HINT)
    if len(paths) > 1:
        findings.add("more-characters", f"{len(paths)} characters; the first one is read", (MANIFEST, "characters"))
    return paths[0]


def _scenario_paths(archive: Archive, manifest: Record, findings: FindingCollector) -> list[str]:
    paths = manifest.texts("scenarios")
    for path in paths:
        if path not in archive.names:
            findings.add("missing-scenario", f"{path!r} is not in the archive", (MANIFEST, "scenarios"))
    return [path for path in paths if path in archive.names]


def _card(
    archive: Archive,
    manifest: Record,
    character: Record,
    scenarios: list[Record],
    folder: str,
    findings: FindingCollector,
) -> dict[str, Any]:
    first = scenarios[0] if scenarios else Record({}, (), findings)
    # empty and repeated greetings are dropped, except that the first scenario's stays the first message
    texts = [_macros("\n".join(item.text("text") for item in scene.records("firstMessages"))) for scene in scenarios]
    others = dict.fromkeys(text for text in texts[1:] if text and text != texts[0])
    greetings = [*texts[:1], *others]
    author = Record(manifest.mapping("author"), (MANIFEST, "author"), findings)
    data: dict[str, Any] = {
        "name": character.text("name") or character.text("displayName"),
        "description": _macros(character.text("persona")),
        "personality": "",
        "scenario": _macros(first.text("narrative")),
        "first_mes": greetings[0] if greetings else "",
        "mes_example": _examples(first),
        "creator_notes": author.text("backyardURL"),
        "system_prompt": _macros(first.text("formattingInstructions")),
        "post_history_instructions": "",
        "alternate_greetings": greetings[1:],
        "tags": ["NSFW"] if character.flag("isNSFW") else [],
        "creator": author.text("name"),
        "character_version": "",
        "group_only_greetings": [],
        "extensions": {"byaf": _source_records(manifest, character, scenarios)},
        "assets": _assets(archive, character, scenarios, folder, findings),
    }
    named = {"creation_date": character.text("createdAt"), "modification_date": character.text("updatedAt")}
    data |= {name: seconds for name, text in named.items() if (seconds := _seconds(text)) is not None}
    book = _book(character)
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data | ({"character_book": book} if book else {})}


def _source_records(manifest: Record, character: Record, scenarios: list[Record]) -> dict[str, Any]:
    for scenario in scenarios:
        if scenario.items("messages"):
            count = len(scenario.items("messages"))
            message = f"{count:,} chat messages are kept in the card, but not used"
            scenario.findings.add("kept-not-read", message, (*scenario.path, "messages"), level=Level.INFO)
    return {"manifest": manifest.raw, "character": character.raw, "scenarios": [item.raw for item in scenarios]}


def _examples(scenario: Record) -> str:
    lines = [_macros(item.text("text")) for item in scenario.records("exampleMessages")]
    return "<START>\n" + "\n".join(lines) if lines else ""


def _macros(text: str) -> str:
    """Backyard's placeholders as macros: ``{user}`` and ``#{character}:`` become ``{{user}}`` and ``{{char}}:``."""
    return _PLACEHOLDER.sub(lambda match: "{{user}}" if match[1] == "user" else "{{char}}", text)


def _book(character: Record) -> dict[str, Any] | None:
    items = character.records("loreItems")
    entries = [
        {
            "id": index,
            "keys": list(split_keys(item.text("key"))),
            "content": _macros(item.text("value")),
            "extensions": {},
            "enabled": True,
            "insertion_order": index,
            "use_regex": False,
            "position": "before_char",
        }
        for index, item in enumerate(items)
    ]
    return {"extensions": {}, "entries": entries} if entries else None


def _assets(
    archive: Archive, character: Record, scenarios: list[Record], folder: str, findings: FindingCollector
) -> list[dict[str, str]]:
    images = [(item.text("path"), item.text("label"), "icon") for item in character.records("images")]
    images += [(scene.text("backgroundImage"), scene.text("title"), "background") for scene in scenarios]
    assets: list[dict[str, str]] = []
    for path, label, type_ in images:
        # applications write paths relative to the character, to the scenarios, or to the root
        candidates = (path, posixpath.join(folder, path), posixpath.join("scenarios", path))
        image_path = next((name for name in candidates if name in archive.names), None)
        if path and image_path is None:
            findings.add("missing-asset", f"the image {path!r} is not in the archive", character.path)
        elif image_path is not None:
            is_first = not any(asset["type"] == type_ for asset in assets)
            name = "main" if is_first else label or posixpath.basename(path)
            ext = posixpath.splitext(path)[1].lower().removeprefix(".") or "unknown"
            assets.append({"type": type_, "uri": f"embeded://{image_path}", "name": name, "ext": ext})
    return assets


def _seconds(text: str) -> int | None:
    """Convert an ISO 8601 time to seconds since 1970; ``None`` for anything else, or without a zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int(moment.timestamp()) if moment.tzinfo else None


BYAF: Final = Format(
    name="byaf", member=MANIFEST, size_limit="archive_bytes", kind=lambda _file: "character", open_card=open_byaf
)
