"""What a tool loop tells while it runs (events) and afterwards (a trace, one entry a turn)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.inference.run.request import PromptResult
from innkeeper.inference.tools.calls import ModelCall, size_of_arguments
from innkeeper.inference.tools.results import error_codes

__all__ = ["EVENTS", "TurnTrace"]

EVENTS: Final = (
    "llm_request_start",
    "llm_request_error",
    "llm_request_retry",
    "llm_request_end",
    "tool_call_start",
    "tool_call_end",
    "fix_empty_final",
    "final",
    "final_stream_start",
    "final_stream_delta",
    "final_stream_end",
    "final_stream_skipped",
    "final_stream_error",
)
"""The types of all events. Each is a mapping with ``type``, ``turn`` and figures of its own."""


class TurnTrace(msgspec.Struct, omit_defaults=True):
    """One request of a tool loop: what was asked, what came back, what the tools did. Sizes, codes and names, no texts."""

    turn: int
    request: dict[str, Any]
    response_summary: dict[str, Any] = {}
    tool_calls: list[dict[str, Any]] = []
    tool_results: list[dict[str, Any]] = []
    final_stream: dict[str, Any] = {}

    def answered(self, result: PromptResult, calls: int, ignored: int, sample: str | None) -> None:
        """Take in the answer; ``sample`` is the start of prose that tool calls pushed aside."""
        self.response_summary = {
            "has_tool_calls": calls > 0,
            "tool_calls_count": calls,
            "ignored_tool_calls_count": ignored,
            "finish_reason": result.finish_reason,
            "elapsed_ms": result.elapsed_ms,
            "content_bytes": len(result.content.encode()),
            **({"usage": dict(result.usage)} if result.usage is not None else {}),
            **({"stripped_content_sample": sample} if sample else {}),
        }

    def called(self, call: ModelCall) -> dict[str, Any]:
        """Take in a call; returns its facts."""
        facts = {"id": call.id, "name": call.name, "arguments_bytes": size_of_arguments(call.arguments)}
        self.tool_calls = [*self.tool_calls, facts]
        return facts

    def returned(self, call: ModelCall, envelope: Mapping[str, Any]) -> dict[str, Any]:
        """Take in a result; returns its facts."""
        facts = {
            "id": call.id,
            "name": call.name,
            "ok": envelope.get("ok") is True,
            "error_codes": error_codes(envelope),
        }
        self.tool_results = [*self.tool_results, facts]
        return facts

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        facts: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return facts
