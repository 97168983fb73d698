"""Chats: a character, a model and a store behind one object, for programs in which people talk with a character.

`Chat` is a face of the one conversation (`innkeeper.conversation`): it keeps, sends and shows what ``innkeeper chat`` does.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.chat.chat import AnsweredTurn as AnsweredTurn
    from innkeeper.chat.chat import Chat as Chat
    from innkeeper.chat.chat import StreamedReply as StreamedReply
    from innkeeper.chat.database import ChatDatabase as ChatDatabase
    from innkeeper.chat.inputs import ChatInputs as ChatInputs
    from innkeeper.chat.stores import ChatFolder as ChatFolder
    from innkeeper.chat.stores import ChatMemory as ChatMemory
    from innkeeper.chat.stores import NamedChats as NamedChats

_HOMES: Final = {
    "chat": ("AnsweredTurn", "Chat", "StreamedReply"),
    "database": ("ChatDatabase",),
    "inputs": ("ChatInputs",),
    "stores": ("ChatFolder", "ChatMemory", "NamedChats"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
