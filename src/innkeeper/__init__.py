"""Innkeeper: cards, lorebooks, presets and chats in; a deterministic, explained, token-accounted prompt out.

Its names are the public face. Each is imported from its home the first time it is asked for, so that ``import innkeeper`` costs
next to nothing.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names  # before the others: it makes imports by several threads safe

# isort: split
from innkeeper.version import VERSION

if TYPE_CHECKING:
    from innkeeper.chat import Chat as Chat
    from innkeeper.chat import ChatDatabase as ChatDatabase
    from innkeeper.content import Character as Character
    from innkeeper.content import ChatLog as ChatLog
    from innkeeper.content import Lorebook as Lorebook
    from innkeeper.content import Persona as Persona
    from innkeeper.content import Preset as Preset
    from innkeeper.content import load_character as load_character
    from innkeeper.content import load_chat as load_chat
    from innkeeper.content import load_lorebook as load_lorebook
    from innkeeper.content import load_persona as load_persona
    from innkeeper.content import load_preset as load_preset
    from innkeeper.dialects import convert as convert
    from innkeeper.inference import AsyncClient as AsyncClient
    from innkeeper.inference import AsyncPromptRunner as AsyncPromptRunner
    from innkeeper.inference import Client as Client
    from innkeeper.inference import FakeClient as FakeClient
    from innkeeper.inference import PromptRunner as PromptRunner
    from innkeeper.inference import RouteClient as RouteClient
    from innkeeper.inference import RunnerConfig as RunnerConfig
    from innkeeper.inference import ToolLoopRunner as ToolLoopRunner
    from innkeeper.inference import tool as tool
    from innkeeper.library import Library as Library
    from innkeeper.library import PrepareRequest as PrepareRequest
    from innkeeper.prompt import Block as Block
    from innkeeper.prompt import BuildRequest as BuildRequest
    from innkeeper.prompt import Context as Context
    from innkeeper.prompt import InnkeeperError as InnkeeperError
    from innkeeper.prompt import InputError as InputError
    from innkeeper.prompt import LimitError as LimitError
    from innkeeper.prompt import Message as Message
    from innkeeper.prompt import Pipeline as Pipeline
    from innkeeper.prompt import Plan as Plan
    from innkeeper.prompt import Ports as Ports
    from innkeeper.prompt import ProviderError as ProviderError
    from innkeeper.prompt import ReplayBundle as ReplayBundle
    from innkeeper.prompt import State as State
    from innkeeper.prompt import Step as Step
    from innkeeper.prompt import StepConfig as StepConfig
    from innkeeper.prompt import UsageError as UsageError
    from innkeeper.service import create_app as create_app
    from innkeeper.taverns import BuildInputs as BuildInputs
    from innkeeper.taverns import Session as Session
    from innkeeper.taverns import Tavern as Tavern
    from innkeeper.taverns import build as build
    from innkeeper.taverns import replay as replay
    from innkeeper.tokens import default_counter as default_counter

__version__: Final = VERSION

_HOMES: Final = {
    "chat": ("Chat", "ChatDatabase"),
    "content": (
        "Character",
        "ChatLog",
        "Lorebook",
        "Persona",
        "Preset",
        "load_character",
        "load_chat",
        "load_lorebook",
        "load_persona",
        "load_preset",
    ),
    "dialects": ("convert",),
    "inference": (
        "AsyncClient",
        "AsyncPromptRunner",
        "Client",
        "FakeClient",
        "PromptRunner",
        "RouteClient",
        "RunnerConfig",
        "ToolLoopRunner",
        "tool",
    ),
    "library": ("Library", "PrepareRequest"),
    "prompt": (
        "Block",
        "BuildRequest",
        "Context",
        "InnkeeperError",
        "InputError",
        "LimitError",
        "Message",
        "Pipeline",
        "Plan",
        "Ports",
        "ProviderError",
        "ReplayBundle",
        "State",
        "Step",
        "StepConfig",
        "UsageError",
    ),
    "service": ("create_app",),
    "taverns": ("BuildInputs", "Session", "Tavern", "build", "replay"),
    "tokens": ("default_counter",),
}
"""Where the public names live: package -> names. To publish a name, add it here, above, and to the table of
``docs/reference/python/index.md``."""

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
