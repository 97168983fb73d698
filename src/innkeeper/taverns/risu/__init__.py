"""RisuAI's way of building prompts: its lorebook, the cards of its prompt template, its budget, and its files."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.taverns.risu.reply import display_text as display_text
    from innkeeper.taverns.risu.reply import stored_reply as stored_reply
    from innkeeper.taverns.risu.request_flags import completion_text as completion_text
    from innkeeper.taverns.risu.request_flags import request_body as request_body
    from innkeeper.taverns.risu.tavern import TAVERN as TAVERN
    from innkeeper.taverns.risu.tavern import build as build
    from innkeeper.taverns.risu.tavern import builder as builder
    from innkeeper.taverns.risu.tavern import to_messages as to_messages

_HOMES: Final = {
    "request_flags": ("completion_text", "request_body"),
    "reply": ("display_text", "stored_reply"),
    "tavern": ("TAVERN", "build", "builder", "to_messages"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
