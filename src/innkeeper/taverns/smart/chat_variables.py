"""The variables that tell macros of the chat: its last messages and their numbers."""

from __future__ import annotations

from typing import Any

from innkeeper.taverns.smart.conditions import HISTORY_TEXT
from innkeeper.taverns.smart.history import history_text

__all__ = ["chat_variables"]


def chat_variables(history: list[dict[str, Any]], message: str) -> dict[str, Any]:
    """``user_input_text``, ``chat_last_message`` and so on; those of which there is nothing yet are not set."""
    said = {role: [item["content"] for item in history if item["role"] == role] for role in ("user", "assistant")}
    found: dict[str, Any] = {
        HISTORY_TEXT: history_text(history),
        "chat_message_count": len(history),
        "chat_user_message_count": len(said["user"]),
        "chat_conversation_length": sum(len(item["content"]) for item in history),
    }
    last = {
        "user_input_text": [message] if message else [],
        "chat_last_message": [item["content"] for item in history],
        "chat_last_user_message": said["user"],
        "chat_last_assistant_message": said["assistant"],
    }
    return found | {name: texts[-1] for name, texts in last.items() if texts}
