"""The chat of a build: a file of the folder, or a new chat that begins with a greeting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.content.chat import EMPTY_HEADER, ChatLog, read_chat
from innkeeper.content.chat_message import ChatMessage
from innkeeper.prompt.errors import UnknownNameError, Where
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.request import BuildRequest
from innkeeper.taverns.inputs import SCRIPTED
from innkeeper.taverns.silly.extensions.injections import POSITIONS
from innkeeper.taverns.silly.install.files import UserFolder, mapping_of, text_of
from innkeeper.taverns.silly.install.names import GroupFile, NamedCard
from innkeeper.taverns.silly.settings import ROLES

CHATS: Final = "chats"
GROUP_CHATS: Final = "group chats"
LINES: Final = ".jsonl"
"""How the files of chats end."""


class OpenChat(msgspec.Struct, frozen=True):
    """A chat, its name without an ending, and where its file is or would be, as parts of a path in the folder.

    ``is_new`` is true where there is no file yet.
    """

    chat: ChatLog
    name: str
    parts: tuple[str, ...]
    is_new: bool = False

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of this chat."""
        return self.chat.metadata


def chat_names(folder: UserFolder, card: NamedCard) -> tuple[str, ...]:
    """The names of a card's chats."""
    return tuple(name.removesuffix(LINES) for name in folder.names(CHATS, card.stem, suffix=LINES))


def one_to_one_chat(folder: UserFolder, card: NamedCard, name: str | None) -> OpenChat:
    """The chat of this name, else the card's current one. Raises `UnknownNameError`, and the errors of `read_chat`."""
    current = text_of(card.card.raw.get("chat"))
    stem = (current if name is None else name).removesuffix(LINES)
    if name is not None and stem not in chat_names(folder, card):
        raise _unknown(name, chat_names(folder, card), f"{CHATS}/{card.stem}")
    opened = _open(folder, (CHATS, card.stem, f"{stem}{LINES}"), stem)
    return greeted_chat(folder, card, stem) if opened is None else _beheaded(folder, opened)


def group_chat(folder: UserFolder, group: GroupFile, name: str | None) -> OpenChat:
    """The group's chat of this name, else its current one; an empty new one without a file."""
    stem = (text_of(group.raw.get("chat_id")) if name is None else name).removesuffix(LINES)
    if name is not None and stem not in group.chats:
        raise _unknown(name, group.chats, GROUP_CHATS)
    parts = (GROUP_CHATS, f"{stem}{LINES}")
    opened = _open(folder, parts, stem)
    if opened is None:
        return OpenChat(ChatLog(header=dict(EMPTY_HEADER)), stem, parts, is_new=True)
    old = mapping_of(group.raw.get("chat_metadata"))
    if old and opened.chat.header is None:
        header = {**EMPTY_HEADER, "chat_metadata": old}
        return msgspec.structs.replace(opened, chat=msgspec.structs.replace(opened.chat, header=header))
    return opened


def _unknown(name: str, known: tuple[str, ...], asset: str) -> UnknownNameError:
    error = UnknownNameError("chat", name, known)
    error.where = Where(asset=asset)
    return error


def _open(folder: UserFolder, parts: tuple[str, ...], name: str) -> OpenChat | None:
    """The chat in a file; ``None`` for a missing or empty one. Lines that are no messages are noted."""
    data = folder.data(*parts, size_limit="chat_bytes") if name else None
    if data is None or not data.strip():
        return None
    shown = "/".join(parts)
    chat = read_chat(data, limits=folder.limits, name=shown, lenient=True)
    for finding in chat.findings:
        folder.notes.append(finding.to_note(shown))
    return OpenChat(chat, name, parts)


def _beheaded(folder: UserFolder, opened: OpenChat) -> OpenChat:
    """The chat as SillyTavern reads it, which takes the first line for a header whatever it is."""
    if opened.chat.header is not None or not opened.chat.messages:
        return opened
    message = "the file has no header, and SillyTavern takes its first line for one: that message is not sent"
    folder.note(message, kind=NoteKind.QUIRK, at=f"{'/'.join(opened.parts)}:1")
    chat = msgspec.structs.replace(opened.chat.without(0), header=dict(EMPTY_HEADER))
    return msgspec.structs.replace(opened, chat=chat)


def greeted_chat(folder: UserFolder, card: NamedCard, name: str) -> OpenChat:
    """A new chat. Without a first message the first of the other greetings is the one that is shown."""
    name = name or card.name
    parts = (CHATS, card.stem, f"{name}{LINES}")
    folder.note("there is no chat yet: it begins with the card's greeting", kind=NoteKind.FALLBACK, at="/".join(parts))
    texts = tuple(text for text in card.card.greetings() if text)
    chat = ChatLog(header=dict(EMPTY_HEADER))
    if texts:
        message = ChatMessage.create("assistant", texts[0], name=card.name)
        chat = chat.append(message.replace(swipes=texts, swipe_id=0) if len(texts) > 1 else message)
    return OpenChat(chat, name, parts, is_new=True)


def resolve_greeting(opened: OpenChat, request: BuildRequest) -> tuple[OpenChat, BuildRequest]:
    """Add the stored form of the greeting to a new chat: scripts run, macros replaced once; return it with the changed request.

    The alternatives keep their macros. ``request`` is that of the character, without the chat.
    """
    from innkeeper.taverns.silly import stored_text, substitute

    if not opened.chat.messages:
        return opened, request
    message = opened.chat.messages[0]
    scripted = stored_text(request, message.text)
    request = request.with_(variables=scripted.variables)
    (text,), variables = substitute(request, [scripted.text])
    greeting = ChatMessage.create("assistant", text, name=message.name, send_date=request.now)
    greeting = greeting.replace(swipes=message.swipes, swipe_id=0) if message.swipes else greeting
    chat = opened.chat.replace_message(0, greeting)
    request = request.with_(variables=variables, history=chat.to_messages(hidden=True))
    return msgspec.structs.replace(opened, chat=chat), request


def script_injections(metadata: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[Note]]:
    """The texts that scripts have put into the chat, as injections. A condition in script cannot be asked: noted, left out."""
    injections: list[dict[str, Any]] = []
    notes = []
    for key, raw in mapping_of(metadata.get("script_injects")).items():
        text, position = mapping_of(raw), mapping_of(raw).get("position", 0)
        where = Where(asset="chat_metadata", path=f"script_injects.{key}")
        if text.get("filter"):
            message = "scripts are not run, so nobody can say whether this text belongs here: it is left out"
            notes.append(Note(NoteKind.IGNORED, message, where=where))
        elif position not in POSITIONS or not isinstance(text.get("value"), str) or not key:
            notes.append(Note(NoteKind.IGNORED, "this is not an injection: it is left out", where=where))
        else:
            depth = text.get("depth")
            injections.append(
                {
                    "id": f"{SCRIPTED}{key}",
                    "content": text["value"],
                    "position": position,
                    "depth": depth if isinstance(depth, int) and depth >= 0 else 4,
                    "scan": bool(text.get("scan")),
                    "role": ROLES.get(text.get("role") or 0, "system"),
                }
            )
    return injections, notes
