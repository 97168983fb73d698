"""Which tokenizer SillyTavern counts by, for a source of chat completion and its model, and for text completion.

Measured on SillyTavern 1.19, whose page chooses by source and whose server by the model's name. Vocabularies that it would
download count by Llama 3's, as where downloads are off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DEFAULT: Final = "gpt-3.5-turbo"

_BY_SOURCE: Final[Mapping[str, str]] = {
    "claude": "claude",
    "makersuite": "gemma",
    "vertexai": "gemma",
    "mistralai": "mistral",
    "cohere": "llama3",
    "deepseek": "llama3",
    "ai21": "jamba",
}
"""Sources that count all their models alike."""

_MODELS: Final = (
    ("claude", "claude"), ("llama3", "llama3"), ("llama-3", "llama3"), ("llama", "llama"), ("mistral", "mistral"),
    ("yi", "yi"), ("deepseek", "llama3"), ("gemma", "gemma"), ("gemini", "gemma"), ("jamba", "jamba"), ("qwen2", "llama3"),
    ("command-r", "llama3"), ("command-a", "llama3"), ("nemo", "llama3"), ("o1", "gpt-4o"), ("o3", "gpt-4o"),
    ("o4-mini", "gpt-4o"), ("gpt-5", "gpt-4o"), ("gpt-4o", "gpt-4o"), ("gpt-4.1", "gpt-4o"), ("gpt-4.5", "gpt-4o"),
    ("gpt-4", "gpt-4"),
)  # fmt: skip
"""Parts of a model's name, the first that is in it, for sources that take any model."""

_ROUTED: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "openai": _MODELS,
    "custom": _MODELS,
    "azure_openai": _MODELS,
    "openrouter": (
        ("gpt-4o", "gpt-4o"), ("gpt-4", "gpt-4"), ("claude", "claude"), ("jamba", "jamba"), ("deepseek", "llama3"),
    ),
    "electronhub": (("gpt-4o", "gpt-4o"), ("claude", "claude"), ("llama-3", "llama3"), ("mistral", "mistral")),
    "groq": (("llama-3", "llama3"), ("mistral", "mistral")),
    "perplexity": (("llama-3", "llama3"), ("mistral", "mistral")),
    "chutes": (("llama-3", "llama3"), ("mistral", "mistral")),
}  # fmt: skip
"""The parts of a model's name that count, by source; where none is in it, and for all other sources, it is `DEFAULT`."""

_BY_NUMBER: Final[Mapping[int, str]] = {
    0: "none", 1: "gpt2", 2: "openai", 3: "llama", 4: "nerdstash", 5: "nerdstash_v2", 7: "mistral", 8: "yi", 11: "claude",
    12: "llama3", 13: "gemma", 14: "jamba", 15: "llama3", 16: "llama3", 17: "llama3", 18: "llama3", 19: "llama3",
}  # fmt: skip


def chat_tokenizer(source: str, model: str) -> str:
    """The name of the tokenizer that chat prompts are counted by."""
    if source in _BY_SOURCE:
        return _BY_SOURCE[source]
    return next((name for part, name in _ROUTED.get(source, ()) if part in model), DEFAULT)


def text_tokenizer(number: object) -> str | None:
    """The tokenizer for text prompts; ``None`` if the backend counts, or its best match."""
    return _BY_NUMBER.get(number) if isinstance(number, int) else None
