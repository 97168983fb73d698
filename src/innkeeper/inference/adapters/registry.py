"""The built-in adapters by name. A new wire protocol is one module, and one line here."""

from __future__ import annotations

from typing import Final

from innkeeper.inference.adapters.adapter import Adapters
from innkeeper.inference.adapters.anthropic_messages import AnthropicMessages
from innkeeper.inference.adapters.gemini import Gemini
from innkeeper.inference.adapters.ollama import Ollama
from innkeeper.inference.adapters.openai_chat import Local, OpenAIChat
from innkeeper.inference.adapters.openai_responses import OpenAIResponses
from innkeeper.inference.adapters.text_completion import KoboldCpp, LlamaCppCompletion, TextCompletion
from innkeeper.inference.adapters.worker import WorkerProtocol

ADAPTERS: Final = Adapters(
    OpenAIChat(),
    OpenAIResponses(),
    AnthropicMessages(),
    Gemini(),
    Ollama(),
    TextCompletion(),
    LlamaCppCompletion(),
    KoboldCpp(),
    Local(),
    WorkerProtocol(),
)
"""``ADAPTERS.with_(mine)`` is a registry with a further one."""
