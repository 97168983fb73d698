"""Routes: what a name means, and where its model is."""

import pytest

from innkeeper.inference.routing.route import Route, Routes
from innkeeper.prompt.errors import ConfigError, UnknownNameError


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("openrouter:a/b:free", ("openai-chat", "openrouter", "a/b:free", "https://openrouter.ai/api", "openrouter")),
        ("anthropic:claude", ("anthropic-messages", "anthropic", "claude", "https://api.anthropic.com", "anthropic")),
        ("mine:big", ("openai-chat", "openai-compatible", "big", "https://llm.example.org", "mine")),
        (
            "http://127.0.0.1:8080:tiny",
            ("openai-chat", "openai-compatible", "tiny", "http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ),
        ("local", ("local", "openai-compatible", "smollm2", "", None)),
        ("local:small", ("local", "openai-compatible", "small", "", None)),
    ],
)
def test_targets(target: str, expected: tuple[str, ...]) -> None:
    """A provider's name says protocol, dialect and address; a key is named, never held."""
    route = Route.of("r", target, {"mine": "https://llm.example.org"})
    assert (route.adapter, route.dialect, route.model, route.base_url, route.secret) == expected


@pytest.mark.parametrize("target", ["openai", "openai:", ":x", "", "http://127.0.0.1"])
def test_targets_without_a_model(target: str) -> None:
    """Without a model there is no route."""
    with pytest.raises(ConfigError):
        Route.of("r", target)


def test_unknown_provider() -> None:
    """The nearest is offered."""
    with pytest.raises(UnknownNameError, match="opnai"):
        Route.of("r", "opnai:gpt")


def test_routes_of_a_configuration() -> None:
    """Aliases that name a provider are routes, what is said wins over them, and the local model is always there."""
    routes = Routes.read(("fast=groq:llama",), {"fast": "openai:gpt", "clever": "openai:gpt", "name": "gpt"})
    assert {name: route.provider for name, route in routes.items()} == {
        "local": "local",
        "fast": "groq",
        "clever": "openai",
    }


@pytest.mark.parametrize("said", ["fast", "=openai:gpt"])
def test_what_is_said_must_be_a_route(said: str) -> None:
    """A route has a name and a target."""
    with pytest.raises(ConfigError):
        Routes.read((said,))
