"""xAI: Chat Completions with images and files the provider holds."""

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Attachment
from tests.dialects.talks import message, said

XAI = DIALECTS["xai"]


def test_messages() -> None:
    """Names and images pass; a video is reported."""
    media = [
        {"kind": "image", "url": "https://x"},
        {"kind": "video", "url": "https://x"},
        Attachment("file", extra=message(x={"file_id": "f"}).metadata["x"]),
    ]
    payload = XAI.messages([message("user", "see", name="Bob", attachments=media)], {})
    parts = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "https://x"}},
        {"type": "file", "file": {"file_id": "f"}},
    ]
    assert payload.body == [{"role": "user", "content": parts, "name": "Bob"}]
    assert said(payload.notes, "video").kind == "loss"


def test_request() -> None:
    """Options by the provider's names: ``max_tokens`` keeps its name, its own search settings pass."""
    options = {"max_tokens": 9, "search_parameters": {"mode": "auto"}, "top_k": 1}
    payload = XAI.request([message()], model="grok", options=options)
    assert {key: payload.body[key] for key in ("max_tokens", "search_parameters")} == {
        "max_tokens": 9,
        "search_parameters": {"mode": "auto"},
    }
    assert said(payload.notes, "top_k").kind == "loss"
