"""Dialects: one module per provider family, one registry, and the parts that families share.

A dialect turns neutral messages into what one provider takes, and reports what it could not carry. It rewords nothing: what
a provider would refuse is repaired by declared rules, each use of which is a `Note`.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.dialects.conversation import Rules as Rules
    from innkeeper.dialects.options import as_is as as_is
    from innkeeper.dialects.options import put as put
    from innkeeper.dialects.options import stops as stops
    from innkeeper.dialects.providers.ai21 import AI21 as AI21
    from innkeeper.dialects.providers.anthropic import Anthropic as Anthropic
    from innkeeper.dialects.providers.cohere import Cohere as Cohere
    from innkeeper.dialects.providers.gemini import GeminiDialect as GeminiDialect
    from innkeeper.dialects.providers.mistral import Mistral as Mistral
    from innkeeper.dialects.providers.openai import Compatible as Compatible
    from innkeeper.dialects.providers.openai import OpenAI as OpenAI
    from innkeeper.dialects.providers.openai import OpenRouter as OpenRouter
    from innkeeper.dialects.providers.responses import Responses as Responses
    from innkeeper.dialects.providers.xai import XAI as XAI
    from innkeeper.dialects.registry import DIALECTS as DIALECTS
    from innkeeper.dialects.registry import convert as convert
    from innkeeper.dialects.sillytavern.dialect import SillyTavern as SillyTavern
    from innkeeper.dialects.text import INSTRUCTS as INSTRUCTS
    from innkeeper.dialects.text import Instruct as Instruct
    from innkeeper.dialects.text import Text as Text

_HOMES: Final = {
    "conversation": ("Rules",),
    "options": ("as_is", "put", "stops"),
    "providers.ai21": ("AI21",),
    "providers.anthropic": ("Anthropic",),
    "providers.cohere": ("Cohere",),
    "providers.gemini": ("GeminiDialect",),
    "providers.mistral": ("Mistral",),
    "providers.openai": ("Compatible", "OpenAI", "OpenRouter"),
    "providers.responses": ("Responses",),
    "providers.xai": ("XAI",),
    "registry": ("DIALECTS", "convert"),
    "sillytavern.dialect": ("SillyTavern",),
    "text": ("INSTRUCTS", "Instruct", "Text"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
