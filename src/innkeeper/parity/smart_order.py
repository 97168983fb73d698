"""What counts of an answer: the order of keys in messages and sources, as SmartTavern's document wants; no words of errors."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["with_orders", "without_words"]

_ORDERED: Final = ("messages", "message")


def with_orders(answer: Any) -> Any:
    """The answer with the order of the keys of its messages, and of their sources, beside them."""
    if not isinstance(answer, dict):
        return answer
    found = {key: answer[key] for key in _ORDERED if isinstance(answer.get(key), list)}
    orders = {f"{key} (key order)": [_order(item) for item in items] for key, items in found.items()}
    return {**answer, **orders}


def without_words(answer: Any) -> Any:
    """A sandbox's answer with whether there is an error in place of its text."""
    if not isinstance(answer, dict) or not answer.keys() >= {"success", "error"}:
        return answer
    return {**answer, "error": answer["error"] is not None}


def _order(message: Any) -> Any:
    if not isinstance(message, dict):
        return None
    source = message.get("source")
    return {"message": list(message), "source": list(source) if isinstance(source, dict) else None}
