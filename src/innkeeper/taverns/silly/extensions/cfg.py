"""Guidance (CFG): how strongly a model is pulled towards one text and away from another (`sillytavern.md` E6).

The settings have it for everything, for characters by the name of their file, and for the chat. In text completion the
positive text stands in the chat, and the negative one in a second prompt that is otherwise the same; chat completion sends
neither. Everywhere the larger of both takes its tokens from the window that lore, and text prompts, are shares of.

Called by the step ``hooks``, which counts both, and by ``trimming`` of text prompts, which puts them in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Final

import msgspec

from innkeeper.prompt.data import EMPTY


class GuidanceLevel(IntEnum):
    """The scope of guidance; the numbers are SillyTavern's."""

    CHAT = 0
    CHARACTER = 1
    GLOBAL = 2


class Guidance(msgspec.Struct, frozen=True, kw_only=True):
    """The ``scale`` that is sent, the texts of each level as they are written, and the ``depth`` in the chat they stand at.

    Texts are the chat's, the character's, everybody's; they are joined in the opposite order, by ``separator``.
    """

    scale: float = 1
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    separator: str = "\n"
    depth: float = 1

    def joined(self, texts: tuple[str, ...], expand: Callable[[str], str]) -> str:
        """Join the texts, with the macros of each replaced in order, without those that are then empty."""
        return self.separator.join(filter(None, [expand(text) for text in texts][::-1]))


Record = Mapping[str, Any]
_SETTINGS: Final[Mapping[GuidanceLevel, tuple[str, str]]] = {
    GuidanceLevel.CHAT: ("cfg_positive_prompt", "cfg_negative_prompt"),
    GuidanceLevel.CHARACTER: ("positive_prompt", "negative_prompt"),
    GuidanceLevel.GLOBAL: ("positive_prompt", "negative_prompt"),
}
"""The keys of both texts."""


def guidance_of(settings: Record, metadata: Record, filename: str, *, in_group: bool) -> Guidance | None:
    """The guidance of a build; ``None`` without any, which is a scale of 1.

    ``settings`` is SillyTavern's ``extension_settings.cfg``, ``metadata`` the chat's, ``filename`` the speaker's without an
    ending. A record of a character without a scale counts: it is sent as 1, with its texts.
    """
    records = _records(settings, metadata, filename)
    level = next((level for level in _asked(metadata, in_group=in_group) if _asks(level, records[level])), None)
    if level is None:
        return None
    scale = records[level].get(_SCALE[level])
    listed = metadata.get("cfg_prompt_combine")
    levels = {level, *(item for item in listed if type(item) is int)} if isinstance(listed, (list, tuple)) else {level}
    positive, negative = (
        tuple(text for own in _SETTINGS if own in levels and (text := _text(records[own], _SETTINGS[own][side])))
        for side in (0, 1)
    )
    number = _number(scale)
    return Guidance(
        scale=1 if number is None else number,
        positive=positive,
        negative=negative,
        separator=_separator(metadata.get("cfg_prompt_separator")),
        depth=_depth(metadata),
    )


def is_missing(settings: Record, metadata: Record, filename: str, *, in_group: bool) -> bool:
    """Whether the chat asks for a character's guidance that does not exist, which stops SillyTavern."""
    listed = metadata.get("cfg_prompt_combine")
    asks = isinstance(listed, (list, tuple)) and GuidanceLevel.CHARACTER in listed
    asks = asks or (in_group and bool(metadata.get("cfg_groupchat_individual_chars")))
    return asks and not _records(settings, metadata, filename)[GuidanceLevel.CHARACTER]


_SCALE: Final[Mapping[GuidanceLevel, str]] = {
    GuidanceLevel.GLOBAL: "guidance_scale",
    GuidanceLevel.CHARACTER: "guidance_scale",
    GuidanceLevel.CHAT: "cfg_guidance_scale",
}


def _records(settings: Record, metadata: Record, filename: str) -> dict[GuidanceLevel, Record]:
    everywhere, listed = settings.get("global"), settings.get("chara")
    own = (record for record in listed if isinstance(record, Mapping)) if isinstance(listed, (list, tuple)) else ()
    return {
        GuidanceLevel.CHAT: metadata,
        GuidanceLevel.CHARACTER: next((record for record in own if record.get("name") == filename), EMPTY),
        GuidanceLevel.GLOBAL: everywhere if isinstance(everywhere, Mapping) else EMPTY,
    }


def _asked(metadata: Record, *, in_group: bool) -> Iterator[GuidanceLevel]:
    individual = in_group and bool(metadata.get("cfg_groupchat_individual_chars"))
    if not individual:
        yield GuidanceLevel.CHAT
    if individual or not in_group:
        yield GuidanceLevel.CHARACTER
    yield GuidanceLevel.GLOBAL


def _asks(level: GuidanceLevel, record: Record) -> bool:
    scale = _number(record.get(_SCALE[level]))
    return bool(record) and scale != 1 and (level is not GuidanceLevel.CHAT or bool(scale))


def _number(value: Any) -> float | None:
    try:
        number = None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if number is not None and number.is_integer() else number


def _text(record: Record, key: str) -> str:
    text = record.get(key)
    return text if isinstance(text, str) else ""


def _depth(metadata: Record) -> float:
    """The depth as written; -1, which is no depth, for an empty text, and NaN for anything but a number."""
    value = metadata.get("cfg_prompt_insertion_depth")
    if value is None or value == "":
        return 1 if value is None else -1
    depth = _number(value)
    return math.nan if depth is None else depth


def _separator(value: Any) -> str:
    """The text in a JSON string; a line break for anything else."""
    try:
        text = json.loads(value) if isinstance(value, str) and value else "\n"
    except (ValueError, RecursionError):
        return "\n"
    return text if isinstance(text, str) else json.dumps(text)
