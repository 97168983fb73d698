"""Reads one lorebook entry from its JSON, in the form of world info or of a card book, by one table of fields.

The table is the only list of names: world info has them in camel case on the entry itself, card books in snake case (or
camel case) inside ``extensions``. Defaults for absent fields differ between the two, as they do in SillyTavern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.content.entry import CharacterFilter, LorebookEntry, LorePosition, SelectiveLogic, Spelling
from innkeeper.content.finding import Path, shown
from innkeeper.content.json import ABSENT
from innkeeper.content.json.record import MAX_NUMBER, FindingCollector, as_flag, as_integer, as_number, as_role, as_text
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.near import nearest

_KEY: Final = re.compile(r"\s*+(/(?:[^/\\\n]|\\.)++/[a-z]*+|[^,]*+)\s*+(?:,|$)")

POSITIONS: Final = tuple(LorePosition)
LOGICS: Final = tuple(SelectiveLogic)

_OTHER_POSITION_NAMES: Final[Mapping[LorePosition, tuple[str, ...]]] = {
    LorePosition.BEFORE_CHAR: ("before", "before_char_defs"),
    LorePosition.AFTER_CHAR: ("after", "after_char_defs"),
    LorePosition.AN_TOP: ("top_of_an", "antop"),
    LorePosition.AN_BOTTOM: ("bottom_of_an", "anbottom"),
    LorePosition.AT_DEPTH: ("@d", "depth", "atdepth", "in_chat"),
    LorePosition.EM_TOP: ("before_example_messages", "before_examples", "emtop"),
    LorePosition.EM_BOTTOM: ("after_example_messages", "after_examples", "embottom"),
}
_POSITION_NAMES: Final[Mapping[Any, LorePosition]] = {
    **dict(enumerate(POSITIONS)),
    **{position.value: position for position in POSITIONS},
    **{name: position for position, names in _OTHER_POSITION_NAMES.items() for name in names},
}


def as_position(value: Any) -> LorePosition | None:
    """A position from SillyTavern's numbers or any of its usual names."""
    word = value.strip().lower() if isinstance(value, str) else value
    if isinstance(word, str) and word.isdecimal() and len(word) == 1:
        word = int(word)
    return _POSITION_NAMES.get(word) if isinstance(word, (str, int)) and not isinstance(word, bool) else None


def as_logic(value: Any) -> SelectiveLogic | None:
    """A selective logic from SillyTavern's numbers or names."""
    if isinstance(value, str) and value in set(LOGICS):
        return SelectiveLogic(value)
    index = as_integer(value)
    return LOGICS[index] if index is not None and 0 <= index < len(LOGICS) else None


def as_keys(value: Any) -> tuple[str, ...] | None:
    """Keys from a list, or from one text with commas between them."""
    if isinstance(value, list):
        return tuple(key for item in value if (key := as_text(item)) is not None)
    return split_keys(value) if isinstance(value, str) else None


def as_level(value: Any) -> int | None:
    """A recursion level: 0 for false, 1 for true, or the number itself."""
    number = as_integer(value)
    return None if number is None else max(number, 0)


def split_keys(text: str) -> tuple[str, ...]:
    """Split keys written in one text at commas, except inside ``/a regex, so/i``; trimmed, without empty ones.

    >>> split_keys("inn, /ale,? beer/i , keeper")
    ('inn', '/ale,? beer/i', 'keeper')
    """
    return tuple(key for match in _KEY.finditer(text) if (key := match[1].strip()))


class EntryField(NamedTuple):
    """One field of an entry: our name, its name, another name, its usual type, how to read any type, its defaults."""

    attribute: str
    camel: str
    snake: str
    kind: type
    read: Callable[[Any], Any]
    default: Any
    card_default: Any = ABSENT


def _shared() -> tuple[EntryField, ...]:
    def field(
        attribute: str, kind: type, read: Callable[[Any], Any], default: Any, card_default: Any = ABSENT
    ) -> EntryField:
        return EntryField(attribute, _camel(attribute), attribute, kind, read, default, card_default)

    flags = ("vectorized", "exclude_recursion", "prevent_recursion", "group_override", "ignore_budget")
    matches = ("persona_description", "character_description", "character_personality", "character_depth_prompt")
    every_match = tuple(f"match_{name}" for name in (*matches, "scenario", "creator_notes"))
    return (
        *(field(name, bool, as_flag, default=False) for name in (*flags, *every_match)),
        *(field(name, bool, as_flag, None) for name in ("case_sensitive", "match_whole_words", "use_group_scoring")),
        *(
            field(name, int, as_integer, None)
            for name in ("scan_depth", "sticky", "cooldown", "delay", "display_index")
        ),
        *(field(name, str, as_text, "") for name in ("outlet_name", "group", "automation_id")),
        field("selective_logic", SelectiveLogic, as_logic, SelectiveLogic.AND_ANY),
        field("role", RoleName, as_role, "system"),
        field("depth", int, as_integer, 4),
        field("delay_until_recursion", int, as_level, 0),
        field("probability", int, as_number, None, card_default=100),
        field("use_probability", bool, as_flag, default=False, card_default=True),
        field("group_weight", int, as_number, 100),
        field("triggers", tuple, as_keys, ()),
    )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


class RoleName(str):
    """A role's name, as opposed to the numbers it is written with."""

    __slots__ = ()


SHARED_FIELDS: Final = _shared()
"""Fields that world info has on the entry itself and card books in its ``extensions``."""

_BOTH: Final = (
    EntryField("content", "content", "content", str, as_text, ""),
    EntryField("comment", "comment", "comment", str, as_text, ""),
    EntryField("constant", "constant", "constant", bool, as_flag, default=False),
    EntryField("selective", "selective", "selective", bool, as_flag, default=False),
    EntryField("name", "name", "name", str, as_text, None),
    EntryField("priority", "priority", "priority", int, as_number, None),
    EntryField("use_regex", "useRegex", "use_regex", bool, as_flag, None),
)
WORLD_FIELDS: Final = (
    EntryField("keys", "key", "keys", tuple, as_keys, ()),
    EntryField("secondary_keys", "keysecondary", "secondary_keys", tuple, as_keys, ()),
    EntryField("order", "order", "insertion_order", int, as_number, None),
    EntryField("position", "position", "position", LorePosition, as_position, LorePosition.BEFORE_CHAR),
    EntryField("add_memo", "addMemo", "add_memo", bool, as_flag, default=False),
    *_BOTH,
)
"""Fields on the entry itself in world info."""
CARD_FIELDS: Final = (
    EntryField("keys", "keys", "key", tuple, as_keys, ()),
    EntryField("secondary_keys", "secondary_keys", "secondaryKeys", tuple, as_keys, ()),
    EntryField("order", "insertion_order", "insertionOrder", int, as_number, None),
    EntryField("position", "position", "position", LorePosition, as_position, LorePosition.AFTER_CHAR),
    EntryField("spec_case_sensitive", "case_sensitive", "caseSensitive", bool, as_flag, None),
    *_BOTH,
)
"""Fields on the entry itself in card books."""

_CAMEL_IN_CARDS: Final = frozenset({"selective_logic", "use_probability"})
"""The two fields that SillyTavern writes in camel case inside ``extensions`` as well."""


def _in_extensions(field: EntryField) -> EntryField:
    default = field.default if field.card_default is ABSENT else field.card_default
    if field.attribute in _CAMEL_IN_CARDS:
        return field._replace(default=default)
    return field._replace(camel=field.snake, snake=field.camel, default=default)


EXTENSION_FIELDS: Final = tuple(_in_extensions(field) for field in SHARED_FIELDS)
"""The shared fields as card books have them: the name to write first, the other name for reading only."""


class FieldTable(NamedTuple):
    """Fields by the name to write, by the other name that is read as well, and the defaults an entry does not have itself."""

    first: Mapping[str, EntryField]
    other: Mapping[str, EntryField]
    defaults: dict[str, Any]


def _table(*fields: EntryField) -> FieldTable:
    first = {field.camel: field for field in fields}
    other = {field.snake: field for field in fields if field.snake not in first}
    defaults = {field.attribute: field.default for field in fields if field.default != _OWN[field.attribute]}
    return FieldTable(first, other, defaults)


_OWN: Final = {field.name: field.default for field in msgspec.structs.fields(LorebookEntry)}
_WORLD_TABLE: Final = _table(*WORLD_FIELDS, *SHARED_FIELDS)
_CARD_TABLE: Final = _table(*CARD_FIELDS)
_EXTENSION_TABLE: Final = _table(*EXTENSION_FIELDS)
WORLD_ONLY: Final = frozenset({"key", "keysecondary", "disable", "order", "uid"})
CARD_ONLY: Final = frozenset({"keys", "secondary_keys", "insertion_order", "enabled"})


_FILTER_NAMES: Final = frozenset({
    "characterFilter", "character_filter", "characterFilterNames", "character_filter_names", "characterFilterTags",
    "character_filter_tags", "characterFilterExclude", "character_filter_exclude",
})  # fmt: skip
_TRANSLATED: Final[Mapping[type, Mapping[Any, Any]]] = {
    LorePosition: dict(enumerate(POSITIONS)),
    SelectiveLogic: dict(enumerate(LOGICS)),
    RoleName: dict(enumerate(("system", "user", "assistant"))),
}
"""Numbers that stand for names, for the types that are written so."""


def spelling_of(raw: Iterable[str]) -> Spelling:
    """In which words an entry is written, by the names that only one spelling has; world info where both tie."""
    names = set(raw)
    return Spelling.CARD if len(CARD_ONLY & names) > len(WORLD_ONLY & names) else Spelling.WORLD


def read_entry(
    raw: dict[str, Any], index: int, key: int | str, path: Path, findings: FindingCollector
) -> LorebookEntry:
    """A typed entry from its JSON object.

    Args:
        raw: the object.
        index: its place among the entries.
        key: its key or index in the book, which is its id where it has none.
        path: where it stands in the document.
        findings: where to put what is not as it should be.
    """
    shape = _shape(tuple(raw))
    if shape.table is _WORLD_TABLE:
        spelling, values = Spelling.WORLD, _read_fields(shape, raw, path, findings)
        values["enabled"] = not _flag(raw, "disable", path, findings, default=False)
        if raw.get("depth", 0) is None:  # which SillyTavern turns into a number
            values["depth"] = 0
    else:
        spelling, values = Spelling.CARD, _read_card(shape, raw, path, findings)
    return LorebookEntry(
        id=_read_id(raw, key), index=index, extensions=_extensions(raw), spelling=spelling, raw=raw, **values
    )


def _read_card(shape: _Shape, raw: dict[str, Any], path: Path, findings: FindingCollector) -> dict[str, Any]:
    extensions = _extensions(raw)
    values = _read_fields(shape, raw, path, findings)
    inner = _shape(tuple(extensions), _EXTENSION_TABLE)
    values |= _read_fields(inner, extensions, (*path, "extensions"), findings)
    values["enabled"] = _flag(raw, "enabled", path, findings, default=True)
    if extensions.get("position") is not None:
        values["position"] = as_position(extensions["position"]) or values["position"]
    return values


def _read_fields(shape: _Shape, raw: Mapping[str, Any], path: Path, findings: FindingCollector) -> dict[str, Any]:
    """The fields in which an object says other than the usual, and the defaults that an entry does not have by itself."""
    values = shape.table.defaults.copy()
    for value, usual, known in zip(raw.values(), shape.usual, shape.fields, strict=True):
        if value is usual or value is None or known is None:
            continue
        name, attribute, kind, field = known
        if name != field.camel and raw.get(field.camel) is not None:
            continue
        odd = type(value) is not kind or (isinstance(value, int) and abs(value) >= MAX_NUMBER)
        values[attribute] = _translated(field, value, path, findings) if odd else value
    if shape.filters:
        values["character_filter"] = _read_filter(raw)
    return values


class _Shape(NamedTuple):
    """The spelling of an entry by the names in the object alone; the entries of a book mostly share one.

    For each name the field it means in ``table`` and the value that most write there, which is the field's default.
    """

    table: FieldTable
    fields: tuple[tuple[str, str, type, EntryField] | None, ...]
    usual: tuple[Any, ...]
    filters: bool
    """Whether one of the names filters by character, which card books do in their extensions."""


_SHAPES: Final[BoundedCache[tuple[bool, tuple[str, ...]], _Shape]] = BoundedCache(items=512)


def _shape(names: tuple[str, ...], table: FieldTable | None = None) -> _Shape:
    """The shape of an object by a table, else by that of the spelling the names are of."""
    key = (table is None, names)
    return _SHAPES.get(key) or _SHAPES.put(key, _made_shape(names, table), sum(map(len, names)))


def _made_shape(names: tuple[str, ...], table: FieldTable | None) -> _Shape:
    table = table or (_WORLD_TABLE if spelling_of(names) is Spelling.WORLD else _CARD_TABLE)
    fields = [table.first.get(name) or table.other.get(name) for name in names]
    known = [
        None if field is None else (name, field.attribute, field.kind, field)
        for name, field in zip(names, fields, strict=True)
    ]
    return _Shape(
        table,
        tuple(known),
        tuple(map(_usual, fields)),
        table is not _CARD_TABLE and not _FILTER_NAMES.isdisjoint(names),
    )


def _usual(field: EntryField | None) -> Any:
    """Return the written forms of a field's default: numbers for names, no and yes for levels."""
    if field is None or field.default is None:
        return None
    if field.kind in _TRANSLATED:
        return next(number for number, name in _TRANSLATED[field.kind].items() if name == field.default)
    return bool(field.default) if field.read is as_level else field.default


def _translated(field: EntryField, value: Any, path: Path, findings: FindingCollector) -> Any:
    """Translate a value that is not of the field's own type: usual ones by table, any other as well as possible."""
    kind = type(value)
    if kind is int and field.kind in _TRANSLATED and value in _TRANSLATED[field.kind]:
        return _TRANSLATED[field.kind][value]
    if kind is list and field.kind is tuple and _ALL_TEXT.issuperset(map(type, value)):
        return tuple(value)
    if kind is bool and field.read is as_level:
        return int(value)
    if kind is float and field.read is as_number:
        return value
    result = field.read(value)
    if result is None or kind is not str or field.kind not in {LorePosition, RoleName}:
        findings.add("wrong-type", f"{shown(value)} is not what this field takes", (*path, field.camel))
    return field.default if result is None else result


_ALL_TEXT: Final = frozenset({str})


def unread_keys(names: tuple[str, ...], extensions: tuple[str, ...]) -> Iterator[tuple[str, str | None]]:
    """The keys of an entry, and of its extensions, that no field is read from, each with the nearest that is."""
    shape = _shape(names)
    switch = "disable" if shape.table is _WORLD_TABLE else "enabled"
    yield from _unread(shape, names, frozenset({"uid", "id", "extensions", switch}) | _FILTER_NAMES)
    if shape.table is _CARD_TABLE:
        inner = _shape(extensions, _EXTENSION_TABLE)
        yield from (
            (f"extensions.{key}", near) for key, near in _unread(inner, extensions, _FILTER_NAMES | {"position"})
        )


def _unread(shape: _Shape, names: tuple[str, ...], others: frozenset[str]) -> Iterator[tuple[str, str | None]]:
    known = {*shape.table.first, *shape.table.other, *others}
    for name, field in zip(names, shape.fields, strict=True):
        if field is None and name not in others:
            yield name, nearest(name, known)


def _flag(raw: Mapping[str, Any], name: str, path: Path, findings: FindingCollector, *, default: bool) -> bool:
    value = raw.get(name)
    if value is None or type(value) is bool:
        return default if value is None else value
    findings.add("wrong-type", f"{shown(value)} is not true or false", (*path, name))
    read = as_flag(value)
    return default if read is None else read


def _read_id(raw: Mapping[str, Any], key: int | str) -> int | str:
    for name in ("uid", "id"):
        value = raw.get(name)
        if isinstance(value, float) and value.is_integer() and abs(value) < MAX_NUMBER:
            return int(value)
        if isinstance(value, (int, str)) and not isinstance(value, bool):
            return value
    return key


def _extensions(raw: Mapping[str, Any]) -> dict[str, Any]:
    value = raw.get("extensions")
    return value if isinstance(value, dict) else {}


def _read_filter(raw: Mapping[str, Any]) -> CharacterFilter:
    nested = raw.get("characterFilter") or raw.get("character_filter")
    if isinstance(nested, dict):
        names, tags = nested.get("names"), nested.get("tags")
        exclude = nested.get("isExclude", nested.get("is_exclude", nested.get("exclude")))
    else:
        names = raw.get("characterFilterNames", raw.get("character_filter_names"))
        tags = raw.get("characterFilterTags", raw.get("character_filter_tags"))
        exclude = raw.get("characterFilterExclude", raw.get("character_filter_exclude"))
    if not names and not tags and not exclude:
        return _NO_FILTER
    return CharacterFilter(as_keys(names) or (), as_keys(tags) or (), bool(as_flag(exclude)))


_NO_FILTER: Final = CharacterFilter()
