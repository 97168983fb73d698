"""Bodies of the sources that speak Chat Completions: OpenAI, custom servers, DeepSeek, Mistral.

(Vectors ``converters``, ``end-to-end`` and ``provider``.)
"""

from __future__ import annotations

import re
import sys
from typing import Any, Final

from innkeeper.dialects.sillytavern.converters import convert_mistral, mark_prefix, post_processed
from innkeeper.taverns.silly.order import Order

__all__ = ["chat_body", "deepseek_body", "mistral_body", "openai_body"]

_MOST_STOPS: Final = 4
_PENALTIES: Final = ("presence_penalty", "frequency_penalty")
_REASONING: Final = re.compile(r"^(o1|o3|o4|gpt-5)")
_CHATTING: Final = "gpt-5-chat"
_FIRST: Final = "o1"
_EFFORTS: Final = {"min": "low", "max": "high"}
_DEEPSEEK_EFFORTS: Final = {"min": "low", "low": "low", "medium": "high", "high": "high", "max": "max"}


def _stop(order: Order) -> dict[str, Any]:
    return {"stop": list(order.stop[:_MOST_STOPS])} if order.stop else {}


def _tools(order: Order) -> dict[str, Any]:
    return {"tools": list(order.tools), "tool_choice": "auto"} if order.tools else {}


def _stream(order: Order) -> bool:
    return bool(order.options.get("stream", order.preset.stream))


def chat_body(order: Order, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The common body: model, messages, sampling, stop strings, tools."""
    return {
        "messages": [_sent(message) for message in messages],
        "model": order.model,
        **order.sampling("temperature", "max_tokens", *_PENALTIES, "top_p"),
        "stream": _stream(order),
        **_stop(order),
        **_tools(order),
    }


def _sent(message: dict[str, Any]) -> dict[str, Any]:
    """The message; without content where it only calls tools."""
    if message["content"] is None and "tool_calls" in message:
        return {key: value for key, value in message.items() if key != "content"}
    return message


def _repeats(order: Order) -> dict[str, Any]:
    seed = {} if order.seed is None else {"seed": order.seed}
    count = order.options.get("n") or 1
    return {**seed, **({"n": count} if count > 1 else {})}


def openai_body(order: Order) -> dict[str, Any]:
    """OpenAI's own API and servers that copy it. Models that reason take no sampling settings."""
    body = {**chat_body(order, order.messages), **_repeats(order)}
    if order.source != "openai" or not _REASONING.match(order.model):
        return body
    kept = {key: value for key, value in body.items() if key not in _not_taken(order.model)}
    if order.model.startswith(_FIRST):
        kept["messages"] = _without_system(order, kept["messages"])
    return {**kept, "max_completion_tokens": order.max_tokens, **_effort(order)}


def _not_taken(model: str) -> tuple[str, ...]:
    if model.startswith(_CHATTING):
        return ("max_tokens",)
    first = ("n", "tools", "tool_choice") if model.startswith(_FIRST) else ()
    return ("max_tokens", "temperature", "top_p", "stop", *_PENALTIES, *first)


def _without_system(order: Order, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages for the first models that reason, which take no system messages."""
    if any(message["role"] == "system" for message in messages):
        order.talk.report.repair("system messages were sent as the user's: the model takes none")
    return [{**message, "role": "user"} if message["role"] == "system" else message for message in messages]


def _effort(order: Order) -> dict[str, Any]:
    newer = order.model.startswith("gpt-5")
    words = {**_EFFORTS, "min": "minimal"} if newer else _EFFORTS
    silent = order.effort == "auto" or order.model.startswith(_CHATTING)
    effort = {} if silent else {"reasoning_effort": words.get(order.effort, order.effort)}
    verbosity = order.options.get("verbosity")
    return {**effort, **({"verbosity": verbosity} if newer and verbosity not in (None, "auto") else {})}


def deepseek_body(order: Order) -> dict[str, Any]:
    """DeepSeek: always in the order of mode ``semi_tools``, the beginning of the reply marked."""
    messages = mark_prefix(post_processed(order.talk, "semi_tools"), order.tools)
    messages = [{**one, "reasoning_content": ""} if "tool_calls" in one else one for one in messages]
    thinking = {"type": "enabled" if order.shows_thoughts else "disabled"}
    effort = _DEEPSEEK_EFFORTS.get(order.effort) if order.shows_thoughts else None
    body = chat_body(order, messages)
    body["top_p"] = body["top_p"] or sys.float_info.epsilon
    return {**body, "thinking": thinking, **({"reasoning_effort": effort} if effort else {})}


def mistral_body(order: Order) -> dict[str, Any]:
    """Mistral: its own message rules, every stop string, a seed of another name."""
    messages = convert_mistral(order.talk)["messages"]
    return {
        **chat_body(order, messages),
        "safe_prompt": False,
        **({"stop": list(order.stop)} if order.stop else {}),
        **({} if order.seed is None else {"random_seed": order.seed}),
    }
