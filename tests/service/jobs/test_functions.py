"""Bodies of the document's functions as media requests."""

from typing import Any

import pytest

from innkeeper.prompt.errors import FormatError, UsageError
from innkeeper.service.jobs.functions import media_fields


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
    found = media_fields({"prompt": "a barn", **body}, provider)
    assert {name: found.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    ("body", "provider", "error"),
    [
        ({}, None, UsageError),
        ({"job_type": 5}, None, UsageError),
        ({}, "replicate", UsageError),
        ({"metadata": []}, "fal", UsageError),
        ({"seed": "many"}, "fal", FormatError),
        ({"seed": [1]}, "fal", FormatError),
    ],
)
def test_refused(body: dict[str, Any], provider: str | None, error: type[Exception]) -> None:
    """What cannot be read is refused, naming the field."""
    with pytest.raises(error):
        media_fields({"prompt": "a barn", **body}, provider)
