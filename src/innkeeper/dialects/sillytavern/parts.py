"""Messages as SillyTavern's page writes them: Chat Completions whose media are parts with an address, in every role.

A message that has media is a list of parts, the text first even when it is empty, and stays one when none of them can be had.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from innkeeper.dialects.conversation import Rules, Style
from innkeeper.dialects.media import Media, media_parts
from innkeeper.dialects.providers.openai import OpenAI, part
from innkeeper.dialects.report import Report
from innkeeper.dialects.turn import ASSISTANT, SYSTEM, USER, Turn

_KINDS: Final = ("image", "video", "audio")


class PageMessages(OpenAI):
    """The messages that SillyTavern's page hands to its server, which makes of them what a source takes."""

    rules: ClassVar[Rules] = msgspec.structs.replace(OpenAI.rules, media=frozenset({SYSTEM, USER, ASSISTANT}))

    def _content(self, turn: Turn, style: Style, report: Report) -> Any:
        if not turn.attachments:
            return super()._content(turn, style, report)
        return [{"type": "text", "text": turn.text}, *media_parts(turn, self._part, report)]

    def _part(self, media: Media) -> dict[str, Any] | str:
        if media.kind not in _KINDS or not media.data_url:
            return part(media)
        detail = {"detail": media.detail} if media.detail else {}
        return {"type": f"{media.kind}_url", f"{media.kind}_url": {"url": media.data_url, **detail}}
