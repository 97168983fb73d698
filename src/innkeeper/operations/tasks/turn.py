"""A turn of a stored conversation as values: its request, the prepared turn, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from innkeeper.gate.tier import Ceilings
from innkeeper.library.errors import FieldError, need_texts
from innkeeper.library.memory import MemoryRow, NewMemory
from innkeeper.library.rows import CharacterRow, ConversationRow, MessageRow
from innkeeper.library.templates.postprocessing import Cast, Processed
from innkeeper.operations.tasks.answer import TaskAnswer
from innkeeper.operations.tasks.execution import TextTask
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import Where

KICKOFF: Final = "(The story begins here. Open the scene in character, and let the other one speak next.)"
"""The text in the user's place if nobody has spoken yet."""

CONTINUE: Final = "(Go on with the story from where it stopped, in character.)"
"""The text in the user's place if the character is to speak again."""


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request of a turn.

    ``kind`` is ``message``, ``kickoff`` (the character speaks first; in a story that has begun it goes on) or ``continue``.
    ``content_mode`` is the requested tier; ``ceilings`` are of the caller's own records. ``scene`` has the document's columns of
    a scene. ``remember`` has new memories; with ``memory`` off no memory is read. ``system`` and ``template`` are an
    administrator's. ``model`` is the only one that may answer.
    """

    conversation_id: str
    message: str = ""
    kind: Literal["message", "kickoff", "continue"] = "message"
    client_msg_id: str | None = None
    message_type: str = "text"
    intent: str | None = None
    content_mode: Any = None
    ceilings: Ceilings = Ceilings()
    scene: Mapping[str, Any] = EMPTY
    remember: tuple[NewMemory, ...] = ()
    memory: bool = True
    model: str | None = None
    routes: tuple[str, ...] | None = None
    options: FrozenDict = EMPTY
    max_output_tokens: int | None = None
    money: float | None = None
    system: str | None = None
    template: str | None = None
    strict: bool = False
    request_id: str | None = None

    def __post_init__(self) -> None:
        """Raise `FieldError` for a text that cannot be stored, or an empty message."""
        need_texts(self, ("conversation_id", "message", "message_type"), _OPTIONAL)
        if self.kind == "message" and not self.message.strip():
            raise FieldError(
                "message is empty", where=Where(path="message"), hint="say something, or ask for a kickoff"
            )

    def prompt_text(self, *, begun: bool) -> str:
        """Return the text that the model answers; ``begun``: the conversation has messages."""
        if self.kind == "message":
            return self.message
        return KICKOFF if self.kind == "kickoff" and not begun else CONTINUE


_OPTIONAL: Final = ("client_msg_id", "intent", "model", "system", "template", "request_id")


class ProfileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How a profile answered a turn. ``plan`` is the path of its plan, ``tier`` the decision about all texts."""

    name: str
    plan: str = ""
    provider: str = ""
    model: str = ""
    finish_reason: str = "stop"
    tier: FrozenDict = EMPTY
    input_tokens: int | None = None
    output_tokens: int | None = None


class TurnAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a turn, as it is kept.

    ``reply`` is its row, ``message`` the user's, if there is one. ``answer`` is a template's, ``profile`` a profile's; both are
    None for a turn that was answered before (``replayed``). ``above_tier`` counts messages that were left out for their tier.
    """

    text: str
    conversation: ConversationRow
    reply: MessageRow
    message: MessageRow | None = None
    answer: TaskAnswer | None = None
    profile: ProfileFacts | None = None
    processed: Processed | None = None
    memories: int = 0
    remembered: tuple[MemoryRow, ...] = ()
    above_tier: int = 0
    character: CharacterRow | None = None

    @property
    def replayed(self) -> bool:
        """Whether the turn was answered before."""
        return self.answer is None and self.profile is None

    @property
    def context(self) -> dict[str, Any]:
        """The part of the conversation that was sent: tokens used, their limit, and left-out messages with reasons."""
        if self.answer is None:
            used = None if self.profile is None else self.profile.input_tokens
            return {"used": used, "limit": None, "evicted": []}
        prepared = self.answer.prepared
        evicted = [msgspec.to_builtins(message) for message in prepared.evicted]
        above = [{"reason": "tier", "messages": self.above_tier}] if self.above_tier else []
        return {"used": prepared.input_tokens, "limit": prepared.window_limit, "evicted": [*evicted, *above]}

    @property
    def memory(self) -> dict[str, Any]:
        """The memories: how many were recalled, and which are new."""
        tier, new = self.conversation.memory_tier, [row.id for row in self.remembered]
        return {"tier": tier, "recalled": self.memories, "remembered": new}


class PreparedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn before its answer. ``message`` is the user's row, which is stored already."""

    request: TurnRequest
    conversation: ConversationRow
    task: TextTask
    cast: Cast
    message: MessageRow | None
    memories: int
    remembered: tuple[MemoryRow, ...]
    above_tier: int
    character: CharacterRow | None = None
