"""Validation: what the specifications of Character Card V2 and V3 demand, and where two cards differ.

`validate` checks a card as it is written: a MUST that is broken is an error, a SHOULD a warning. `diff` compares two cards,
unknown fields included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from innkeeper.content.card_versions import EMBEDDED, PNG_EMBEDDED, V1_NAMES, V2_DEFAULTS, CardVersion
from innkeeper.content.character import Character
from innkeeper.content.finding import Finding, Level, Path, show_path, shown
from innkeeper.content.json import ABSENT

Check = tuple[str, Callable[[Any], bool]]

TEXT: Final[Check] = ("a text", lambda value: isinstance(value, str))
FLAG: Final[Check] = ("true or false", lambda value: isinstance(value, bool))
NUMBER: Final[Check] = ("a number", lambda value: isinstance(value, (int, float)) and not isinstance(value, bool))
OBJECT: Final[Check] = ("an object", lambda value: isinstance(value, dict))
OBJECTS: Final[Check] = ("a list of objects", lambda value: _all(value, dict))
TEXTS: Final[Check] = ("a list of texts", lambda value: _all(value, str))
TEXT_MAP: Final[Check] = (
    "an object of texts",
    lambda value: isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
)
IDENTITY: Final[Check] = (
    "a number or text",
    lambda value: isinstance(value, (int, str)) and not isinstance(value, bool),
)
POSITION: Final[Check] = ("before_char or after_char", lambda value: value in ("before_char", "after_char"))

_LIKE: Final[Mapping[type, Check]] = {str: TEXT, list: TEXTS, dict: OBJECT}
"""The check for a value of the type of a default."""

V2_REQUIRED: Final[Mapping[str, Check]] = {
    "name": TEXT,
    **{name: _LIKE[type(nothing)] for name, nothing in V2_DEFAULTS.items()},
}
V3_REQUIRED: Final[Mapping[str, Check]] = {**V2_REQUIRED, "group_only_greetings": TEXTS}
V3_OPTIONAL: Final[Mapping[str, Check]] = {
    "assets": OBJECTS,
    "nickname": TEXT,
    "creator_notes_multilingual": TEXT_MAP,
    "source": TEXTS,
    "creation_date": NUMBER,
    "modification_date": NUMBER,
}
BOOK_REQUIRED: Final[Mapping[str, Check]] = {"extensions": OBJECT, "entries": OBJECTS}
BOOK_OPTIONAL: Final[Mapping[str, Check]] = {
    "name": TEXT,
    "description": TEXT,
    "scan_depth": NUMBER,
    "token_budget": NUMBER,
    "recursive_scanning": FLAG,
}
ENTRY_REQUIRED: Final[Mapping[str, Check]] = {
    "keys": TEXTS,
    "content": TEXT,
    "extensions": OBJECT,
    "enabled": FLAG,
    "insertion_order": NUMBER,
}
ENTRY_OPTIONAL: Final[Mapping[str, Check]] = {
    "case_sensitive": FLAG,
    "name": TEXT,
    "priority": NUMBER,
    "id": IDENTITY,
    "comment": TEXT,
    "selective": FLAG,
    "secondary_keys": TEXTS,
    "constant": FLAG,
    "position": POSITION,
}
ASSET_REQUIRED: Final = dict.fromkeys(("type", "uri", "name", "ext"), TEXT)
ASSET_TYPES: Final = frozenset({"icon", "background", "user_icon", "emotion"})
URI_STARTS: Final = ("http://", "https://", "data:", "ccdefault:", *EMBEDDED, PNG_EMBEDDED)

_EXTENSION: Final = re.compile(r"[a-z0-9]+")
_LANGUAGE: Final = re.compile(r"[a-z]{2}")


def validate(character: Character) -> tuple[Finding, ...]:
    """Return the violations of a card's own specification; none means that it conforms."""
    tree = character.document.tree
    if character.version is CardVersion.V1:
        return tuple(_required(tree, dict.fromkeys((name for name in V1_NAMES if name != "creator_notes"), TEXT), ()))
    data = tree.get("data")
    if not isinstance(data, dict):
        return (_must("data", ("data",), data, OBJECT),)
    return tuple(_check_card(character.version, tree, data))


def _all(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _check_card(version: CardVersion, tree: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Finding]:
    is_v3 = version is CardVersion.V3
    number = "3.0" if is_v3 else "2.0"
    if tree.get("spec_version") != number:
        level = Level.WARNING if is_v3 else Level.ERROR
        message = f"spec_version is {shown(tree.get('spec_version'))}, not {number!r}"
        yield Finding("spec-version", message, path="spec_version", level=level)
    yield from _required(data, V3_REQUIRED if is_v3 else V2_REQUIRED, ("data",))
    if isinstance(data.get("character_book"), dict):
        yield from _check_book(data["character_book"], ("data", "character_book"), is_v3=is_v3)
    elif data.get("character_book") is not None:
        yield _must("character_book", ("data", "character_book"), data["character_book"], OBJECT)
    if is_v3:
        yield from _optional(data, V3_OPTIONAL, ("data",))
        yield from _check_languages(data.get("creator_notes_multilingual"))
        yield from _check_assets(data.get("assets"))


def _check_book(book: Mapping[str, Any], path: Path, *, is_v3: bool) -> Iterator[Finding]:
    yield from _required(book, BOOK_REQUIRED, path)
    yield from _optional(book, BOOK_OPTIONAL, path)
    required = {**ENTRY_REQUIRED, "use_regex": FLAG} if is_v3 else ENTRY_REQUIRED
    entries = book.get("entries")
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield from _required(entry, required, (*path, "entries", index))
            yield from _optional(entry, ENTRY_OPTIONAL, (*path, "entries", index))


def _check_languages(notes: Any) -> Iterator[Finding]:
    for language in notes if isinstance(notes, dict) else ():
        if not _LANGUAGE.fullmatch(language):
            path = show_path(("data", "creator_notes_multilingual", language))
            yield Finding("language", f"{shown(language)} is not an ISO 639-1 code", path=path, level=Level.ERROR)


def _check_assets(assets: Any) -> Iterator[Finding]:
    listed = [item for item in assets if isinstance(item, dict)] if isinstance(assets, list) else []
    for index, asset in enumerate(listed):
        path: Path = ("data", "assets", index)
        yield from _required(asset, ASSET_REQUIRED, path)
        yield from _check_asset(asset, path)
    for type_, at_least in (("icon", 1), ("background", 0)):
        matching = [asset for asset in listed if asset.get("type") == type_]
        mains = sum(asset.get("name") == "main" for asset in matching)
        if len(matching) > 1 and not at_least <= mains <= 1:
            message = f"of {len(matching)} assets of type {type_} {mains} are named main"
            yield Finding("main-asset", message, path="data.assets", level=Level.ERROR)


def _check_asset(asset: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    uri, ext, type_ = (asset.get(name) for name in ("uri", "ext", "type"))
    if isinstance(uri, str) and not uri.startswith(URI_STARTS):
        message = f"{shown(uri)} is not an address of a known kind"
        yield Finding("asset-uri", message, path=show_path((*path, "uri")))
    if isinstance(ext, str) and not _EXTENSION.fullmatch(ext) and uri != "ccdefault:":
        message = f"{shown(ext)} is not a file extension in lower case without a dot"
        yield Finding("asset-ext", message, path=show_path((*path, "ext")), level=Level.ERROR)
    if isinstance(type_, str) and type_ not in ASSET_TYPES and not type_.startswith("x_"):
        message = f"{shown(type_)} is not a type of the specification, and does not begin with x_"
        yield Finding("asset-type", message, path=show_path((*path, "type")))


def _required(record: Mapping[str, Any], fields: Mapping[str, Check], path: Path) -> Iterator[Finding]:
    for name, check in fields.items():
        if name not in record:
            message = f"{name} is missing"
            yield Finding("missing-field", message, path=show_path((*path, name)), level=Level.ERROR)
        elif not check[1](record[name]):
            yield _must(name, (*path, name), record[name], check)


def _optional(record: Mapping[str, Any], fields: Mapping[str, Check], path: Path) -> Iterator[Finding]:
    for name, check in fields.items():
        if name in record and not check[1](record[name]):
            yield _must(name, (*path, name), record[name], check)


def _must(name: str, path: Path, value: Any, check: Check) -> Finding:
    message = f"{name} must be {check[0]}, not {shown(value)}"
    return Finding("wrong-type", message, path=show_path(path), level=Level.ERROR)


class Difference(msgspec.Struct, frozen=True):
    """One difference of two documents: its path, and the values on both sides; `ABSENT` for a missing one."""

    path: str
    before: Any
    after: Any

    @property
    def kind(self) -> str:
        """``added``, ``removed`` or ``changed``."""
        return "added" if self.before is ABSENT else "removed" if self.after is ABSENT else "changed"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts; what is absent is left out."""
        sides = {"before": self.before, "after": self.after}
        fields = {name: value for name, value in sides.items() if value is not ABSENT}
        return {"path": self.path, "kind": self.kind, **fields}


def diff(before: Character, after: Character) -> tuple[Difference, ...]:
    """Return the differences of two cards, unknown fields included, in the order of the first.

    >>> one = Character.of({"name": "Mira", "description": "tall"})
    >>> [str(d.path) for d in diff(one, one.replace(description="small"))]
    ['description']
    """
    return diff_trees(before.document.tree, after.document.tree)


def diff_trees(before: Any, after: Any) -> tuple[Difference, ...]:
    """Return the differences of two trees of plain data. Lists are compared item by item."""
    return tuple(_differences(before, after, ()))


def _differences(before: Any, after: Any, path: Path) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _differences(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        for index in range(max(len(before), len(after))):
            yield from _differences(_item(before, index), _item(after, index), (*path, index))
    elif type(before) is not type(after) or before != after:
        yield Difference(show_path(path), before, after)


def _item(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else ABSENT
