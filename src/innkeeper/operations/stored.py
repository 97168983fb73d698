"""``conversations.*``, ``memories.*`` and ``characters.*``: what a caller has stored, to make, look at and take out.

Everything is the caller's own: an id of somebody else's is not found, in the same words as one that there is not
(dynamic-prompting reference 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, TypedDict, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from innkeeper.gate.judgement import Judgement
from innkeeper.library.memory import SCOPES, NewMemory
from innkeeper.library.rows import MessageRow, StoredRow
from innkeeper.operations.operation import Deleted, Operation, Row, RowList, StoredText, listing_limit
from innkeeper.operations.scope import Scope
from innkeeper.operations.tasks.opening import Opening, card_columns, opened
from innkeeper.prompt.data import thaw

if TYPE_CHECKING:
    from innkeeper.library.db.owner import Owner
    from innkeeper.library.library import Library
    from innkeeper.library.log.conversations import ConversationStore
    from innkeeper.library.log.memories import MemoryStore

R = TypeVar("R", bound=msgspec.Struct)
T = TypeVar("T")

MemoryTier = Annotated[str, Meta(extra_json_schema={"enum": ["", *SCOPES]})]
"""How long something is remembered; an empty text is none."""


class CallerStore(NamedTuple):
    """What a caller has stored, for the work of one operation."""

    library: Library
    owner: Owner
    key: str | None
    """The caller's own word for the request."""

    @property
    def conversations(self) -> ConversationStore:
        """The caller's conversations."""
        return self.library.conversations_of(self.owner)

    @property
    def memories(self) -> MemoryStore:
        """What is remembered for the caller."""
        return self.library.memories_of(self.owner)


def _stored(work: Callable[[R, CallerStore], T]) -> Callable[[R, Scope], Coroutine[Any, Any, T]]:
    """Have the work of an operation done beside the event loop: it waits for the database."""

    @wraps(work)
    async def run(request: R, scope: Scope) -> T:
        library = (await scope.tasks()).library
        return await asyncio.to_thread(work, request, CallerStore(library, scope.owner, scope.idempotency_key))

    return run


def _rows(rows: Iterable[StoredRow]) -> RowList:
    return {"object": "list", "data": [_shown(row) for row in rows]}


def _shown(row: StoredRow) -> Row:
    """A row without the name of its tenant, which is the operator's."""
    return {name: thaw(value) for name, value in row.to_dict().items() if name not in _HIDDEN}


_HIDDEN: Final = frozenset({"tenant", "content_sha256"})


def _conversation(row: StoredRow) -> Row:
    """A conversation as OpenAI's clients read one, with its own columns beside that."""
    facts = _shown(row)
    began = int(datetime.fromisoformat(facts["created_at"]).timestamp())
    return {**facts, "object": "conversation", "created_at": began, "metadata": {}}


def _item(row: MessageRow) -> dict[str, Any]:
    """A message as OpenAI's clients read an item of a conversation."""
    kind = "output_text" if row.role == "assistant" else "input_text"
    part = {"type": kind, "text": row.content, **({"annotations": []} if kind == "output_text" else {})}
    return {"type": "message", "id": row.id, "status": "completed", "role": row.role, "content": [part]}


class ListRows(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows to list at most."""

    limit: int = 50


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """Whether something is kept before others."""

    pinned: bool = False


# ------------------------------------------------------------------------------------------------------------- conversations


class BeginConversation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a new conversation is like; the same ``client_conversation_id``, or idempotency key, is the same conversation."""

    character_id: StoredText | None = None
    user_character_id: StoredText | None = None
    conversation_type: StoredText | None = None
    memory_tier: MemoryTier | None = None
    project_id: StoredText | None = None
    title: StoredText | None = None
    client_conversation_id: StoredText | None = None


class ConversationId(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation by its id."""

    conversation_id: str


class ChangeConversation(ConversationId, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What changes of a conversation; an empty text takes something away."""

    title: StoredText | UnsetType = UNSET
    status: StoredText | UnsetType = UNSET
    memory_tier: MemoryTier | UnsetType = UNSET
    current_location: StoredText | UnsetType = UNSET
    user_character_id: StoredText | UnsetType = UNSET
    project_id: StoredText | UnsetType = UNSET


class ListMessages(ConversationId, frozen=True, kw_only=True):
    """Which messages of a conversation to list: the newest, or those before a number."""

    limit: int = 50
    before: Annotated[int, Meta(ge=0, lt=10**18)] | None = None


class ListItems(ConversationId, frozen=True, kw_only=True):
    """Which messages of a conversation to list as items: so many, from either end, behind the one of an id."""

    limit: int = 20
    order: Literal["asc", "desc"] = "desc"
    after: str = ""


class ItemList(TypedDict):
    """Items of a conversation, as OpenAI lists them."""

    object: Literal["list"]
    data: list[dict[str, Any]]
    has_more: bool
    first_id: str | None
    last_id: str | None


class DeletedConversation(Deleted):
    """A conversation that is gone now, as OpenAI says it."""

    object: Literal["conversation.deleted"]


_MOST_ITEMS: Final = 10_000
"""How many messages of a conversation, the newest, are listed as items."""


class MessageId(ConversationId, frozen=True, kw_only=True):
    """A message of a conversation by its id."""

    message_id: str


class PinMessage(MessageId, frozen=True, kw_only=True):
    """Whether a message is kept in every prompt."""

    pinned: bool = False


@_stored
def begin(request: BeginConversation, mine: CallerStore) -> Row:
    """Begin a conversation."""
    fields = msgspec.structs.asdict(request)
    key = fields.pop("client_conversation_id")
    key = mine.key or key
    opening = Opening(**fields, key=f"turn:{key}" if key else None)
    return _conversation(opened(mine.library, mine.owner, opening))


@_stored
def list_conversations(request: ListRows, mine: CallerStore) -> RowList:
    """List your conversations, the one used last first."""
    rows = mine.conversations.list(listing_limit(request.limit))
    return {"object": "list", "data": [_conversation(row) for row in rows]}


@_stored
def show_conversation(request: ConversationId, mine: CallerStore) -> Row:
    """Show a conversation."""
    return _conversation(mine.conversations.get(request.conversation_id))


@_stored
def change_conversation(request: ChangeConversation, mine: CallerStore) -> Row:
    """Change a conversation."""
    changes = {name: value for name, value in msgspec.structs.asdict(request).items() if value is not UNSET}
    key = changes.pop("conversation_id")
    changes = {name: value or _EMPTIED.get(name, value) for name, value in changes.items()}
    Opening(memory_tier=changes.get("memory_tier"))
    return _conversation(mine.conversations.update(key, changes))


_EMPTIED: Final = {"memory_tier": SCOPES[0], "status": "active"}
"""What stands in these columns where they are emptied: what a new conversation has."""


@_stored
def remove_conversation(request: ConversationId, mine: CallerStore) -> DeletedConversation:
    """Take a conversation out, for good."""
    gone = mine.conversations.remove(request.conversation_id).id
    return {"id": gone, "object": "conversation.deleted", "deleted": True}


@_stored
def list_items(request: ListItems, mine: CallerStore) -> ItemList:
    """List messages of a conversation as OpenAI's items, the newest first unless ``order`` is ``asc``."""
    rows = mine.conversations.newest(request.conversation_id, _MOST_ITEMS)
    ordered = list(rows if request.order == "asc" else reversed(rows))
    start = next((at + 1 for at, row in enumerate(ordered) if row.id == request.after), 0)
    limit = listing_limit(request.limit)
    data = [_item(row) for row in ordered[start : start + limit]]
    ends = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    more = len(ordered) > start + limit
    return {"object": "list", "data": data, "has_more": more, "first_id": ends[0], "last_id": ends[1]}


@_stored
def list_messages(request: ListMessages, mine: CallerStore) -> RowList:
    """List the newest messages of a conversation."""
    limit = listing_limit(request.limit)
    return _rows(mine.conversations.newest(request.conversation_id, limit, before=request.before))


@_stored
def pin_message(request: PinMessage, mine: CallerStore) -> Row:
    """Keep a message in every prompt, or no more."""
    mine.conversations.get(request.conversation_id)  # the store asks the same of the message
    return _shown(mine.conversations.pin(request.message_id, pinned=request.pinned))


@_stored
def delete_message(request: MessageId, mine: CallerStore) -> Row:
    """Delete a message."""
    mine.conversations.get(request.conversation_id)
    row = mine.conversations.delete_message(request.message_id)
    return {"id": row.id, "deleted_at": row.deleted_at}


# ------------------------------------------------------------------------------------------------------------------ memories


class Remember(Pin, frozen=True, kw_only=True):
    """Something to remember in a conversation."""

    conversation_id: str
    content: StoredText
    scope: MemoryTier | None = None
    kind: StoredText = "fact"


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


@_stored
def remember(request: Remember, mine: CallerStore) -> Row:
    """Remember something."""
    memory = NewMemory(content=request.content, scope=request.scope, kind=request.kind, pinned=request.pinned)
    conversation = mine.conversations.get(request.conversation_id)
    return _shown(mine.memories.add(conversation, [memory])[0])


@_stored
def list_memories(request: ListMemories, mine: CallerStore) -> RowList:
    """List what is remembered."""
    return _rows(mine.memories.list(request.scope, request.scope_id)[: listing_limit(request.limit)])


@_stored
def pin_memory(request: PinMemory, mine: CallerStore) -> Row:
    """Keep a memory before others, or no more."""
    return _shown(mine.memories.pin(request.memory_id, pinned=request.pinned))


@_stored
def forget(request: MemoryKey, mine: CallerStore) -> Deleted:
    """Forget something."""
    return {"id": mine.memories.forget(request.memory_id).id, "deleted": True}


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


@_stored
def add_character(request: AddCharacter, mine: CallerStore) -> Row:
    """Store a character."""
    columns = {**card_columns(request.columns), **mine.owner.columns()}
    return _shown(mine.library.characters.add(columns, who=mine.owner.user))


@_stored
def list_characters(request: ListRows, mine: CallerStore) -> RowList:
    """List your characters."""
    return _rows(mine.library.characters.of_owner(mine.owner)[: listing_limit(request.limit)])


@_stored
def show_character(request: CharacterId, mine: CallerStore) -> Row:
    """Show a character."""
    return _shown(mine.library.characters.seen_by(mine.owner, request.character_id))


@_stored
def change_character(request: ChangeCharacter, mine: CallerStore) -> Row:
    """Change a character.

    It waits for approval again before others see it.
    """
    columns = {**card_columns(request.columns), "moderation_status": "pending"}
    key = mine.library.characters.owned(mine.owner, request.character_id).id
    return _shown(mine.library.characters.update(key, columns, who=mine.owner.user))


@_stored
def remove_character(request: CharacterId, mine: CallerStore) -> Deleted:
    """Take a character out."""
    key = mine.library.characters.owned(mine.owner, request.character_id).id
    return {"id": mine.library.characters.remove(key, who=mine.owner.user).id, "deleted": True}


BEGIN: Final = Operation("conversations.begin", begin, judged=Judgement.SAVED)
CONVERSATIONS: Final = Operation("conversations.list", list_conversations, judged=Judgement.STORED)
CONVERSATION: Final = Operation("conversations.show", show_conversation, judged=Judgement.STORED)
CHANGE: Final = Operation("conversations.change", change_conversation, judged=Judgement.SAVED)
REMOVE: Final = Operation("conversations.remove", remove_conversation, judged=Judgement.NONE)
MESSAGES: Final = Operation("conversations.messages", list_messages, judged=Judgement.STORED)
ITEMS: Final = Operation("conversations.items", list_items, judged=Judgement.STORED)
PIN_MESSAGE: Final = Operation("conversations.pin_message", pin_message, judged=Judgement.STORED)
DELETE_MESSAGE: Final = Operation("conversations.delete_message", delete_message, judged=Judgement.NONE)
REMEMBER: Final = Operation("memories.add", remember, judged=Judgement.SAVED)
MEMORIES: Final = Operation("memories.list", list_memories, judged=Judgement.STORED)
PIN_MEMORY: Final = Operation("memories.pin", pin_memory, judged=Judgement.STORED)
FORGET: Final = Operation("memories.forget", forget, judged=Judgement.NONE)
ADD_CHARACTER: Final = Operation("characters.add", add_character, whole="columns", judged=Judgement.SAVED)
CHARACTERS: Final = Operation("characters.list", list_characters, judged=Judgement.STORED)
CHARACTER: Final = Operation("characters.show", show_character, judged=Judgement.STORED)
CHANGE_CHARACTER: Final = Operation("characters.change", change_character, whole="columns", judged=Judgement.SAVED)
REMOVE_CHARACTER: Final = Operation("characters.remove", remove_character, judged=Judgement.NONE)
