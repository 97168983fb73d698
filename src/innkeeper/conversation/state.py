"""ConversationState: the state that a turn leaves for the next one beside the messages, and the key under which it is kept.

A client that sends the whole chat each time keeps no state, so the state goes with the chat's words: the state after messages
1 to n has a key made of these. The next turn begins with the state of the longest known beginning of its chat, and the same
messages once more begin where they began before. System messages do not count: many clients write the time into them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from innkeeper.prompt.data import EMPTY, FrozenDict, freeze, parse_json, to_json
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.typed.once import decode

MAX_STATE: Final = 1024 * 1024
"""Bytes of the state of one conversation (a note; a larger one is not kept)."""

MAX_CHAT_STATES: Final = 64
"""States of a conversation with a name that are kept (no error: older ones are forgotten)."""

MAX_UNNAMED_STATES: Final = 4096
"""States of all conversations of a user without names that are kept (no error: older ones are forgotten)."""

MAX_STATES: Final = 64 * 1024 * 1024
"""Bytes of all states that are kept in memory (no error: the oldest are forgotten)."""


_INSTRUCTIONS: Final = ("system", "developer")


class ConversationState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``variables`` by scope, lasting effects of lore (the plan's ``carry``), ``metadata`` of the chat, its ``greetings``.

    ``texts`` are messages as the tavern keeps them, where that is not what was sent (macros in them have been replaced once), by
    the keys of `prefix_keys`. ``turns`` is how many turns led to it.
    """

    variables: FrozenDict = EMPTY
    carry: Any = None
    metadata: FrozenDict = EMPTY
    greetings: tuple[str, ...] = ()
    texts: FrozenDict = EMPTY
    turns: int = 0

    def to_json(self) -> bytes:
        """Return the state as JSON, in the order of its keys, since builds may depend on it."""
        return to_json(msgspec.to_builtins(self), sort=False)

    @classmethod
    def from_json(cls, data: bytes) -> ConversationState:
        """Read what `to_json` wrote; no bytes are an empty state. Raises `FormatError`."""
        if not data:
            return cls()
        fields = freeze(parse_json(data, asset="conversation state"))
        if not isinstance(fields, dict) or not fields.keys() <= set(cls.__struct_fields__):
            raise FormatError("this is no state of a conversation")
        return cls(**fields)


def prefix_keys(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return a key for each beginning of a chat, from its first message to all of them; each is made of the previous one."""
    keys, digest = [], b""
    for message in messages:
        if message.role in _INSTRUCTIONS:
            continue
        facts = msgspec.json.encode([message.role, message.content, message.name])
        more = to_json(message.to_dict()) if message.attachments or message.metadata else b""
        digest = hashlib.sha256(b"\n".join((digest, facts, more))).digest()
        keys.append(digest.hex()[:32])
    return tuple(keys)


def conversation_scope(*names: str) -> str:
    """Return what separates conversations that begin with the same words: a hash of caller, profile, conversation."""
    return hashlib.sha256(to_json(names)).hexdigest()[:32]


class _Counted(msgspec.Struct):
    """The one field of a state that is read without the rest."""

    turns: int = 0


def turns_of(state: bytes) -> int:
    """Return how many turns led to a state."""
    return decode(state, _Counted).turns if state else 0


class StoredState(msgspec.Struct, frozen=True):
    """The last state of a conversation with a name: the key of its chat, the state after it, and the one before it."""

    key: str
    state: bytes
    before: bytes = b""


class StateStore(Protocol):
    """Keeps states by scope and key, and the last one of each scope."""

    @property
    def in_memory(self) -> bool:
        """Whether its methods return at once."""
        ...

    def get(self, scope: str, keys: Sequence[str]) -> tuple[str, bytes] | None:
        """Return the first of these keys that has a state, and the state."""
        ...

    def last(self, scope: str) -> StoredState | None:
        """Return the state that was put last."""
        ...

    def put(self, scope: str, stored: StoredState, most: int = MAX_CHAT_STATES) -> None:
        """Keep a state, and of its scope only so many."""
        ...

    def close(self) -> None:
        """Close its connections."""
        ...


def state_before(
    store: StateStore, scope: str, keys: Sequence[str], *, named: bool = False, begins: bool = False
) -> tuple[bytes, int]:
    """Return the state that a turn begins with, empty if none is known, and how many messages of the chat led to it.

    ``keys`` are those of `prefix_keys`, the last for the whole chat. A conversation that its client has ``named``
    goes on where it was, even if the client no longer sends its beginning, unless this chat ``begins``.
    """
    known = store.get(scope, keys[-2::-1]) if len(keys) > 1 else None
    if known is not None:
        return known[1], keys.index(known[0]) + 1
    last = store.last(scope) if named and not begins else None
    if last is None:
        return b"", 0
    return (last.before if keys and last.key == keys[-1] else last.state), len(keys)


class ClientConversation:
    """The store of a client that sends the whole chat with each turn: the state as JSON, under a key of the chat's words.

    Use one for each turn. ``scope`` separates it from others (`conversation_scope`); with ``named`` the client names the
    conversation. The methods wait for the database.
    """

    def __init__(self, store: StateStore, scope: str, messages: Sequence[Message], *, named: bool = False) -> None:
        self.keys = prefix_keys(messages)
        self._store, self._scope, self._named = store, scope, named
        self._answers = [message.role == "assistant" for message in messages if message.role not in _INSTRUCTIONS]
        self._begins = not any(self._answers)
        self._before, self._left, self._missing = b"", False, 0

    def load(self) -> bytes | None:
        """Return the state that the turn begins with; None if none is known."""
        before = state_before(self._store, self._scope, self.keys, named=self._named, begins=self._begins)
        self._before, self._missing = before[0], sum(self._answers[before[1] :]) - 1
        if self._named and self._begins and not self._before:
            last = self._store.last(self._scope)
            self._left = last is not None and last.key not in self.keys
        return self._before or None

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is missing after `load`: a state that such a chat should have, or one of its name that is not used."""
        if self._left:
            message = "the chat has no answer in it, so it begins anew: the state of this conversation is left"
            hint = "to go on with it, send the last answer before the new message"
        elif not (self._begins or self._before):
            message = "no state is known of this conversation: variables and lasting lore begin anew"
            hint = "send the chat as it was, or name the conversation (metadata.conversation) from its first turn on"
        elif self._missing > 0:
            message = f"the state after the last {self._missing + 1} answers is not known: an older one is used"
            hint = "ask again for the answer whose state is missing, or name the conversation (metadata.conversation)"
        else:
            return ()
        return (Note(NoteKind.FALLBACK, message, hint=hint, data=FrozenDict({"input": "conversation"})),)

    def keep(self, conversation: bytes) -> None:
        """Keep the state after the turn, unless it is too large (`MAX_STATE`) or the chat has no words for a key."""
        if self.keys and len(conversation) <= MAX_STATE:
            most = MAX_CHAT_STATES if self._named else MAX_UNNAMED_STATES
            self._store.put(self._scope, StoredState(self.keys[-1], conversation, self._before), most)
