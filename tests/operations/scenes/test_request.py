"""Requests for scenes: the document's fields, bounded, and typed errors for what is none."""

from typing import Any

import pytest

from innkeeper.operations.scenes.composition import SceneStyle
from innkeeper.operations.scenes.limits import MAX_SCENE_CHARS, MAX_SCENE_ITEMS
from innkeeper.operations.scenes.modes import Consistency, Method
from innkeeper.operations.scenes.request import scene_request
from innkeeper.prompt.errors import InnkeeperError, InputError, LimitError, UsageError

WHOLE: dict[str, Any] = {
    "conversation_id": "v",
    "scene_generation": True,
    "user_id": "somebody else",
    "scene_style": "both_characters",
    "scene_clothing_overrides": {"user": "cape"},
    "consistency_settings": {"method": "hybrid", "seed_value": 0, "denoise_strength": 0.3},
    "character": {"name": "Mira", "appearance_tags": ["red hair"], "declared_age": 12},
    "scene_prompt_override": "make it night",
    "negative_prompt": None,
}


def test_fields() -> None:
    """The document's fields are read, those that decide nothing are left aside, and null is as if it were not there."""
    request = scene_request(WHOLE)
    assert request.scene_style is SceneStyle.BOTH_CHARACTERS
    assert request.consistency_settings == Consistency(method=Method.HYBRID, seed_value=0, denoise_strength=0.3)
    assert request.texts() == {
        "scene_prompt_override": "make it night",
        "scene_clothing_overrides.user": "user: cape",
        "character": "Mira\nred hair\n12 years old",
    }
    assert request.sha256 == scene_request({**WHOLE, "user_id": "x"}).sha256
    assert request.sha256 != scene_request({**WHOLE, "scene_style": "pov"}).sha256
    assert scene_request({}).strict is False


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"scene_style": "crowd"}, UsageError),
        ({"message": 5}, UsageError),
        ({"message": "half \ud800"}, InputError),
        ({"conversation_id": "v\0"}, InputError),
        ({"message": "x" * (MAX_SCENE_CHARS + 1)}, LimitError),
        ({"conversation_id": "x" * 400}, LimitError),
        ({"scene_clothing_overrides": {f"p{n}": "x" for n in range(MAX_SCENE_ITEMS + 1)}}, LimitError),
        ({"scene_clothing_overrides": {"a": "half \ud800"}}, InputError),
        ({"character": {"name": "M", "appearance_tags": ["x"] * (MAX_SCENE_ITEMS + 1)}}, LimitError),
        ({"character": {"name": " "}}, InputError),
        ({"character": {"name": "half \ud800"}}, InputError),
        ({"character": {"name": "x" * 400}}, LimitError),
        ({"character": {"name": "M", "declared_age": -1}}, InputError),
        ({"character": {"name": "M", "seed_locked": -1}}, InputError),
        ({"character": {}}, UsageError),
        ({"width": 0}, InputError),
        ({"consistency_settings": {"method": "magic"}}, UsageError),
        ({"consistency_settings": {"seed_value": -1}}, InnkeeperError),
        ({"consistency_settings": {"speed": 1}}, UsageError),
    ],
)
def test_refused(body: dict[str, Any], error: type[Exception]) -> None:
    """What is no request is refused with a typed error that is the caller's."""
    with pytest.raises(error) as caught:
        scene_request(body)
    assert isinstance(caught.value, InnkeeperError)
    assert caught.value.http_status < 500
