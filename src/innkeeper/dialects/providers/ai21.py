"""AI21's Jamba chat: Chat Completions for text and tools, without names, media or thoughts."""

from __future__ import annotations

from typing import Any, ClassVar

from innkeeper.dialects.conversation import Rules
from innkeeper.dialects.media import Media
from innkeeper.dialects.options import ResponseFormat, Table, as_is, stops
from innkeeper.dialects.providers.openai import OpenAI, tool_choice
from innkeeper.dialects.report import Report


def _response_format(body: dict[str, Any], value: Any, report: Report) -> None:
    """``text`` or ``json_object``: there is no place for a schema."""
    form = ResponseFormat.of(value)
    if form.kind == "json_schema":
        report.loss("the schema of the answer is not sent, only that it is JSON")
    body["response_format"] = {"type": "text" if form.kind == "text" else "json_object"}


class AI21(OpenAI):
    """The request of AI21's chat."""

    provider: ClassVar[str] = "ai21"
    rules: ClassVar[Rules] = Rules(merge=True)
    table: ClassVar[Table] = {
        **as_is("temperature", "top_p", "max_tokens"),
        "stop": stops("stop"),
        "response_format": _response_format,
        "tool_choice": tool_choice,
        **as_is("stream", "n", "documents"),
    }

    def _part(self, media: Media) -> dict[str, Any] | str:
        return "messages are text only"
