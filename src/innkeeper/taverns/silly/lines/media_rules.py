"""The media that SillyTavern's sources accept, and the tokens of pictures, sounds and videos by its count.

Both are data measured on SillyTavern 1.19: a source takes a kind for models whose names hold one of these words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from innkeeper.tokens.dimensions import picture_size, seconds_of

KINDS: Final = ("image", "video", "audio")
"""The kinds of media that messages may have."""

ANY: Final = ("",)
"""Words that every model's name holds."""

_IMAGES: Final = (
    "gpt-4-turbo", "gpt-4-vision", "gpt-4o", "gpt-4.1", "gpt-4.5-preview", "gpt-5", "o1", "o3", "o4-mini",
    "claude-3", "claude-opus-4", "claude-sonnet-4", "claude-haiku-4", "claude-opus-5", "claude-sonnet-5", "claude-fable",
    "gemini-2.0", "gemini-2.5", "gemini-3", "gemini-exp-1206", "gemini-robotics", "learnlm", "gemma-3-4b", "gemma-3-12b",
    "gemma-3-27b", "gemma-4", "grok-4", "grok-2-vision", "c4ai-aya-vision", "command-a-vision", "pixtral", "mistral-small-2503",
    "mistral-medium-2505", "kimi-latest", "kimi-k2.5", "moonshot-v1-8k-vision-preview",
    "glm-4.5v", "glm-4.6v", "glm-5v-turbo", "autoglm-phone", "zai-org/GLM-4.5V",
)  # fmt: skip
_GEMINI: Final = ("gemini-2.0", "gemini-2.5", "gemini-3", "gemini-exp-1206")
_VIDEOS: Final = (*_GEMINI, "gemma-4", "glm-4.5v", "glm-4.6v", "glm-5v-turbo")
_SOUNDS: Final = (
    *_GEMINI, "gpt-4o-audio", "gpt-4o-mini-audio", "gpt-audio", "gpt-4o-realtime", "gpt-4o-mini-realtime", "gpt-realtime",
)  # fmt: skip
_ALL: Final = MappingProxyType({"image": _IMAGES, "video": _VIDEOS, "audio": _SOUNDS})
_PICTURES: Final = MappingProxyType({"image": _IMAGES})

SOURCES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "custom": {"image": ANY, "audio": ANY},
        "cometapi": {"image": ANY},
        "makersuite": _ALL,
        "vertexai": _ALL,
        "openai": {"image": _IMAGES, "audio": _SOUNDS},
        "zai": {"image": _IMAGES, "video": _VIDEOS},
        **dict.fromkeys(("azure_openai", "claude", "cohere", "deepseek", "siliconflow", "xai"), _PICTURES),
    }
)
"""Of each source, the kinds it takes, and of those the words of its models' names."""


def accepted_kinds(source: str, model: str | None) -> frozenset[str]:
    """The kinds of media that a source accepts for a model (or ``None``). Without a source the dialect decides."""
    if not source:
        return frozenset(KINDS)
    words = SOURCES.get(source, {})
    if model is None:
        return frozenset(words)
    return frozenset(kind for kind, names in words.items() if any(name in model for name in names))


LOW: Final = 85
"""Tokens of a picture in low detail, of a small one, and of one of unknown size."""
TILE: Final = 170
TILE_PIXELS: Final = 512
SHORT_SIDE: Final = 768
VIDEO_SECOND: Final = 263
AUDIO_SECOND: Final = 32
UNKNOWN_VIDEO: Final = 40 * VIDEO_SECOND
UNKNOWN_AUDIO: Final = 300 * AUDIO_SECOND


def media_tokens(kind: str, data: bytes, quality: str = "auto") -> tuple[int, bool]:
    """The tokens of a medium and whether its size could be read; where not, SillyTavern counts by a guess."""
    if kind == "image":
        return _image_tokens(data, quality)
    seconds = seconds_of(data)
    if kind == "video":
        return (UNKNOWN_VIDEO, False) if seconds is None else (VIDEO_SECOND * math.ceil(seconds), True)
    return (UNKNOWN_AUDIO, False) if seconds is None else (AUDIO_SECOND * math.ceil(seconds), True)


def _image_tokens(data: bytes, quality: str) -> tuple[int, bool]:
    """Tiles of the picture when its short side is scaled to 768 pixels, up or down."""
    if quality == "low":
        return LOW, True
    size = picture_size(data)
    if size is None:
        return LOW, False
    if quality != "high" and max(size) <= TILE_PIXELS:
        return LOW, True
    scale = SHORT_SIDE / min(size)
    return LOW + TILE * math.prod(math.ceil(math.floor(side * scale + 0.5) / TILE_PIXELS) for side in size), True
