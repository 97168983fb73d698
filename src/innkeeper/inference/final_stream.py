"""The final answer once more, as a stream without tools: for people who wait after tools have run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from innkeeper.prompt import InnkeeperError, Message

if TYPE_CHECKING:
    from innkeeper.inference.tool_loop import ToolLoopRunner
    from innkeeper.inference.tool_trace import Events

__all__ = ["stream_final"]

_SUFFIX: Final = "Tools are off now. Answer the user from the tool results above, and call no tools."


def stream_final(
    loop: ToolLoopRunner, history: list[Message], text: str, events: Events, turn: int, *, used: bool
) -> tuple[dict[str, Any], str]:
    """``(facts, text)``: the streamed answer, or ``text`` where there was no need, no way, or an error."""
    reason = _reason_not_to(loop, used=used)
    if reason is not None:
        events.send("final_stream_skipped", turn, reason=reason)
        return {"skipped": reason}, text
    events.send("final_stream_start", turn)
    try:
        request = loop.request(history, tools=False, system="\n\n".join(filter(None, [loop.system, _SUFFIX])))
        result = loop.runner.perform_stream(request, lambda delta: events.send("final_stream_delta", turn, delta=delta))
    except InnkeeperError as error:
        events.send("final_stream_error", turn, error=error.kind)
        return {"error": error.kind}, text
    facts = {"finish_reason": result.finish_reason, "elapsed_ms": result.elapsed_ms}
    events.send("final_stream_end", turn, **facts, content_bytes=len(result.content.encode()))
    return facts, result.content if result.content.strip() else text


def _reason_not_to(loop: ToolLoopRunner, *, used: bool) -> str | None:
    if not used:
        return "no tools were used"
    if not loop.config.capabilities.supports_streaming:
        return "the model cannot stream"
    return None if callable(getattr(loop.runner.client, "chat", None)) else "the client cannot stream"
