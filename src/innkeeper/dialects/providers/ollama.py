"""OllamaDialect's ``/api/chat``: ``{model, messages, tools?, format?, options?}``.

A message's ``content`` is text, its pictures are base64 beside it, in ``images``; calls have their arguments as an object, and
results name their tool. How the model samples is in ``options``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from innkeeper.dialects.base import BaseDialect
from innkeeper.dialects.conversation import Rules, TurnSequence, merged, with_system
from innkeeper.dialects.media import Media, media_parts
from innkeeper.dialects.options import ResponseFormat, Table, as_is, renamed, stops
from innkeeper.dialects.report import Report
from innkeeper.dialects.tools import chosen
from innkeeper.dialects.turn import ASSISTANT, TOOL, USER, ToolCall, Turn


def part(media: Media) -> dict[str, Any] | str:
    """The base64 of a picture."""
    if media.kind != "image":
        return "there is no place for its kind"
    return "a picture must be given as data, not by its address" if media.data is None else {"image": media.data}


def _response_format(body: dict[str, Any], value: Any, _report: Report) -> None:
    """``json``, or the schema itself."""
    form = ResponseFormat.of(value)
    if form.kind == "json_schema":
        body["format"] = form.schema
    elif form.kind == "json_object":
        body["format"] = "json"


def _effort(body: dict[str, Any], value: Any, _report: Report) -> None:
    """``think`` is a switch; some models take a level."""
    body["think"] = {"none": False, "minimal": "low", "xhigh": "high"}.get(value, value)


def _tool_choice(body: dict[str, Any], value: Any, report: Report) -> None:
    """Ollama has no field for it: ``none`` leaves the tools out, and any other choice is the model's."""
    mode, _ = chosen(value)
    if mode == "none":
        body.pop("tools", None)
    elif mode != "auto":
        report.loss("that a tool has to be called is not sent: the provider has no field for it")


class OllamaDialect(BaseDialect):
    """The request of OllamaDialect's chat."""

    provider: ClassVar[str] = "ollama"
    rules: ClassVar[Rules] = Rules(merge=True, prefill=True, reasoning=True, media=frozenset({USER, TOOL}))
    table: ClassVar[Table] = {
        **renamed(
            "options", temperature="temperature", top_p="top_p", top_k="top_k", min_p="min_p", typical_p="typical_p"
        ),
        **renamed("options", max_tokens="num_predict", seed="seed", num_ctx="num_ctx", num_keep="num_keep"),
        "stop": stops("options", "stop"),
        **renamed("options", repetition_penalty="repeat_penalty", repetition_penalty_range="repeat_last_n"),
        **renamed("options", frequency_penalty="frequency_penalty", presence_penalty="presence_penalty"),
        **renamed("options", mirostat="mirostat", mirostat_tau="mirostat_tau", mirostat_eta="mirostat_eta"),
        "response_format": _response_format,
        "tool_choice": _tool_choice,
        "reasoning_effort": _effort,
        **as_is("think", "stream", "keep_alive", "logprobs", "top_logprobs"),
    }

    def _messages(self, talk: TurnSequence, options: Mapping[str, Any], report: Report) -> list[dict[str, Any]]:
        turns = with_system(talk, report)
        if talk.style.repair:
            turns = merged(turns, talk.style, report)
        return [_message(turn, report) if turn.rich else {"role": turn.role, "content": turn.text} for turn in turns]


def _message(turn: Turn, report: Report) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if images := [part["image"] for part in media_parts(turn, part, report)]:
        message["images"] = images
    if turn.role == ASSISTANT and turn.reasoning:
        message["thinking"] = turn.thoughts
    if turn.calls:
        message["tool_calls"] = [_call(call, turn, report) for call in turn.calls]
    if turn.role == TOOL:
        name = turn.tool or turn.name
        named = {"tool_name": name} if name else {}
        message |= {**named, **({"tool_call_id": turn.call_id} if turn.call_id else {})}
    return message


def _call(call: ToolCall, turn: Turn, report: Report) -> dict[str, Any]:
    if call.signature:
        report.loss("a tool call's signature is not sent", turn.index)
    return {"id": call.id, "function": {"name": call.name, "arguments": call.object(report, turn.index)}}
