"""xAI's Grok: Chat Completions with images, names and its own options."""

from __future__ import annotations

from typing import Any, ClassVar

from innkeeper.dialects.conversation import Rules
from innkeeper.dialects.media import Media
from innkeeper.dialects.options import Table, as_is, stops
from innkeeper.dialects.providers.openai import OpenAI, image_part, response_format, tool_choice


def part(media: Media) -> dict[str, Any] | str:
    """``image_url``, or a file the provider already holds."""
    if media.kind == "image" and (media.url or media.data):
        return image_part(media)
    if media.kind == "file" and media.file_id:
        return {"type": "file", "file": {"file_id": media.file_id}}
    return "there is no place for its kind"


class XAI(OpenAI):
    """The request of xAI's chat."""

    provider: ClassVar[str] = "xai"
    rules: ClassVar[Rules] = Rules(names=True, merge=True, lists=True)
    table: ClassVar[Table] = {
        **as_is("temperature", "top_p", "max_tokens"),
        "stop": stops("stop", most=4),
        **as_is("seed", "frequency_penalty", "presence_penalty"),
        "response_format": response_format,
        "tool_choice": tool_choice,
        **as_is("parallel_tool_calls", "stream", "stream_options", "reasoning_effort", "n", "logprobs", "top_logprobs"),
        **as_is("logit_bias", "user", "search_parameters", "deferred", "web_search_options"),
    }

    def _part(self, media: Media) -> dict[str, Any] | str:
        return part(media)
