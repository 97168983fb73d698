"""Memory: what is remembered of a conversation, of a character, or of a person, beyond the turns that a prompt has room for.

How far a conversation remembers is its ``memory_tier`` (dynamic-prompting reference 1.7): ``conversation`` is what was remembered
in it; ``character`` also what the same person's other conversations with this character left; ``profile`` also what is remembered
of the person wherever they speak.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from innkeeper.gate.tier import Tier
from innkeeper.library.rows import ConversationRow, StoredRow

SCOPES: Final = ("conversation", "character", "profile")
"""How far something is remembered, the nearest first; also the words of ``memory_tier``."""


class NewMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Something to remember.

    ``scope`` is at most what the conversation remembers, and just that where left out. ``kind`` is ``fact``, ``preference``,
    ``event``, ``relationship`` or ``summary``. What is ``pinned`` is kept before all that is not.
    """

    content: str
    scope: str | None = None
    kind: str = "fact"
    pinned: bool = False
    source: str = "user"
    message_id: str | None = None


class MemoryRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``memories``."""

    id: str
    tenant: str = ""
    user_id: str = ""
    scope: str
    scope_id: str = ""
    kind: str = "fact"
    content: str
    content_sha256: str
    tier: Tier = Tier.SFW
    pinned: bool = False
    source: str = "user"
    message_id: str | None = None
    created_at: str = ""
    updated_at: str = ""


def reach(memory_tier: str) -> tuple[str, ...]:
    """The scopes that a conversation remembers from.

    >>> reach("character")
    ('conversation', 'character')
    """
    return SCOPES[: SCOPES.index(memory_tier) + 1]


def remembered(conversation: ConversationRow, rows: Sequence[MemoryRow]) -> tuple[str, ...]:
    """The texts of memories, and of the ``key_facts`` that the document keeps in a conversation's ``memory_data``, each once."""
    facts = conversation.memory_data.get("key_facts")
    own = [fact for fact in facts if isinstance(fact, str)] if isinstance(facts, (list, tuple)) else []
    return tuple(dict.fromkeys(text for text in (*(row.content for row in rows), *own) if text.strip()))
