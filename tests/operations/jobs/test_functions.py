"""Bodies of the document's functions as media requests."""

from typing import Any

import pytest

from innkeeper.operations.jobs.functions import QUEUE, media_request, queued_job
from innkeeper.prompt.errors import UsageError


@pytest.mark.parametrize(
    ("body", "provider", "fields"),
    [
        ({"job_type": "sdxl_image_high", "quality": "high"}, None, {"mode": "t2i", "steps": 30}),
        ({"job_type": "wan_video_fast"}, None, {"mode": "t2v", "duration": 5.0}),
        (
            {"apiModelId": "m", "input": {"prompt": "x", "seed": 0, "lora": "y"}},
            "fal",
            {"seed": 0, "extra": {"lora": "y"}},
        ),
        ({"reference_image_url": "https://a/b", "denoise_strength": 0.2}, "fal", {"mode": "i2i", "strength": 0.2}),
        (
            {"metadata": {"image_url": "https://a/b", "reference_strength": 0.7}},
            "fal",
            {"mode": "i2i", "strength": 0.3},
        ),
        ({"modality": "video", "first_frame": "https://a/b"}, "fal", {"mode": "i2v"}),
        ({"enhanced_prompt": "better"}, "fal", {"prompt": "better", "count": 1}),
        ({"apiModelId": "m", "num_outputs": "2"}, "replicate", {"model": "m", "count": 2}),
    ],
)
def test_fields(body: dict[str, Any], provider: str | None, fields: dict[str, Any]) -> None:
    """Each name of the document is the field that it means."""
    media = media_request(QUEUE.read({"prompt": "a barn", **body}), provider)
    assert {name: getattr(media, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("body", "provider", "field"),
    [
        ({}, None, "job_type"),
        ({"job_type": 5}, None, "job_type"),
        ({}, "replicate", "apiModelId"),
        ({"metadata": []}, "fal", "metadata"),
        ({"seed": "many"}, "fal", "seed"),
        ({"seed": [1]}, "fal", "seed"),
    ],
)
def test_refused(body: dict[str, Any], provider: str | None, field: str) -> None:
    """What cannot be read is refused, naming the field."""
    with pytest.raises(UsageError) as caught:
        media_request(QUEUE.read({"prompt": "a barn", **body}), provider)
    assert caught.value.to_dict()["where"]["path"] == field


@pytest.mark.parametrize(
    ("provider", "backend", "noted"),
    [("fal", "replicate", ["replicate"]), ("fal", "fal", []), ("fal", "", []), (None, "fal", [])],
)
def test_a_model_at_another_provider_is_noted(provider: str | None, backend: str, noted: list[str]) -> None:
    """The function's name says who makes the picture; who does decides what it costs."""
    job = {"id": "1", "state": "queued", "backend": backend, "model": "m", "seed": None, "tier": "sfw"}
    reply = queued_job({**job, "results": [], "error": None, "notes": []}, provider)
    assert [note["sent"] for note in reply["notes"]] == noted
