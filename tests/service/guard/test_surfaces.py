"""Surfaces: which one a path belongs to."""

import pytest

from innkeeper.service.guard.surfaces import ANSWERING, PROBES, SURFACES, surface_of


@pytest.mark.parametrize(
    ("path", "surface"),
    [
        ("/v1/chat/completions", "chat"),
        ("/v1/responses/resp_1/cancel", "chat"),
        ("/v1/messages", "chat"),
        ("/v1/messages/count_tokens", "chat"),
        ("/v1/messages2", None),
        ("/v1/models", None),
        ("/v1/prompts/build", "prompts"),
        ("/prompt.v1.PromptService/Run", "run"),
        ("/api/modules/smarttavern/macro/process_text", "gateway"),
        ("/api/health", None),
        ("/metrics", "metrics"),
        ("/", None),
        ("", None),
    ],
)
def test_paths(path: str, surface: str | None) -> None:
    """A path belongs to the surface whose path it is or lies below, as whole segments."""
    assert surface_of(path) == surface


def test_names() -> None:
    """Probes belong to no surface, and what waits for models is a surface."""
    assert SURFACES.keys() > ANSWERING
    assert not any(surface_of(path) for path in PROBES)
