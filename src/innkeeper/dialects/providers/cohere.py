"""Cohere's chat, version 2: messages like Chat Completions, options by names of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from innkeeper.dialects.conversation import Rules, Style
from innkeeper.dialects.media import Media
from innkeeper.dialects.options import ResponseFormat, Table, as_is, put, stops
from innkeeper.dialects.providers.openai import OpenAI, image_part, text_parts
from innkeeper.dialects.report import Report
from innkeeper.dialects.tools import chosen
from innkeeper.dialects.turn import Turn


def part(media: Media) -> dict[str, Any] | str:
    """``image_url``."""
    if media.kind == "image" and (media.url or media.data):
        return image_part(media)
    return "there is no place for its kind"


def _tool_choice(body: dict[str, Any], value: Any, report: Report) -> None:
    mode, name = chosen(value)
    if mode == "tool":
        report.loss(f"that the tool {str(name)[:40]!r} must be called is sent as: some tool must")
    if mode != "auto":
        body["tool_choice"] = "NONE" if mode == "none" else "REQUIRED"


def _response_format(body: dict[str, Any], value: Any, _report: Report) -> None:
    form = ResponseFormat.of(value)
    shape = {"json_schema": form.schema} if form.schema else {}
    body["response_format"] = {"type": "text" if form.kind == "text" else "json_object", **shape}


def _effort(body: dict[str, Any], value: Any, report: Report) -> None:
    body["thinking"] = {"type": "disabled" if value == "none" else "enabled"}
    if value != "none":
        report.loss("how much to think is not sent, only that it should", hint="give thinking={'token_budget': ...}")


class Cohere(OpenAI):
    """The request of Cohere's chat."""

    provider: ClassVar[str] = "cohere"
    rules: ClassVar[Rules] = Rules(merge=True, reasoning=True, keys=frozenset({"tool_plan", "citations"}), lists=True)
    table: ClassVar[Table] = {
        "temperature": put("temperature"),
        "top_p": put("p"),
        "top_k": put("k"),
        "max_tokens": put("max_tokens"),
        "stop": stops("stop_sequences", most=5),
        **as_is("seed", "frequency_penalty", "presence_penalty"),
        "response_format": _response_format,
        "tool_choice": _tool_choice,
        "stream": put("stream"),
        "thinking": put("thinking"),
        "reasoning_effort": _effort,
        **as_is("logprobs", "strict_tools", "documents", "citation_options", "safety_mode", "priority"),
    }

    def _part(self, media: Media) -> dict[str, Any] | str:
        return part(media)

    def _rich(self, turn: Turn, style: Style, report: Report) -> dict[str, Any]:
        message = super()._rich(turn, style, report)
        thoughts = message.pop("reasoning_content", None)
        if thoughts:
            message["content"] = [{"type": "thinking", "thinking": thoughts}, *text_parts(message["content"])]
        elif turn.calls and not message["content"]:
            del message["content"]
        return message
