"""AI21's Jamba chat: Chat Completions for text and tools, without names, media or thoughts."""

from __future__ import annotations

from typing import Any, ClassVar

from innkeeper.dialects.conversation import Rules
from innkeeper.dialects.media import Media
from innkeeper.dialects.options import Table, as_is, stops
from innkeeper.dialects.providers.openai import OpenAI, response_format, tool_choice


class AI21(OpenAI):
    """The request of AI21's chat."""

    provider: ClassVar[str] = "ai21"
    rules: ClassVar[Rules] = Rules(merge=True)
    table: ClassVar[Table] = {
        **as_is("temperature", "top_p", "max_tokens"),
        "stop": stops("stop"),
        "response_format": response_format,
        "tool_choice": tool_choice,
        **as_is("stream", "n", "documents"),
    }

    def _part(self, media: Media) -> dict[str, Any] | str:
        return "messages are text only"
