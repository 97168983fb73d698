"""Mistral's chat: close to Chat Completions, with its own rules of order, ids of tool calls, and a real prefill.

The rules of order are those of the provider's published validator (mistral-common 1.13): system text not after an answer
or a tool result, a last assistant message only as a prefix, ids of nine letters and digits for all but its latest models; and
one that its service has besides: no user right after a tool result (error 3230).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from innkeeper.dialects.conversation import Rules, Style, TurnSequence
from innkeeper.dialects.media import Media
from innkeeper.dialects.options import Table, as_is, put, stops
from innkeeper.dialects.providers.openai import OpenAI, audio_part, image_part, response_format, text_parts
from innkeeper.dialects.report import Report
from innkeeper.dialects.tools import function_choice
from innkeeper.dialects.turn import ASSISTANT, SYSTEM, TOOL, USER, Turn, replace
from innkeeper.prompt.text import scalar_text

_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")


def part(media: Media) -> dict[str, Any] | str:
    """``image_url``, ``input_audio`` or ``document_url``."""
    if media.kind == "image" and (media.url or media.data):
        return image_part(media)
    if media.kind == "audio":
        return audio_part(media)
    if media.kind != "file" or not (media.url or media.data):
        return "there is no place for its kind"
    named = {"document_name": media.name} if media.name else {}
    return {"type": "document_url", "document_url": media.data_url, **named}


def _tool_choice(body: dict[str, Any], value: Any, _report: Report) -> None:
    choice = function_choice(value)
    body["tool_choice"] = "any" if choice == "required" else choice


class Mistral(OpenAI):
    """The request of Mistral's chat."""

    provider: ClassVar[str] = "mistral"
    rules: ClassVar[Rules] = Rules(repair=True, blank=False, prefill=True, reasoning=True, lists=True)
    table: ClassVar[Table] = {
        **as_is("temperature", "top_p", "max_tokens"),
        "stop": stops("stop"),
        "seed": put("random_seed"),
        **as_is("frequency_penalty", "presence_penalty"),
        "response_format": response_format,
        "tool_choice": _tool_choice,
        **as_is("parallel_tool_calls", "stream", "n", "reasoning_effort", "prompt_mode", "safe_prompt", "prediction"),
        **as_is("metadata", "guardrails", "prompt_cache_key"),
    }

    def _part(self, media: Media) -> dict[str, Any] | str:
        return part(media)

    def _messages(self, talk: TurnSequence, options: Mapping[str, Any], report: Report) -> list[dict[str, Any]]:
        turns = _in_order(talk.turns, report) if talk.style.repair else talk.turns
        messages = super()._messages(TurnSequence(talk.system, turns, talk.style), options, report)
        if messages and messages[-1]["role"] == ASSISTANT and not messages[-1].get("tool_calls"):
            messages[-1]["prefix"] = True
        return messages

    def _rich(self, turn: Turn, style: Style, report: Report) -> dict[str, Any]:
        message = super()._rich(turn, style, report)
        if message.pop("reasoning_content", None) is not None:
            message["content"] = [*_thoughts(turn), *text_parts(message["content"])]
        for call in message.get("tool_calls", ()):
            call["id"] = _legal_id(call["id"], turn, report)
        if "tool_call_id" in message:
            message["tool_call_id"] = _legal_id(message["tool_call_id"], turn, report)
        return message


def _thoughts(turn: Turn) -> list[dict[str, Any]]:
    texts = [scalar_text(str(part["text"])) for part in turn.reasoning]
    return [{"type": "thinking", "thinking": [{"type": "text", "text": text}]} for text in texts]


def _legal_id(call_id: str, turn: Turn, report: Report) -> str:
    if _ID.fullmatch(call_id):
        return call_id
    report.repair("a tool call's id was replaced by one of nine letters and digits", turn.index)
    return hashlib.sha256(call_id.encode()).hexdigest()[:9]


_ANSWER: Final = "…"
"""The text of an answer inserted for the order alone; one without text is refused."""


def _in_order(turns: list[Turn], report: Report) -> list[Turn]:
    ordered: list[Turn] = []
    for turn in turns:
        before = ordered[-1].role if ordered else SYSTEM
        if turn.role == SYSTEM and before in (ASSISTANT, TOOL):
            report.repair("a system message after an answer was sent as a user message", turn.index)
            turn = replace(turn, role=USER)  # noqa: PLW2901 - the turn goes on, in another role
        if turn.role == USER and before == TOOL:
            report.repair("an answer was put in between a tool's result and what the user says", turn.index)
            ordered.append(Turn(turn.index, ASSISTANT, _ANSWER))
        ordered.append(turn)
    return ordered
