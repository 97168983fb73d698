"""Media: kinds, data URLs and types of attachments, however they are spelt."""

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.dialects.media import Media, media_parts
from innkeeper.dialects.report import Report
from innkeeper.dialects.turn import Turn
from innkeeper.prompt import Attachment, Message
from tests.dialects.talks import PNG


def read(attachment: Attachment) -> tuple[Media, list[str]]:
    """The attachment as a renderer sees it, and the notes."""
    seen: list[Media] = []
    report = Report("d")
    turn = Turn(3, "user", "", attachments=(attachment,))

    def render(media: Media) -> str:
        seen.append(media)
        return "seen"

    media_parts(turn, render, report)
    return seen[0], [note.message for note in report.notes() if "seen" not in note.message]


@pytest.mark.parametrize(
    ("attachment", "kind", "media_type"),
    [
        (Attachment("image", data=PNG), "image", "image/png"),
        (Attachment("image", data="/9j/4A"), "image", "image/jpeg"),
        (Attachment("image", data="R0lGODdh"), "image", "image/gif"),
        (Attachment("image", data="UklGRg"), "image", "image/webp"),
        (Attachment("pdf", data="JVBERi0"), "file", "application/pdf"),
        (Attachment("input_image", url="https://x"), "image", ""),
        (Attachment("file", url="https://x", media_type="video/mp4"), "video", "video/mp4"),
        (Attachment("image", url=f"data:image/webp;charset=x;base64,{PNG}"), "image", "image/webp"),
        (Attachment("image", url="data:;base64,/9j/"), "image", "image/jpeg"),
    ],
)
def test_kind_and_type(attachment: Attachment, kind: str, media_type: str) -> None:
    """The kind is one of four, the type is the one that was said or the one the data begins like."""
    media, notes = read(attachment)
    assert (media.kind, media.media_type, notes) == (kind, media_type, [])


def test_a_guess_is_reported() -> None:
    """Data of a type that nobody said and nobody knows is sent as the likeliest one."""
    media, notes = read(Attachment("audio", data="AAAA"))
    assert media.media_type == "audio/wav"
    assert notes == ["d: audio data without a media type was sent as audio/wav (message 3)"]
    assert read(Attachment("hologram", data="AAAA"))[0].media_type == "application/octet-stream"


def test_data_before_address() -> None:
    """An attachment with both is sent as data."""
    media, _ = read(Attachment("image", url="https://x", data=PNG))
    assert (media.url, media.data) == (None, PNG)
    assert media.data_url == f"data:image/png;base64,{PNG}"


def test_what_is_not_base64_is_an_address() -> None:
    """A data URL of another encoding is passed on as it is."""
    media, _ = read(Attachment("image", url="data:image/svg+xml,<svg/>"))
    assert (media.url, media.data) == ("data:image/svg+xml,<svg/>", None)


@pytest.mark.parametrize(
    "name", ["openai", "responses", "anthropic", "gemini", "mistral", "ollama", "cohere", "openrouter"]
)
@pytest.mark.parametrize("detail", ["low", "auto", None])
def test_how_closely_to_look_is_sent_or_noted(name: str, detail: str | None) -> None:
    """A detail that the body has not is a loss that is told; one that says nothing new is none."""
    message = Message("user", "x", None, (Attachment("image", data=PNG, detail=detail),))
    payload = DIALECTS[name].request([message], model="m", options={"max_tokens": 5})
    is_noted = any("'detail'" in note.message for note in payload.notes)
    assert is_noted is (detail == "low" and "low" not in str(payload.body))
