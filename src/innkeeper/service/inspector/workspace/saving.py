"""Saving: the bytes of a file with its edits, and in other formats.

What was saved before stays byte for byte, but for what differs: fields nobody knows, the form of the text, the lines of a chat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from innkeeper.content.card_versions import CardVersion
from innkeeper.content.character import read_character
from innkeeper.content.chat import ChatLog
from innkeeper.content.chat_message import read_message
from innkeeper.content.errors import WrongKindError
from innkeeper.content.files.formats import card_bytes
from innkeeper.content.finding import Path
from innkeeper.content.json.document import Document
from innkeeper.content.json.text import encode_json
from innkeeper.prompt.errors import UnsupportedError, UsageError
from innkeeper.service.inspector.workspace.edits import differences

if TYPE_CHECKING:
    from innkeeper.service.inspector.workspace.working import WorkingFile


_CARD_FORMATS: Final = {
    "v2": ("json", CardVersion.V2),
    "v3": ("json", CardVersion.V3),
    "png": ("png", None),
    "charx": ("charx", CardVersion.V3),
}
_BINARY: Final = frozenset({"png", "apng", "charx", "byaf"})


def before_and_after(file: WorkingFile) -> tuple[str, ...]:
    """The document as saved and as edited, indented."""
    trees = (file.saved_tree, file.tree)
    return tuple("" if tree is None else encode_json(tree, indent=2).decode(errors="replace") for tree in trees)


def saved_bytes(file: WorkingFile) -> bytes:
    """The file with its edits in it. Raises `UnsupportedError` where this form of file is only read, and its own problem."""
    if file.tree is file.saved_tree and file.image is None:
        return file.data
    if file.problem is not None:
        raise file.problem
    edits = differences(file.saved_tree, file.tree)
    if not edits and file.image is None:
        return file.data
    if file.card is not None and file.card.kind in _BINARY:
        return _card_bytes(file, edits)
    if file.kind == "chat":
        return _chat_bytes(file, edits)
    return Document.parse(file.data, keys_limit="lore_json_keys").replace(edits).encode()


def _card_bytes(file: WorkingFile, edits: dict[Path, Any]) -> bytes:
    """The card in its own picture or archive."""
    card = file.card
    if card is None or card.kind not in {"png", "apng", "charx"}:
        hint = "export it as png, charx, v2 or v3"
        raise UnsupportedError(f"no card is written to a {card.kind if card else 'file'} file", hint=hint)
    character = read_character(card.character.document.replace(edits), lenient=True)
    return card_bytes(card.with_character(character), "png" if card.kind == "apng" else card.kind, image=file.image)


def _chat_bytes(file: WorkingFile, edits: dict[Path, Any]) -> bytes:
    chat: ChatLog = file.saved_asset or ChatLog()
    if chat.is_lines:
        return _lines(file, chat)
    document = Document.parse(file.data)
    return document.replace(_in_one_document(document.tree, edits)).encode()


def _lines(file: WorkingFile, chat: ChatLog) -> bytes:
    """JSON lines: each byte for byte as it was, but for those that are others."""
    known = {id(message.raw): message for message in chat.messages}
    own: ChatLog = file.asset
    messages = tuple(
        _rewritten(chat.messages[index] if index < len(chat.messages) else None, message.raw)
        if id(message.raw) not in known
        else known[id(message.raw)]
        for index, message in enumerate(own.messages)
    )
    header, data = own.header, chat.header_data
    if header is not chat.header and header is not None:
        data = Document(chat.header or {}, data).replace(differences(chat.header or {}, header)).data
    bad = tuple(one for one in chat.bad_lines if one.before <= len(messages))
    return ChatLog(messages=messages, header=header, header_data=data, bad_lines=bad, is_lines=True).to_jsonl()


def formats_of(file: WorkingFile) -> tuple[str, ...]:
    """What `exported` writes."""
    match file.kind:
        case "character":
            return (*_CARD_FORMATS, *(("lorebook",) if file.asset.book is not None else ()))
        case "lorebook":
            return ("json", "world", "card_book")
        case "chat":
            return ("jsonl",)
        case "other" | "profile":
            return ("file",)
    return ("json",)


def exported(file: WorkingFile, format: str) -> tuple[str, bytes]:  # noqa: A002 - what it is
    """A name and the bytes in another format, edits included. Raises `UsageError` for one that is not written."""
    if format not in formats_of(file):
        hint = f"formats: {', '.join(formats_of(file))}"
        raise UsageError(f"{file.name} is not written as {format!r}", hint=hint)
    name = file.name.rpartition("/")[2]
    stem = name.rpartition(".")[0] or file.name
    if file.problem is not None and file.tree is not None:
        raise file.problem
    if file.kind == "character" and format in _CARD_FORMATS:
        return _as_card(file, stem, format)
    if format == "file":
        return name, file.data
    if format == "jsonl":
        return f"{stem}.jsonl", _lines(file, file.saved_asset or ChatLog())
    if format == "json":
        return f"{stem}.json", saved_bytes(file)
    book = file.asset.book if format == "lorebook" else file.asset
    return f"{stem}.json", encode_json(book.to_card_book() if format == "card_book" else book.to_world(), indent=4)


def _as_card(file: WorkingFile, stem: str, format: str) -> tuple[str, bytes]:  # noqa: A002 - what it is
    name, version = _CARD_FORMATS[format]
    if file.card is None:
        raise WrongKindError("this is no card", found=file.kind)
    card = file.card if file.tree is file.saved_tree else file.card.with_character(file.asset)
    if version is not None:
        card = card.with_character(card.character.to_version(version))
    return f"{stem}.{name}", card_bytes(card, name)


def _in_one_document(tree: Any, edits: dict[Path, Any]) -> dict[Path, Any]:
    """Edits of messages where these are one JSON document: a list, or in an object, whose ``system`` is the first message.

    Raises `UnsupportedError` for what such a document has no place for.
    """
    base: Path = ("messages",) if isinstance(tree, dict) else ()
    first = int(isinstance(tree, dict) and isinstance(tree.get("system"), str) and bool(tree["system"]))
    inside: dict[Path, Any] = {}
    for path, value in edits.items():
        if path == ("messages",) and isinstance(value, list):
            inside[base] = value[first:]
            inside |= {("system",): value[0].get("content")} if first and value else {}
        elif path[:1] == ("messages",) and isinstance(path[1], int) and path[1] >= first:
            inside[(*base, path[1] - first, *path[2:])] = value
        elif first and path == ("messages", 0, "content"):
            inside["system",] = value
        else:
            raise UnsupportedError("this form of chat has no place for the change", hint="export it as JSON lines")
    return inside


def _rewritten(before: Any, raw: dict[str, Any]) -> Any:
    """A message whose object is another, in the form that its line had."""
    if before is None or before.data is None:
        return read_message(raw)
    edits = differences(before.raw, raw)
    if () in edits:
        return read_message(raw)
    document = Document(before.raw, before.data).replace(edits)
    return read_message(document.tree, document.data)
