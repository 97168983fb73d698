"""Innkeeper: cards, lorebooks, presets and chats in; a deterministic, explained, token-accounted prompt out.

The names below are the public face. Each is imported from its home the first time it is asked for, so that
``import innkeeper`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from innkeeper.inference import Client as Client
    from innkeeper.inference import PromptRunner as PromptRunner
    from innkeeper.inference import RunnerConfig as RunnerConfig
    from innkeeper.prompt import Block as Block
    from innkeeper.prompt import BuildRequest as BuildRequest
    from innkeeper.prompt import Context as Context
    from innkeeper.prompt import Message as Message
    from innkeeper.prompt import Plan as Plan

__version__: Final = "0.1.0"

_HOMES: Final = {
    "Block": "innkeeper.prompt",
    "BuildRequest": "innkeeper.prompt",
    "Client": "innkeeper.inference",
    "Context": "innkeeper.prompt",
    "Message": "innkeeper.prompt",
    "Plan": "innkeeper.prompt",
    "PromptRunner": "innkeeper.inference",
    "RunnerConfig": "innkeeper.inference",
}
"""Where each public name lives: name -> module. To publish a name, add it here, above and in ``__all__``."""

__all__ = [
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


def __getattr__(name: str) -> Any:
    """Import a public name from its home, and remember it.

    Raises:
        AttributeError: the package has no such name.
    """
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=None)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
