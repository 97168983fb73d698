"""Model ids as people and routers write them, and the shorter names that registries know."""

from typing import Final

__all__ = ["bare_model_id", "canonical_model_hint"]

_RULES: Final = (
    # what an id contains, and the hint it then has; the first that fits (VibeTavern's rules, in its order)
    ("deepseek-v3.2", "deepseek-v3.2"),
    ("deepseek-chat-v3-0324", "deepseek-v3"),
    ("deepseek-v3-0324", "deepseek-v3"),
    ("deepseek", "deepseek-v3.2"),
    ("qwen3-next-80b-a3b-instruct", "qwen3-next-80b-a3b-instruct"),
    ("qwen3-235b-a22b", "qwen3-235b-a22b-instruct-2507"),
    ("qwen3-30b-a3b-instruct", "qwen3-30b-a3b-instruct"),
    ("qwen3", "qwen3"),
    ("glm-4.7-flash", "glm-4.7-flash"),
    ("glm-4.7", "glm-4.7"),
    ("kimi-k2.5", "kimi-k2.5"),
    ("minimax-m2", "minimax-m2.1"),
)


def canonical_model_hint(model: str) -> str:
    """The name a registry of tokenizer files knows a model by (VibeTavern's ``canonical_model_hint``).

    >>> canonical_model_hint("deepseek/deepseek-chat-v3-0324:nitro")
    'deepseek-v3'
    >>> canonical_model_hint("openai/gpt-4o")
    'gpt-4o'
    """
    bare = model.strip().partition(":")[0]
    if bare.startswith("openai/"):
        bare = bare.removeprefix("openai/")
    lower = bare.lower()
    return next((hint for part, hint in _RULES if part in lower), bare)


def bare_model_id(model: str) -> str:
    """A model id in lower case without vendor, route or fine-tuning parts.

    >>> bare_model_id("Meta-Llama/Llama-3.1-8B-Instruct:free")
    'llama-3.1-8b-instruct'
    >>> bare_model_id("ft:gpt-4o-mini:shop::abc")
    'gpt-4o-mini'
    """
    name = model.strip().lower().removeprefix("ft:").partition(":")[0]
    return name.rstrip("/").rpartition("/")[2]
