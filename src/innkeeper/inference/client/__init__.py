"""Clients of OpenAI-compatible servers, and what they share without I/O: endpoints, the wire, streams of events."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.inference.client.blocking import Client as Client
    from innkeeper.inference.client.chat import AsyncChatStream as AsyncChatStream
    from innkeeper.inference.client.chat import ChatReply as ChatReply
    from innkeeper.inference.client.chat import ChatStream as ChatStream
    from innkeeper.inference.client.clients import AsyncClient as AsyncClient
    from innkeeper.inference.client.endpoint import Endpoint as Endpoint
    from innkeeper.inference.client.endpoint import Response as Response
    from innkeeper.inference.client.portal import cancelled_by as cancelled_by

_HOMES: Final = {
    "chat": ("AsyncChatStream", "ChatReply", "ChatStream"),
    "blocking": ("Client",),
    "clients": ("AsyncClient",),
    "endpoint": ("Endpoint", "Response"),
    "portal": ("cancelled_by",),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
