"""The built-in adapters by name. A new wire protocol is one module, and one line here."""

from __future__ import annotations

from typing import Final

from innkeeper.inference.adapters.adapter import Adapters
from innkeeper.inference.adapters.openai_chat import OpenAIChat

__all__ = ["ADAPTERS"]

ADAPTERS: Final = Adapters(OpenAIChat())
"""``ADAPTERS.with_(mine)`` is a registry with a further one."""
