"""Surfaces: the parts of the service that a key may be allowed, and which of them a path belongs to.

Pages that every key may read (what there is, whether the service is well) belong to none.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SURFACES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "chat": ("/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/messages"),
        "embeddings": ("/v1/embeddings",),
        "prompts": ("/v1/prompts", "/v1/plans"),
        "run": ("/prompt.v1.PromptService",),
        "jobs": ("/v1/jobs", *(f"/functions/v1/{name}" for name in ("queue-job", "fal-image", "replicate-image"))),
        "tasks": (
            *(f"/functions/v1/{name}" for name in ("enhance-prompt", "playground-chat", "roleplay-chat")),
            *(f"/functions/v1/{name}" for name in ("character-suggestions", "generate-scene")),
            *(f"/v1/{name}" for name in ("enhance", "chat", "roleplay", "conversations", "characters:suggest")),
            *(f"/v1/{name}" for name in ("scenes", "scenes:compose", "tier:evaluate")),
            *(f"/v1/{name}" for name in ("templates:resolve", "templates:render", "memories", "characters")),
        ),
        "admin": (),  # no pages: it lets calls of other surfaces replace what templates say
        "inspector": ("/inspector", "/v1/inspector"),
        "gateway": ("/api/modules", "/api/workflow", "/api/plugins", "/ws"),
        "metrics": ("/metrics",),
        "workers": (
            "/v1/workers",
            "/functions/v1/get-active-worker-url",
            "/functions/v1/register-chat-worker",
            "/functions/v1/update-worker-url",
        ),
    }
)
"""By name, what their paths begin with."""

INSPECTOR: Final = "inspector"

ANSWERING: Final = frozenset({INSPECTOR, "chat", "embeddings", "run", "jobs", "tasks"})
"""Surfaces whose calls mostly wait for a model: more of them are let in at once than of those that compute."""

PROBES: Final = frozenset({"/health", "/ready"})
"""Pages that programs which watch over the service ask, without a key. They tell no more than that it is there."""


SIGNED: Final = "/v1/jobs/webhooks/"
"""What the paths begin with that programs call which have no key, and sign what they send instead."""


def surface_of(path: str) -> str | None:
    """The surface that a path belongs to."""
    for name, beginnings in SURFACES.items():
        if any(path == start or path.startswith(f"{start}/") for start in beginnings):
            return name
    return None
