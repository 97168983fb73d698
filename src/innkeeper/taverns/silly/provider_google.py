"""The body of the Google source. (Vectors ``converters``, ``end-to-end`` and ``provider``.)."""

from __future__ import annotations

import re
from typing import Any, Final

from innkeeper.dialects.sillytavern.google import convert_google
from innkeeper.taverns.silly.order import Order

__all__ = ["google_body"]

_HARMS: Final = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT", "CIVIC_INTEGRITY")
_MOST_STOPS: Final = 5
_SHARES: Final = {"low": 0.1, "medium": 0.25, "high": 0.5, "max": 1.0}
_LEVELS: Final = {"min": "minimal", "low": "low", "medium": "medium", "high": "high", "max": "high"}
_PRO_LEVELS: Final = {"min": "low", "low": "low", "medium": "low", "high": "high", "max": "high"}
_NO_SYSTEM: Final = re.compile(r"gemma")

_BUDGETS: Final = (
    ("gemini-2.5-flash-lite", 0, 512, 24576),
    ("gemini-2.5-flash", 0, 0, 24576),
    ("gemini-2.5-pro", 128, 128, 32768),
)
"""Tokens of thought by model: for the effort ``min``, the least otherwise, the most."""


def google_body(order: Order) -> dict[str, Any]:
    """Contents, system text apart where the preset says so, generation settings, tools."""
    use_sysprompt = order.preset.use_sysprompt and not _NO_SYSTEM.search(order.model)
    found = convert_google(order.talk, model=order.model, use_sysprompt=use_sysprompt)
    return {
        "contents": found["contents"],
        "safetySettings": [{"category": f"HARM_CATEGORY_{harm}", "threshold": "OFF"} for harm in _HARMS],
        "generationConfig": _generation(order),
        **({"systemInstruction": found["system_instruction"]} if use_sysprompt else {}),
        **_tools(order),
    }


def _generation(order: Order) -> dict[str, Any]:
    config: dict[str, Any] = {"stopSequences": list(order.stop[:_MOST_STOPS])} if order.stop else {}
    config |= {"candidateCount": 1, "maxOutputTokens": order.max_tokens}
    config |= {"temperature": order.options["temperature"], "topP": order.options["top_p"]}
    if order.options["top_k"]:
        config["topK"] = order.options["top_k"]
    if order.seed is not None:
        config["seed"] = order.seed
    thinking = _thinking(order)
    return {**config, "thinkingConfig": thinking} if thinking else config


def _thinking(order: Order) -> dict[str, Any]:
    if "image" in order.model:
        return {}
    thoughts: dict[str, Any] = {"includeThoughts": order.shows_thoughts}
    if order.model.startswith("gemini-3"):
        levels = _PRO_LEVELS if "-pro" in order.model else _LEVELS
        return {**thoughts, **({"thinkingLevel": levels[order.effort]} if order.effort in levels else {})}
    budget = next((row for row in _BUDGETS if order.model.startswith(row[0])), None)
    return {} if budget is None else {**thoughts, "thinkingBudget": _budget(order, *budget[1:])}


def _budget(order: Order, none: int, least: int, most: int) -> int:
    if order.effort == "min":
        return none
    if order.effort not in _SHARES:
        return -1
    return min(max(int(order.max_tokens * _SHARES[order.effort]), least), most)


def _tools(order: Order) -> dict[str, Any]:
    if not order.tools:
        return {}
    declared = [tool["function"] for tool in order.tools]
    return {
        "tools": [{"function_declarations": declared}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    }
