"""The silly tavern: SillyTavern 1.19's prompt building, headless."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.taverns.silly.install import Install as Install
    from innkeeper.taverns.silly.scripts.texts import display_text as display_text
    from innkeeper.taverns.silly.scripts.texts import stored_text as stored_text
    from innkeeper.taverns.silly.tavern import PIPELINE as PIPELINE
    from innkeeper.taverns.silly.tavern import TAVERN as TAVERN
    from innkeeper.taverns.silly.tavern import build as build
    from innkeeper.taverns.silly.tavern import builder as builder
    from innkeeper.taverns.silly.tavern import substitute as substitute
    from innkeeper.taverns.silly.tavern import to_endpoint as to_endpoint
    from innkeeper.taverns.silly.tavern import to_messages as to_messages
    from innkeeper.taverns.silly.tavern import to_provider as to_provider
    from innkeeper.taverns.silly.text.fill import TEXT_PIPELINE as TEXT_PIPELINE

_HOMES: Final = {
    "install": ("Install",),
    "scripts.texts": ("display_text", "stored_text"),
    "tavern": ("PIPELINE", "TAVERN", "build", "builder", "substitute", "to_endpoint", "to_messages", "to_provider"),
    "text.fill": ("TEXT_PIPELINE",),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
