"""What sources take and what media cost, as measured on SillyTavern 1.19."""

from __future__ import annotations

import struct

import pytest

from innkeeper.taverns.silly.lines.media_rules import KINDS, accepted_kinds, media_tokens


@pytest.mark.parametrize(
    ("source", "model", "kinds"),
    [
        ("", "anything", KINDS),
        ("custom", "my-model", ("image", "audio")),
        ("openai", "gpt-4", ()),
        ("openai", "chatgpt-4o-latest", ("image",)),
        ("openai", "gpt-audio-mini", ("audio",)),
        ("claude", "claude-3-5-sonnet-20241022", ("image",)),
        ("claude", "claude-2.1", ()),
        ("makersuite", "gemini-2.5-pro", KINDS),
        ("makersuite", "gemma-3-27b-it", ("image",)),
        ("zai", "glm-4.5v", ("image", "video")),
        ("openrouter", "openai/gpt-4o", ()),
        ("openai", None, ("image", "audio")),
    ],
)
def test_kinds_that_sources_take(source: str, model: str | None, kinds: tuple[str, ...]) -> None:
    """A model's name is searched for words; without a source the dialect decides, without a model the source."""
    assert accepted_kinds(source, model) == set(kinds)


def gif(width: int, height: int) -> bytes:
    """The header of a picture."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


@pytest.mark.parametrize(
    ("size", "quality", "tokens"),
    [
        ((3000, 600), "low", 85),
        ((512, 512), "auto", 85),
        ((513, 300), "auto", 1105),
        ((1024, 1024), "auto", 765),
        ((512, 512), "high", 765),
        ((1, 1), "high", 765),
        ((3000, 600), "high", 2805),
        ((300, 2000), "auto", 3485),
        ((2000, 3), "auto", 340_085),
    ],
)
def test_pictures_cost_tiles(size: tuple[int, int], quality: str, tokens: int) -> None:
    """The short side is scaled to 768 pixels, also upwards; small pictures and those in low detail cost one price."""
    assert media_tokens("image", gif(*size), quality) == (tokens, True)


@pytest.mark.parametrize(("kind", "tokens"), [("image", 85), ("video", 10_520), ("audio", 9_600)])
def test_what_cannot_be_read_costs_a_guess(kind: str, tokens: int) -> None:
    """Each kind has its own."""
    assert media_tokens(kind, b"") == (tokens, False)


@pytest.mark.parametrize(("kind", "tokens"), [("video", 3 * 263), ("audio", 3 * 32)])
def test_sounds_and_videos_cost_started_seconds(kind: str, tokens: int) -> None:
    """A second that has begun counts."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 100, 100, 1, 8)
    sound = b"RIFF" + bytes(4) + b"WAVE" + form + struct.pack("<4sI", b"data", 201) + bytes(201)
    assert media_tokens(kind, sound) == (tokens, True)
