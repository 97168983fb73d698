"""The variables of a Liquid template in a build: the character, the user and the application's context.

The names are TavernKit's. The chat's messages are deliberately not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from innkeeper.prompt.context import Context
from innkeeper.prompt.errors import LimitError
from innkeeper.prompt.limits import MAX_DEPTH

__all__ = ["Participant", "liquid_assigns", "liquid_registers"]

_CARD_FIELDS: Final = (
    "description",
    "personality",
    "scenario",
    "system_prompt",
    "post_history_instructions",
)
_CONTEXT_KEYS: Final = ("chat_index", "message_index", "model", "role")


class Participant(Protocol):
    """Somebody in the chat: a character or a user."""

    @property
    def name(self) -> str:
        """The name."""
        ...

    @property
    def persona_text(self) -> str:
        """Who they are, for a prompt."""
        ...


def liquid_assigns(character: Any, user: Participant | None, context: Context) -> dict[str, Any]:
    """The assigns: ``char``, ``user``, the card's texts, ``persona``, ``context`` and four of the context's values.

    What is not there is ``None``; a template that prints it prints nothing, strict or not.
    """
    data = plain(context)
    return {
        "char": getattr(character, "display_name", None) or getattr(character, "name", None),
        "user": user.name if user is not None else None,
        **{field: getattr(character, field, None) for field in _CARD_FIELDS},
        "mes_examples": _filled(getattr(character, "mes_example", None)),
        "persona": user.persona_text if user is not None else None,
        "context": data,
        **{key: data.get(key) for key in _CONTEXT_KEYS},
    }


def liquid_registers(context: Context) -> dict[str, Any]:
    """What filters read."""
    return {"context": context}


def _filled(text: str | None) -> str | None:
    return text if text and text.strip() else None


def plain(value: Any, depth: int = 0) -> Any:
    """A copy as plain data with text keys. What is not data becomes ``None``: templates walk no objects.

    Raises `LimitError` beyond `MAX_DEPTH`.
    """
    if value is None or isinstance(value, (str, int, float)):
        return value
    if depth > MAX_DEPTH:
        raise LimitError("the nesting of the context", limit="MAX_DEPTH", allowed=MAX_DEPTH)
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    return None
