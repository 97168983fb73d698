"""Who speaks, as a chat message says it: in the content, in the name field, or not at all."""

from __future__ import annotations

import re
from typing import Final

from innkeeper.content.preset import NamesBehavior
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.taverns.silly.line import Line

__all__ = ["field_name", "named_text"]

_NOT_ALLOWED: Final = re.compile(r"[^a-zA-Z0-9_]")
LONGEST_NAME: Final = 64


def named_text(inputs: SillyInputs, line: Line, text: str) -> str:
    """The text with the speaker's name in front where the preset's names behaviour puts it (`sillytavern.md` 54, 55)."""
    behavior = inputs.preset.names_behavior
    if behavior in (NamesBehavior.NONE, NamesBehavior.COMPLETION):
        return text
    if line.narrator and (inputs.group is None or behavior is NamesBehavior.CONTENT):
        return text
    if behavior is NamesBehavior.CONTENT:
        return f"{line.name}: {text}" if line.name else text
    elsewhere = inputs.group is not None or line.force_avatar is not None
    return f"{line.name}: {text}" if elsewhere and line.name != inputs.user else text


def field_name(inputs: SillyInputs, line: Line) -> str | None:
    """The name for the message's name field, with other characters as ``_``; ``None`` when it carries none."""
    if inputs.preset.names_behavior is not NamesBehavior.COMPLETION or not line.name:
        return None
    return _NOT_ALLOWED.sub("_", line.name)[:LONGEST_NAME]
