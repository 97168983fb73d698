"""Innkeeper: cards, lorebooks, presets and chats in; a deterministic, explained, token-accounted prompt out.

The names below are the public face. Each is imported from its home the first time it is asked for, so that
``import innkeeper`` costs next to nothing.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names  # before the others: it makes imports by several threads safe

# isort: split
from innkeeper.version import VERSION

if TYPE_CHECKING:
    from innkeeper.inference import AsyncClient as AsyncClient
    from innkeeper.inference import AsyncPromptRunner as AsyncPromptRunner
    from innkeeper.inference import Client as Client
    from innkeeper.inference import PromptRunner as PromptRunner
    from innkeeper.inference import RunnerConfig as RunnerConfig
    from innkeeper.prompt import Block as Block
    from innkeeper.prompt import BuildRequest as BuildRequest
    from innkeeper.prompt import Context as Context
    from innkeeper.prompt import Message as Message
    from innkeeper.prompt import Plan as Plan

__version__: Final = VERSION

_HOMES: Final = {
    "AsyncClient": "inference",
    "AsyncPromptRunner": "inference",
    "Block": "prompt",
    "BuildRequest": "prompt",
    "Client": "inference",
    "Context": "prompt",
    "Message": "prompt",
    "Plan": "prompt",
    "PromptRunner": "inference",
    "RunnerConfig": "inference",
}
"""Where each public name lives: name -> module. To publish a name, add it here, above and in ``__all__``."""

__all__ = [
    "AsyncClient",
    "AsyncPromptRunner",
    "Block",
    "BuildRequest",
    "Client",
    "Context",
    "Message",
    "Plan",
    "PromptRunner",
    "RunnerConfig",
    "__version__",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
