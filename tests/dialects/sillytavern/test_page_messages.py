"""Messages as SillyTavern's page writes them: a list of parts where there are media, in every role."""

from __future__ import annotations

import pytest

from innkeeper.dialects.sillytavern.dialect import PageMessages
from innkeeper.prompt.message import Message
from innkeeper.prompt.parts import Attachment

PICTURE = Attachment("image", data="AAAA", media_type="image/png", detail="auto")
VIDEO = Attachment("video", data="BBBB", media_type="video/mp4", detail="low")
SOUND = Attachment("audio", data="CCCC", media_type="audio/wav")
GONE = Attachment("image", tokens=0)


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_media_are_parts_with_addresses(role: str) -> None:
    """Text first, even when it is empty; then the media in their order, with their detail."""
    (message,) = PageMessages("sillytavern").messages([Message(role, "", None, (VIDEO, SOUND, PICTURE))], {}).body
    assert message == {
        "role": role,
        "content": [
            {"type": "text", "text": ""},
            {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,BBBB", "detail": "low"}},
            {"type": "audio_url", "audio_url": {"url": "data:audio/wav;base64,CCCC"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "auto"}},
        ],
    }


def test_a_list_stays_one_without_its_media() -> None:
    """A medium that cannot be had is a loss that is reported; messages without media are text."""
    payload = PageMessages("sillytavern").messages([Message("user", "a", None, (GONE,)), Message("user", "b")], {})
    assert payload.body == [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": "b"},
    ]
    assert any("left out" in note.message for note in payload.notes)
