"""Opening: the conversation of a turn, by its id, or a new one, which a repeated request creates only once.

A character that comes with the request is stored, and a repeat stores it only once, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import ConflictError, FieldError, NotFoundError, need_texts
from innkeeper.library.memory import SCOPES
from innkeeper.library.prepare.conversation import use_case_for
from innkeeper.library.rows import ConversationRow
from innkeeper.prompt.data import FrozenDict, to_json
from innkeeper.prompt.errors import UsageError, Where

if TYPE_CHECKING:
    from innkeeper.library.library import Library


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation by its id, or the columns of a new one.

    ``key`` is the caller's own name for a new conversation: the same key is the same conversation. ``memory_tier`` changes that
    of an existing conversation.
    """

    conversation_id: str | None = None
    key: str | None = None
    character_id: str | None = None
    user_character_id: str | None = None
    conversation_type: str | None = None
    memory_tier: str | None = None
    project_id: str | None = None
    title: str | None = None
    character: FrozenDict | None = None
    """The columns of a character that comes with the request, in place of ``character_id``."""

    def __post_init__(self) -> None:
        """Raise `FieldError` for a text that cannot be stored, or an unknown tier of memory."""
        need_texts(self, (), [name for name in self.__struct_fields__ if name != "character"])
        if self.memory_tier is not None and self.memory_tier not in SCOPES:
            hint = f"tiers: {', '.join(SCOPES)}"
            raise FieldError("memory_tier is no tier of memory", where=Where(path="memory_tier"), hint=hint)


def opened(library: Library, owner: Owner, opening: Opening) -> ConversationRow:
    """Return the conversation; create it if it is new. Waits for the database.

    Raises:
        NotFoundError: a conversation or a character that is not theirs.
        ConflictError: another character than the one that the conversation is with.
        UnknownNameError: a type of conversation that there is not.
        FieldError, TierBlockedError: what is not stored.
    """
    store = library.conversations_of(owner)
    kind = opening.conversation_type
    if kind is not None:
        use_case_for(kind, has_character=False)
    names = ("character_id", "user_character_id", "memory_tier", "project_id", "title")
    columns = {name: value for name in names if (value := getattr(opening, name)) is not None}
    if opening.character is not None and opening.character_id is None:
        columns["character_id"] = _stored(library, owner, opening.character)
    if opening.conversation_id is None:
        if opening.key is not None:  # with the owner in it, so that it can be no id of another's conversation
            columns["id"] = sha256(msgspec.json.encode([owner.tenant, owner.user, opening.key])).hexdigest()[:32]
        default = "character_roleplay" if "character_id" in columns else "general"
        row = store.create({**columns, "conversation_type": kind or default})
    else:
        row = store.get(opening.conversation_id)
    if (character := columns.get("character_id")) is not None and row.character_id not in {None, character}:
        hint = "begin a conversation with this one"
        raise ConflictError("the conversation is with another character", where=Where(path="character_id"), hint=hint)
    changes = {name: value for name, value in columns.items() if getattr(row, name) != value and name in _CHANGING}
    return store.update(row.id, changes) if changes else row


OPERATORS: Final = frozenset({"id", "user_id", "tenant", "moderation_status", "created_at", "updated_at"})
"""Columns that a character's owner may not write: the owner, and whether others may see it."""


def card_columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a character's columns. Raises `UsageError` for one that its owner may not write."""
    wrong = sorted(fields.keys() & OPERATORS)
    if wrong:
        raise UsageError(f"{wrong[0]} is not yours to set", where=Where(path=wrong[0]))
    return dict(fields)


def _stored(library: Library, owner: Owner, fields: FrozenDict) -> str:
    """Return the id of a character that comes with a request; store it if it is new."""
    columns = card_columns(fields)
    key = sha256(to_json([owner.tenant, owner.user, columns])).hexdigest()[:32]
    try:
        row = library.characters.owned(owner, key)
    except NotFoundError:
        row = library.characters.put({"id": key, **columns, **owner.columns()}, who=owner.user)
    return str(row.id)


_CHANGING = frozenset({"character_id", "user_character_id", "memory_tier"})
