"""The order of keys in messages and their sources, which SmartTavern's document makes part of an answer."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["with_orders"]

_ORDERED: Final = ("messages", "message")


def with_orders(answer: Any) -> Any:
    """The answer with the order of the keys of its messages, and of their sources, beside them."""
    if not isinstance(answer, dict):
        return answer
    found = {key: answer[key] for key in _ORDERED if isinstance(answer.get(key), list)}
    orders = {f"{key} (key order)": [_order(item) for item in items] for key, items in found.items()}
    return {**answer, **orders}


def _order(message: Any) -> Any:
    if not isinstance(message, dict):
        return None
    source = message.get("source")
    return {"message": list(message), "source": list(source) if isinstance(source, dict) else None}
