"""The built-in dialects by name, and messages in the shape of one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Final

from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.message import Message, messages_of
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.payload.dialect import Dialects, LazyDialect


def _lazy(name: str, home: str, *arguments: str) -> LazyDialect:
    """A dialect of this package: ``home`` is its class, ``module:name``, which is made with the arguments."""
    module, _, attribute = home.partition(":")
    return LazyDialect(name, lambda: getattr(import_module(f"innkeeper.dialects.{module}"), attribute)(*arguments))


DIALECTS: Final = Dialects(
    _lazy("openai", "providers.openai:OpenAI"),
    _lazy("responses", "providers.responses:Responses"),
    _lazy("anthropic", "providers.anthropic:Anthropic"),
    _lazy("gemini", "providers.gemini:GeminiDialect"),
    _lazy("google", "providers.gemini:GeminiDialect", "google"),
    _lazy("text", "text:Text"),
    _lazy("llamacpp", "text_servers:LlamaCpp"),
    _lazy("koboldcpp", "text_servers:KoboldCppDialect"),
    _lazy("cohere", "providers.cohere:Cohere"),
    _lazy("mistral", "providers.mistral:Mistral"),
    _lazy("ai21", "providers.ai21:AI21"),
    _lazy("xai", "providers.xai:XAI"),
    _lazy("openai-compatible", "providers.openai:Compatible"),
    _lazy("openrouter", "providers.openai:OpenRouter"),
    _lazy("ollama", "providers.ollama:OllamaDialect"),
    _lazy("sillytavern", "sillytavern.dialect:SillyTavern"),
)
"""The built-in dialects, each imported on first use. ``DIALECTS.with_(mine)`` is a registry with a further one."""


TEXT_DIALECTS: Final = frozenset({"text", "llamacpp", "koboldcpp"})
"""Dialects of text completion, whose prompt is one text."""


def convert(
    messages: Iterable[Message | Mapping[str, Any]],
    dialect: str = "openai",
    *,
    dialects: Dialects = DIALECTS,
    **options: Any,
) -> Any:
    """Messages in a provider's shape: a list, or a dict where system text is apart.

    >>> convert([Message("system", "Be brief."), Message("user", "Hi")], "anthropic")
    {'system': 'Be brief.', 'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hi'}]}]}

    For the notes of what was lost, ask the dialect itself: ``DIALECTS[dialect].messages(messages, options)``.
    Raises `UnknownNameError` for an unknown dialect, `FormatError` for what is not a message, `UsageError` for an option that
    the dialect does not know.
    """
    payload = dialects[dialect].messages(messages_of(messages), options)
    for note in payload.notes:
        if note.kind is NoteKind.IGNORED:
            raise UsageError(note.message, hint=note.hint)
    return payload.body
