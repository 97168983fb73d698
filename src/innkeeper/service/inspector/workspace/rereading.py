"""Rereading: a typed asset from a document that changed at one path; what is not at that path is not read again.

A keystroke in one of thousands of entries, or in one message of a long chat, costs that entry or message.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from innkeeper.content.character import Character, read_character
from innkeeper.content.chat import ChatLog
from innkeeper.content.chat_message import ChatMessage, read_message
from innkeeper.content.entry import LorebookEntry
from innkeeper.content.errors import LIMITS
from innkeeper.content.files.loading import read_preset_file
from innkeeper.content.finding import Finding, Path, show_path
from innkeeper.content.json.document import Document
from innkeeper.content.json.record import FindingCollector
from innkeeper.content.lorebook import Lorebook, read_lorebook
from innkeeper.content.persona import read_personas
from innkeeper.content.spellings.reading import read_entry
from innkeeper.prompt import BuildRequest
from innkeeper.prompt.errors import UsageError
from innkeeper.service.inspector.workspace.edits import existing

CHAT_KEYS: Final = ("header", "messages")
"""The keys of a chat as a document: its first line, and its messages."""

_BOOK: Final = ("data", "character_book")


def chat_tree(chat: ChatLog) -> dict[str, Any]:
    """A chat as a document."""
    return {"header": chat.header, "messages": [message.raw for message in chat.messages]}


def read_tree(kind: str, tree: Any, findings: tuple[Finding, ...] = ()) -> Any:
    """The asset of a kind in a document; ``findings`` are those of its text. Raises what the readers of content raise."""
    document = Document(tree, None, findings)
    match kind:
        case "character":
            return read_character(document)
        case "lorebook":
            return read_lorebook(document)
        case "persona":
            personas = read_personas(document)
            return next((persona for persona in personas if persona.is_default), personas[0])
        case "preset":
            return read_preset_file(document)
        case "chat":
            return _chat(tree, None)
        case "request":
            return BuildRequest.of(tree.get("request") if "innkeeper_replay" in tree else tree)
    raise UsageError(f"a file of the kind {kind!r} is not built of")


def reread(kind: str, before: Any, tree: Any, path: Path, findings: tuple[Finding, ...] = ()) -> Any:
    """The asset in ``tree``, which differs from the one ``before`` was read from at ``path`` alone. Raises as `read_tree`."""
    if kind == "lorebook" and before is not None:
        book = _entry_reread(before, Document(tree, None, findings), path, ())
        return book if book is not None else read_tree(kind, tree, findings)
    if kind == "character" and before is not None:
        return _card_reread(before, tree, path, findings)
    if kind == "chat":
        return _chat(tree, before)
    return read_tree(kind, tree, findings)


def _card_reread(before: Character, tree: Any, path: Path, findings: tuple[Finding, ...]) -> Character:
    """A card whose book is read again only where the change is in it, and alone where it is nowhere else."""
    book = before.book
    if book is None or book.path != _BOOK or path[:1] != ("data",) or len(path) < len(_BOOK):
        return read_character(Document(tree, None, findings))
    document = Document(tree, None, findings)
    own = tuple(finding for finding in before.findings if not finding.path.startswith(show_path(_BOOK)))
    if path[:2] == _BOOK:
        again = _entry_reread(book, document, path, _BOOK)
        if again is None:
            return read_character(document)
        return msgspec.structs.replace(before, book=again, document=document, findings=(*own, *again.findings))
    without = {**tree, "data": {key: item for key, item in tree["data"].items() if key != _BOOK[1]}}
    card = read_character(Document(without, None, findings))
    reread = msgspec.structs.replace(book, document=document)
    vars(reread).update(vars(book))  # with its digest: nothing of it is another
    return msgspec.structs.replace(card, book=reread, document=document, findings=(*card.findings, *book.findings))


def _entry_reread(book: Lorebook, document: Document, path: Path, base: Path) -> Lorebook | None:
    """The book with one entry read again; None where the change is no change within one entry of a plain book."""
    inner, raw = path[len(base) :], document.at(path[: len(base) + 2])
    if len(inner) < _IN_ENTRY or inner[0] != "entries" or book.path != base or not isinstance(raw, dict):
        return None
    key = inner[1]
    old = existing(book.raw, ("entries", key))[1]
    index = next((index for index, entry in enumerate(book.entries) if entry.raw is old), None)
    if old is None or index is None:
        return None
    entry_path, collector = (*base, "entries", key), FindingCollector(LIMITS.findings)
    identity = int(key) if isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) < _DIGITS else key
    entry, before = read_entry(raw, book.entries[index].index, identity, entry_path, collector), book.entries[index]
    if (entry.spelling, entry.id) != (before.spelling, before.id) or _is_remarkable(entry):
        return None
    shown = show_path(entry_path)
    entries = tuple(
        one for one in book.findings if one.path != shown and not one.path.startswith((f"{shown}.", f"{shown}["))
    )
    return msgspec.structs.replace(
        book,
        entries=(*book.entries[:index], entry, *book.entries[index + 1 :]),
        raw=document.at(base),
        document=document,
        findings=(*entries, *collector.done()),
    )


_IN_ENTRY: Final = 3
"""Parts of the shortest path within an entry."""

_DIGITS: Final = 10


def _is_remarkable(entry: LorebookEntry) -> bool:
    """Whether reading the whole book would say something about the entry beside what reading it alone does."""
    silent = entry.enabled and not entry.keys and not entry.constant and not entry.vectorized
    keys = len(entry.keys) + len(entry.secondary_keys)
    return silent or keys > LIMITS.lore_keys or len(entry.content) * 4 > LIMITS.lore_content_bytes


def _chat(tree: Any, before: ChatLog | None) -> ChatLog:
    """A chat from its document; messages whose objects are those of ``before`` are taken from it."""
    if not isinstance(tree, dict) or not isinstance(tree.get("messages"), list):
        raise UsageError("a chat has a list of messages")
    header = tree.get("header")
    known = {} if before is None else {id(message.raw): message for message in before.messages}
    return ChatLog(
        messages=tuple([known.get(id(raw)) or _message(raw, index) for index, raw in enumerate(tree["messages"])]),
        header=header if isinstance(header, dict) else None,
        findings=() if before is None else before.findings,
        is_lines=True,
    )


def _message(raw: Any, index: int) -> ChatMessage:
    if not isinstance(raw, dict):
        raise UsageError(f"message {index} is not an object")
    return read_message(raw)
