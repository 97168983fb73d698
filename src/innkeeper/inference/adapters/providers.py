"""The providers that have a name: which adapter speaks to them, which dialect writes their bodies, and where they are.

This is the one table of them: the command line's names, routes and the prompt service read it. A new provider is one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Provider(NamedTuple):
    """One provider. ``adapter`` and ``dialect`` are names in their registries."""

    name: str
    adapter: str
    dialect: str
    base_url: str


PROVIDERS: Final[Mapping[str, Provider]] = MappingProxyType(
    {
        provider.name: provider
        for provider in (
            Provider("anthropic", "anthropic-messages", "anthropic", "https://api.anthropic.com"),
            Provider("deepseek", "openai-chat", "openai-compatible", "https://api.deepseek.com"),
            Provider("gemini", "gemini-generateContent", "gemini", "https://generativelanguage.googleapis.com"),
            Provider("groq", "openai-chat", "openai-compatible", "https://api.groq.com/openai"),
            Provider("koboldcpp", "openai-chat", "openai-compatible", "http://localhost:5001"),
            Provider("llamacpp", "openai-chat", "openai-compatible", "http://localhost:8080"),
            Provider("lmstudio", "openai-chat", "openai-compatible", "http://localhost:1234"),
            Provider("mistral", "openai-chat", "mistral", "https://api.mistral.ai"),
            Provider("ollama", "ollama-chat", "ollama", "http://localhost:11434"),
            Provider("openai", "openai-chat", "openai", "https://api.openai.com"),
            Provider("openai-responses", "openai-responses", "responses", "https://api.openai.com"),
            Provider("openrouter", "openai-chat", "openrouter", "https://openrouter.ai/api"),
            Provider("together", "openai-chat", "openai-compatible", "https://api.together.xyz"),
            Provider("vllm", "openai-chat", "openai-compatible", "http://localhost:8000"),
            Provider("xai", "openai-chat", "xai", "https://api.x.ai"),
        )
    }
)
"""The providers by name."""

ADDRESSES: Final[Mapping[str, str]] = MappingProxyType({name: it.base_url for name, it in PROVIDERS.items()})
"""Their addresses by name."""


def provider_at(address: str) -> Provider | None:
    """Return the provider whose address this is, with or without the version in its path; the first where several have it."""
    bare = address.rstrip("/").removesuffix("/v1")
    return next((provider for provider in PROVIDERS.values() if provider.base_url == bare), None)
