"""Conversations: a turn, the state it leaves, greetings, and the rules by which a model's answer becomes a message.

A turn is the same at every door: the terminal, a profile behind a client's API, a stored conversation and the inspector.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.conversation.client_turn import ProfileTurn as ProfileTurn
    from innkeeper.conversation.client_turn import TurnInput as TurnInput
    from innkeeper.conversation.client_turn import profile_turn as profile_turn
    from innkeeper.conversation.client_turn import settled_request as settled_request
    from innkeeper.conversation.conversation import Conversation as Conversation
    from innkeeper.conversation.conversation import ConversationTurn as ConversationTurn
    from innkeeper.conversation.reply import Reply as Reply
    from innkeeper.conversation.reply import ReplyRules as ReplyRules
    from innkeeper.conversation.reply import ReplyStream as ReplyStream
    from innkeeper.conversation.reply import finished_reply as finished_reply
    from innkeeper.conversation.state import ConversationState as ConversationState
    from innkeeper.conversation.store import ChatFile as ChatFile
    from innkeeper.conversation.store import ConversationStore as ConversationStore

_HOMES: Final = {
    "client_turn": ("ProfileTurn", "TurnInput", "profile_turn", "settled_request"),
    "conversation": ("Conversation", "ConversationTurn"),
    "reply": ("Reply", "ReplyRules", "ReplyStream", "finished_reply"),
    "state": ("ConversationState",),
    "store": ("ChatFile", "ConversationStore"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
