"""Preflight: what a request may ask of its model, checked before anything is sent; and the policy for parallel tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from innkeeper.inference.capabilities import Capabilities
from innkeeper.inference.errors import PreflightError

__all__ = ["apply_request_policy", "preflight"]


def preflight(options: Mapping[str, Any], capabilities: Capabilities, *, stream: bool = False) -> None:
    """Raise `PreflightError` when ``options`` contradict one another or the model's capabilities.

    Tools and a response format never go together, nor does a stream with either (TavernKit's *Preflight*).
    """
    tools, form = _wants_tools(options), options.get("response_format")
    if tools and form:
        _refuse("tools cannot be combined with response_format", "ask for one of them")
    if stream and (tools or form):
        _refuse("a stream cannot be combined with tools or response_format", "ask for a whole answer")
    if tools:
        _need(capabilities.supports_tools, "tools", capabilities)
    if stream:
        _need(capabilities.supports_streaming, "streaming", capabilities)
    if form:
        _check_form(form, capabilities)


def _check_form(form: Any, capabilities: Capabilities) -> None:
    kinds = {
        "json_object": capabilities.supports_response_format_json_object,
        "json_schema": capabilities.supports_response_format_json_schema,
    }
    kind = form.get("type") if isinstance(form, Mapping) else None
    _need(kinds.get(str(kind), any(kinds.values())), f"response_format {kind or 'of this kind'}", capabilities)


def _need(able: bool, what: str, capabilities: Capabilities) -> None:  # noqa: FBT001 - a yes or no
    if not able:
        _refuse(
            f"{capabilities.provider} {capabilities.model} does not support {what}",
            "pass capabilities_overrides if it does",
        )


def _refuse(message: str, hint: str) -> None:
    raise PreflightError(message, hint=hint)


def _wants_tools(options: Mapping[str, Any]) -> bool:
    return bool(options.get("tools")) or bool(options.get("tool_choice"))


def apply_request_policy(
    options: Mapping[str, Any], capabilities: Capabilities
) -> tuple[dict[str, Any], dict[str, Any]]:
    """``(options, sent)``: options with ``parallel_tool_calls`` decided, and without it when the model does not know it.

    A response format forces it off; tools turn it off unless the caller says otherwise. Raises `PreflightError` when it is
    not a boolean.
    """
    decided = dict(options)
    undecided = _wants_tools(options) and decided.get("parallel_tool_calls") is None
    if undecided or options.get("response_format"):
        decided["parallel_tool_calls"] = False
    parallel = decided.get("parallel_tool_calls")
    if parallel is not None and not isinstance(parallel, bool):
        _refuse("parallel_tool_calls must be true or false", "it is a switch")
    hidden = parallel is None or not capabilities.supports_parallel_tool_calls
    return decided, {k: v for k, v in decided.items() if not (hidden and k == "parallel_tool_calls")}
