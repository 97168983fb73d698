"""``conversations.*``, ``memories.*`` and ``characters.*``: what a caller has stored, to make, look at and take out.

Everything is the caller's own: an id of somebody else's is not found, in the same words as one that there is not
(dynamic-prompting reference 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from innkeeper.library.memory import SCOPES, NewMemory
from innkeeper.library.rows import CharacterRow, MessageRow, StoredRow
from innkeeper.operations.operation import Deleted, Operation, Row, RowList, listing_limit
from innkeeper.operations.scope import Scope
from innkeeper.operations.tasks.opening import Opening, card_columns, opened
from innkeeper.prompt.data import thaw

if TYPE_CHECKING:
    from innkeeper.library.library import Library

T = TypeVar("T")

MemoryTier = Annotated[str, Meta(extra_json_schema={"enum": [*SCOPES]})]
"""How long something is remembered."""


async def _asked(scope: Scope, work: Callable[[Library], T]) -> T:
    """What the library gives; it waits for the database, so it is asked beside the event loop."""
    library = (await scope.tasks()).library
    return await asyncio.to_thread(work, library)


def _rows(rows: Iterable[StoredRow]) -> RowList:
    return {"object": "list", "data": [_shown(row) for row in rows]}


def _shown(row: StoredRow) -> Row:
    """A row without the name of its tenant, which is the operator's."""
    return {name: thaw(value) for name, value in row.to_dict().items() if name not in _HIDDEN}


_HIDDEN: Final = frozenset({"tenant", "content_sha256"})


class ListRows(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows to list at most."""

    limit: int = 50


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """Whether something is kept before others."""

    pinned: bool = False


# ------------------------------------------------------------------------------------------------------------- conversations


class BeginConversation(msgspec.Struct, frozen=True, kw_only=True):
    """What a new conversation is like; the same ``client_conversation_id``, or idempotency key, is the same conversation."""

    character_id: str | None = None
    user_character_id: str | None = None
    conversation_type: str | None = None
    memory_tier: MemoryTier | None = None
    project_id: str | None = None
    title: str | None = None
    client_conversation_id: str | None = None


class ConversationId(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation by its id."""

    conversation_id: str


class ChangeConversation(ConversationId, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What changes of a conversation; an empty text takes something away."""

    title: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    memory_tier: str | UnsetType = UNSET
    current_location: str | UnsetType = UNSET
    user_character_id: str | UnsetType = UNSET
    project_id: str | UnsetType = UNSET


class ListMessages(ConversationId, frozen=True, kw_only=True):
    """Which messages of a conversation to list: the newest, or those before a number."""

    limit: int = 50
    before: Annotated[int, Meta(ge=0, lt=10**18)] | None = None


class MessageId(ConversationId, frozen=True, kw_only=True):
    """A message of a conversation by its id."""

    message_id: str


class PinMessage(MessageId, frozen=True, kw_only=True):
    """Whether a message is kept in every prompt."""

    pinned: bool = False


async def begin(request: BeginConversation, scope: Scope) -> Row:
    """Begin a conversation."""
    fields = msgspec.structs.asdict(request)
    key = fields.pop("client_conversation_id")
    key = scope.idempotency_key or key
    opening = Opening(**fields, key=f"turn:{key}" if key else None)
    return _shown(await _asked(scope, lambda library: opened(library, scope.owner, opening)))


async def list_conversations(request: ListRows, scope: Scope) -> RowList:
    """List your conversations, the one used last first."""
    limit = listing_limit(request.limit)
    return _rows(await _asked(scope, lambda library: library.conversations_of(scope.owner).list(limit)))


async def show_conversation(request: ConversationId, scope: Scope) -> Row:
    """Show a conversation."""
    return _shown(
        await _asked(scope, lambda library: library.conversations_of(scope.owner).get(request.conversation_id))
    )


async def change_conversation(request: ChangeConversation, scope: Scope) -> Row:
    """Change a conversation."""
    changes = {name: value for name, value in msgspec.structs.asdict(request).items() if value is not UNSET}
    key = changes.pop("conversation_id")
    Opening(memory_tier=changes.get("memory_tier") or None)
    return _shown(await _asked(scope, lambda library: library.conversations_of(scope.owner).update(key, changes)))


async def remove_conversation(request: ConversationId, scope: Scope) -> Deleted:
    """Take a conversation out, for good."""
    key = request.conversation_id
    row = await _asked(scope, lambda library: library.conversations_of(scope.owner).remove(key))
    return {"id": row.id, "deleted": True}


async def list_messages(request: ListMessages, scope: Scope) -> RowList:
    """List the newest messages of a conversation."""
    key, limit, before = request.conversation_id, listing_limit(request.limit), request.before
    return _rows(
        await _asked(scope, lambda library: library.conversations_of(scope.owner).newest(key, limit, before=before))
    )


async def pin_message(request: PinMessage, scope: Scope) -> Row:
    """Keep a message in every prompt, or no more."""

    def pinned(library: Library) -> MessageRow:
        store = library.conversations_of(scope.owner)
        store.get(request.conversation_id)  # the store asks the same of the message
        return store.pin(request.message_id, pinned=request.pinned)

    return _shown(await _asked(scope, pinned))


async def delete_message(request: MessageId, scope: Scope) -> Row:
    """Delete a message."""

    def deleted(library: Library) -> MessageRow:
        store = library.conversations_of(scope.owner)
        store.get(request.conversation_id)
        return store.delete_message(request.message_id)

    row = await _asked(scope, deleted)
    return {"id": row.id, "deleted_at": row.deleted_at}


# ------------------------------------------------------------------------------------------------------------------ memories


class Remember(Pin, frozen=True, kw_only=True):
    """Something to remember in a conversation."""

    conversation_id: str
    content: str
    scope: MemoryTier | None = None
    kind: str = "fact"


class ListMemories(ListRows, frozen=True, kw_only=True):
    """Which memories to list: all, or those of one conversation or character."""

    scope: MemoryTier | None = None
    scope_id: str | None = None


class MemoryKey(msgspec.Struct, frozen=True, kw_only=True):
    """A memory by its id."""

    memory_id: str


class PinMemory(MemoryKey, frozen=True, kw_only=True):
    """Whether a memory is kept before others."""

    pinned: bool = False


async def remember(request: Remember, scope: Scope) -> Row:
    """Remember something."""
    memory = NewMemory(content=request.content, scope=request.scope, kind=request.kind, pinned=request.pinned)

    def added(library: Library) -> StoredRow:
        row = library.conversations_of(scope.owner).get(request.conversation_id)
        return library.memories_of(scope.owner).add(row, [memory])[0]

    return _shown(await _asked(scope, added))


async def list_memories(request: ListMemories, scope: Scope) -> RowList:
    """List what is remembered."""
    rows = await _asked(scope, lambda library: library.memories_of(scope.owner).list(request.scope, request.scope_id))
    return _rows(rows[: listing_limit(request.limit)])


async def pin_memory(request: PinMemory, scope: Scope) -> Row:
    """Keep a memory before others, or no more."""
    key, pinned = request.memory_id, request.pinned
    return _shown(await _asked(scope, lambda library: library.memories_of(scope.owner).pin(key, pinned=pinned)))


async def forget(request: MemoryKey, scope: Scope) -> Deleted:
    """Forget something."""
    row = await _asked(scope, lambda library: library.memories_of(scope.owner).forget(request.memory_id))
    return {"id": row.id, "deleted": True}


# ---------------------------------------------------------------------------------------------------------------- characters


class AddCharacter(msgspec.Struct, frozen=True, kw_only=True):
    """A character by its columns."""

    columns: dict[str, Any] = {}


class CharacterId(msgspec.Struct, frozen=True, kw_only=True):
    """A character by its id."""

    character_id: str


class ChangeCharacter(CharacterId, frozen=True, kw_only=True):
    """Columns of a character that change."""

    columns: dict[str, Any] = {}


async def add_character(request: AddCharacter, scope: Scope) -> Row:
    """Store a character."""
    columns = {**card_columns(request.columns), **scope.owner.columns()}
    return _shown(await _asked(scope, lambda library: library.characters.add(columns, who=scope.owner.user)))


async def list_characters(request: ListRows, scope: Scope) -> RowList:
    """List your characters."""
    rows = await _asked(scope, lambda library: library.characters.of_owner(scope.owner))
    return _rows(rows[: listing_limit(request.limit)])


async def show_character(request: CharacterId, scope: Scope) -> Row:
    """Show a character."""
    key = request.character_id
    return _shown(await _asked(scope, lambda library: library.characters.seen_by(scope.owner, key)))


async def change_character(request: ChangeCharacter, scope: Scope) -> Row:
    """Change a character.

    It waits for approval again before others see it.
    """
    columns = {**card_columns(request.columns), "moderation_status": "pending"}

    def changed(library: Library) -> StoredRow:
        key = library.characters.owned(scope.owner, request.character_id).id
        return library.characters.update(key, columns, who=scope.owner.user)

    return _shown(await _asked(scope, changed))


async def remove_character(request: CharacterId, scope: Scope) -> Deleted:
    """Take a character out."""

    def removed(library: Library) -> CharacterRow:
        key = library.characters.owned(scope.owner, request.character_id).id
        return library.characters.remove(key, who=scope.owner.user)

    return {"id": (await _asked(scope, removed)).id, "deleted": True}


BEGIN: Final = Operation("conversations.begin", begin)
CONVERSATIONS: Final = Operation("conversations.list", list_conversations)
CONVERSATION: Final = Operation("conversations.show", show_conversation)
CHANGE: Final = Operation("conversations.change", change_conversation)
REMOVE: Final = Operation("conversations.remove", remove_conversation)
MESSAGES: Final = Operation("conversations.messages", list_messages)
PIN_MESSAGE: Final = Operation("conversations.pin_message", pin_message)
DELETE_MESSAGE: Final = Operation("conversations.delete_message", delete_message)
REMEMBER: Final = Operation("memories.add", remember)
MEMORIES: Final = Operation("memories.list", list_memories)
PIN_MEMORY: Final = Operation("memories.pin", pin_memory)
FORGET: Final = Operation("memories.forget", forget)
ADD_CHARACTER: Final = Operation("characters.add", add_character, whole="columns")
CHARACTERS: Final = Operation("characters.list", list_characters)
CHARACTER: Final = Operation("characters.show", show_character)
CHANGE_CHARACTER: Final = Operation("characters.change", change_character, whole="columns")
REMOVE_CHARACTER: Final = Operation("characters.remove", remove_character)
