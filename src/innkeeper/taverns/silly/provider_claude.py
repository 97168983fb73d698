"""The body of the Claude source. (Vectors ``converters``, ``end-to-end`` and ``provider``.)."""

from __future__ import annotations

import re
from typing import Any, Final

from innkeeper.dialects.sillytavern.claude import convert_claude
from innkeeper.taverns.silly.order import Order

__all__ = ["claude_body"]

_SHARES: Final = {"low": 0.1, "medium": 0.25, "high": 0.5, "max": 0.95}
_LEAST_BUDGET: Final = 1024
_MOST_BUDGET: Final = 21333
"""Tokens of thought: the provider's least, and SillyTavern's most without streaming."""
_THINKS: Final = re.compile(r"^claude-(3-7|opus-4|sonnet-4|haiku-4-5)")
_ONE_SAMPLER: Final = re.compile(r"^claude-(opus-4-[1-9]|sonnet-4-[5-9]|haiku-4-5)")
_NO_PREFILL: Final = re.compile(r"^claude-(opus|sonnet)-4-[6-9]")
_HAS_EFFORT: Final = re.compile(r"^claude-(opus-4-[5-9]|sonnet-4-[6-9])")


def claude_body(order: Order) -> dict[str, Any]:
    """Messages, system text apart where the preset says so, sampling or thinking, tools."""
    use_sysprompt = order.preset.use_sysprompt
    found = convert_claude(order.talk, prefill=order.prefill, use_sysprompt=use_sysprompt, use_tools=bool(order.tools))
    body = {
        **({"system": found["systemPrompt"]} if use_sysprompt else {}),
        "messages": found["messages"],
        "model": order.model,
        "max_tokens": order.max_tokens,
        "stop_sequences": list(order.stop),
        "stream": bool(order.options.get("stream", order.preset.stream)),
        **_tools(order),
        **_output(order),
    }
    thinks = bool(_THINKS.match(order.model)) and order.effort != "auto"
    body |= _thinking(order) if thinks else _sampling(order)
    return _without_prefill(order, body) if thinks or _NO_PREFILL.match(order.model) else body


def _tools(order: Order) -> dict[str, Any]:
    if not order.tools:
        return {}
    return {"tool_choice": {"type": "auto"}, "tools": [_tool(tool["function"]) for tool in order.tools]}


def _tool(function: dict[str, Any]) -> dict[str, Any]:
    described = {"description": function["description"]} if "description" in function else {}
    return {"name": function["name"], **described, "input_schema": function["parameters"]}


def _output(order: Order) -> dict[str, Any]:
    verbosity = order.options.get("verbosity")
    wanted = _HAS_EFFORT.match(order.model) and verbosity not in (None, "auto")
    return {"output_config": {"effort": verbosity}} if wanted else {}


def _sampling(order: Order) -> dict[str, Any]:
    """Sampling; models that take one of temperature and top_p get top_p where it is below one."""
    found = order.sampling("temperature", "top_p", "top_k")
    if _ONE_SAMPLER.match(order.model):
        del found["temperature" if found["top_p"] < 1 else "top_p"]
    return found


def _thinking(order: Order) -> dict[str, Any]:
    """A budget of thought, and room for it."""
    most = order.max_tokens + (_LEAST_BUDGET if order.max_tokens <= _LEAST_BUDGET else 0)
    budget = max(int(order.max_tokens * _SHARES.get(order.effort, 0)), _LEAST_BUDGET)
    if not order.options.get("stream", order.preset.stream):
        budget = min(budget, _MOST_BUDGET)
    return {"max_tokens": most, "thinking": {"type": "enabled", "budget_tokens": budget}}


def _without_prefill(order: Order, body: dict[str, Any]) -> dict[str, Any]:
    """For models that begin their replies themselves: what would be the beginning is the user's."""
    messages = body["messages"]
    if not messages or messages[-1]["role"] != "assistant":
        return body
    order.talk.report.repair("the beginning of the reply was sent as the user's: the model takes none")
    return {**body, "messages": [*messages[:-1], {**messages[-1], "role": "user"}]}
