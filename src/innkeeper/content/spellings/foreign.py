"""Lorebooks of NovelAI, Agnai, RisuAI and SmartTavern, translated into the fields of a card book.

Entries keep the object they came from in ``raw``. Settings that have no counterpart stay there and are reported once per book.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from innkeeper.content.entry import Spelling
from innkeeper.content.finding import Level
from innkeeper.content.json.record import FindingCollector, as_flag
from innkeeper.content.spellings.reading import as_keys, split_keys


class ForeignProgram(NamedTuple):
    """The lorebook format of another program.

    ``entries`` gives the entries of a book of its own, ``None`` for any other book; ``translate`` writes one of them in the
    fields of a card book.
    """

    spelling: Spelling
    entries: Callable[[Mapping[str, Any]], list[Any] | None]
    translate: Callable[[Mapping[str, Any]], dict[str, Any]]


def foreign_shape(book: dict[str, Any], findings: FindingCollector) -> tuple[Spelling | None, dict[str, Any]]:
    """Return the program that exported a book, and the book as a card has it; (None, the book itself) for any other."""
    for program in PROGRAMS:
        entries = program.entries(book)
        if entries is not None:
            break
    else:
        return None, book
    spelling, _, translate = program
    translated = [translate(entry) | {"raw": entry} if isinstance(entry, dict) else entry for entry in entries]
    message = f"a lorebook of {spelling.value}; settings that have no counterpart are kept but not used"
    findings.add("foreign-lorebook", message, level=Level.INFO)
    return spelling, {"name": book.get("name"), "description": book.get("description"), "entries": translated}


def _listed(name: str, test: Callable[[Mapping[str, Any]], bool]) -> Callable[[Mapping[str, Any]], list[Any] | None]:
    """The list under ``name``, of a book for which ``test`` holds."""
    return lambda book: book[name] if isinstance(book.get(name), list) and test(book) else None


def _from_novelai(entry: Mapping[str, Any]) -> dict[str, Any]:
    context = entry.get("contextConfig")
    priority = context.get("budgetPriority") if isinstance(context, dict) else None
    return {
        "keys": entry.get("keys"),
        "content": entry.get("text"),
        "comment": entry.get("displayName"),
        "id": entry.get("id"),
        "enabled": entry.get("enabled"),
        "constant": entry.get("forceActivation"),
        "insertion_order": 0 if priority is None else priority,
        "position": "before_char",
    }


def _from_agnai(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "keys": entry.get("keywords"),
        "content": entry.get("entry"),
        "name": entry.get("name"),
        "comment": entry.get("name"),
        "enabled": entry.get("enabled"),
        "insertion_order": 0 if entry.get("weight") is None else entry.get("weight"),
        "priority": entry.get("priority"),
        "position": "before_char",
    }


def _from_risu(entry: Mapping[str, Any]) -> dict[str, Any]:
    is_regex = bool(as_flag(entry.get("useRegex")))
    return {
        "keys": _risu_keys(entry.get("key"), is_regex=is_regex),
        "secondary_keys": _risu_keys(entry.get("secondkey"), is_regex=is_regex),
        "content": entry.get("content"),
        "comment": entry.get("comment"),
        "id": entry.get("id"),
        "enabled": entry.get("mode") != "folder",
        "constant": bool(as_flag(entry.get("alwaysActive"))) or entry.get("mode") == "constant",
        "selective": entry.get("selective"),
        "insertion_order": entry.get("insertorder"),
        "use_regex": is_regex,
        "position": "before_char",
    }


def _risu_keys(value: Any, *, is_regex: bool) -> list[str]:
    """RisuAI writes keys in one text; with a regex the text is one key."""
    if isinstance(value, str):
        return [value] if is_regex and value else list(split_keys(value))
    return list(as_keys(value) or ())


_SMART_MODES: Final = ("always", "conditional")
_SMART_ROLES: Final[Mapping[str, int]] = {"system": 0, "user": 1, "assistant": 2}
_SMART_KEYWORDS: Final = re.compile(r"(?:\{\{|<<)keywords:(?:any::|some::)?([^{}<>:&|!^()]*)(?:\}\}|>>)")


def _is_smart(book: Mapping[str, Any]) -> bool:
    return any(
        entry.get("mode") in _SMART_MODES or entry.get("position") in list(_SMART_ROLES)
        for entry in book["entries"]
        if isinstance(entry, dict)
    )


def _from_smart(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A condition that looks for keywords gives the keys; others, which only macros can judge, give none."""
    position, condition = entry.get("position"), entry.get("condition")
    match = _SMART_KEYWORDS.fullmatch(condition.strip()) if isinstance(condition, str) else None
    framed = position in ("before_char", "after_char")
    role = _SMART_ROLES.get(position, 0) if isinstance(position, str) else 0
    return {
        "keys": list(split_keys(match[1])) if match else list(as_keys(entry.get("keys")) or ()),
        "content": entry.get("content"),
        "comment": entry.get("name"),
        "id": entry.get("id"),
        "enabled": entry.get("enabled") is not False,
        "constant": entry.get("mode") != "conditional",
        "insertion_order": entry.get("order"),
        "position": position if framed else "before_char",
        "extensions": {} if framed else {"position": 4, "depth": entry.get("depth") or 0, "role": role},
    }


PROGRAMS: Final = (
    ForeignProgram(Spelling.NOVELAI, _listed("entries", lambda book: "lorebookVersion" in book), _from_novelai),
    ForeignProgram(Spelling.AGNAI, _listed("entries", lambda book: book.get("kind") == "memory"), _from_agnai),
    ForeignProgram(Spelling.RISU, _listed("data", lambda book: book.get("type") == "risu"), _from_risu),
    ForeignProgram(Spelling.SMART, _listed("entries", _is_smart), _from_smart),
)
"""The programs whose lorebooks are read; the first match counts."""
